"""The file, the disk or the person changes under an open session."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import stepscope
from stepscope.errors import StoreError
from stepscope.formats.xspace import decode
from stepscope.store import find
from tests.profiles import host, line, space, worked_example

_CHANGES = {
    "cut": "os.truncate(path, 64)",
    "emptied": "open(path, 'wb').close()",
    "overwritten in place": "open(path, 'r+b').write(b'\\xff' * os.path.getsize(path))",
    "removed": "os.unlink(path)",
}
_PROGRAM = """
import os, sys, stepscope
from stepscope.analysis import TOOLS
path = sys.argv[1]
with stepscope.open(path) as session:
    before = [host.space.event_metadata.name for host in session.profile.hosts]
    {change}
    for tool in TOOLS:
        if session.available(tool.id) is None:
            session.run(tool.id)
    found = session.events()
    print(len(found), *found["stats"][:2] if "stats" in found.columns else [])
"""


@pytest.mark.slow
@pytest.mark.parametrize("change", _CHANGES)
def test_a_file_that_is_changed_in_place_does_not_reach_an_open_session(
    tmp_path: Path, change: str
) -> None:
    """Mapped, it ended the process with SIGBUS: server, notebook or command."""
    path = tmp_path / "a.xplane.pb"
    path.write_bytes(worked_example(gpu=True) * 40)
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM.format(change=_CHANGES[change]), str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_texts_stay_when_the_bytes_between_them_are_forgotten(tmp_path: Path) -> None:
    events = [(f"e{i % 5}", i, 1, {"n": i}) for i in range(30_000)]
    texts = [("x", 30_001 + i, 1, {"s": f"text {i} " + "y" * 300}) for i in range(3)]
    data = space(host(line("a", *events[:15_000], texts[0], *events[15_000:], *texts[1:])))
    path = tmp_path / "a.xplane.pb"
    path.write_bytes(data)
    with stepscope.open(path) as session:
        buffer = session.profile.hosts[0].space.buffer
        if not hasattr(__import__("mmap"), "MADV_DONTNEED"):
            pytest.skip("this system cannot give pages back")
        assert bytes(buffer) != data, "nothing was forgotten"
        assert bytes(buffer[:4096]) == data[:4096] and bytes(buffer[-4096:]) == data[-4096:]
        found = session.profile.hosts[0].space
        from stepscope.columns import stats_by_name

        assert [one[:7] for one in stats_by_name(found, ["s"])["s"].texts.texts()] == [
            "text 0 ",
            "text 1 ",
            "text 2 ",
        ]


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, MemoryError])
def test_an_interruption_while_a_host_decodes_loses_no_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interruption: type[BaseException]
) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.xplane.pb").write_bytes(worked_example())

    def interrupted(buffer: memoryview, **more: object) -> object:
        if str(more["file"]).endswith("b.xplane.pb"):
            raise interruption
        return decode(buffer, **more)  # type: ignore[arg-type]  # passes on what it is given

    session = stepscope.open(tmp_path)
    monkeypatch.setattr("stepscope.session.decoded_run.decode", interrupted)
    with pytest.raises((KeyboardInterrupt, StoreError)) as caught:
        _ = session.profile
    if interruption is MemoryError:
        assert isinstance(caught.value, StoreError) and caught.value.anchor == "out-of-memory"
    monkeypatch.setattr("stepscope.session.decoded_run.decode", decode)
    assert [one.name for one in session.profile.hosts] == ["a", "b"]
    assert {one.state for one in session.files} == {"opened"}


def test_every_tool_tells_that_a_file_is_cut(tmp_path: Path) -> None:
    data = worked_example(gpu=True)
    (tmp_path / "a.xplane.pb").write_bytes(data[: len(data) * 2 // 3])
    from stepscope.analysis import TOOLS

    with stepscope.open(tmp_path) as session:
        asked = [tool.id for tool in TOOLS if session.available(tool.id) is None]
        said = {name: [one.slug for one in session.run(name).diagnostics] for name in asked}
    assert len(said) > 5
    assert {name: slugs.count("damaged-file") for name, slugs in said.items()} == dict.fromkeys(
        said, 1
    )


def test_names_of_files_and_folders_that_are_not_utf8(tmp_path: Path) -> None:
    """One such folder made the page of all runs an error."""
    from fuzz.answers import failures

    for name in (b"run\xff", b"run\\xff", b"other"):
        folder = Path(str(tmp_path)) / name.decode("utf-8", "surrogateescape")
        folder.mkdir()
        path = folder / b"host\xfe.xplane.pb".decode("utf-8", "surrogateescape")
        path.write_bytes(worked_example())
    (Path(str(tmp_path)) / b"cut\xff.xplane.pb".decode("utf-8", "surrogateescape")).write_bytes(b"")
    found = find(tmp_path)
    assert sorted(run.id for run in found.runs) == ["other", "run\\xff", "run\\xff (2)"]
    assert {run.hosts for run in found.runs} == {("host\\xfe",)}
    for run in found.runs:
        with stepscope.open(tmp_path, run=run.id) as session:
            assert len(session.profile.hosts) == 1
    assert failures(tmp_path) == []
