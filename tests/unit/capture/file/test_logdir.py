"""Where recordings go: names of runs and files, and what happens when a place is refused."""

from __future__ import annotations

import errno
import os
import re
import tempfile
from pathlib import Path

import pytest

from stepscope.capture.file import logdir as places
from stepscope.capture.file.writer import Writer
from stepscope.errors import CaptureError
from tests.profiles import host, line, space

DATA = space(host(line("python", ("op", 0, 1))))


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, None),
        ({"RANK": "3"}, 3),
        ({"SLURM_PROCID": "7", "JAX_PROCESS_ID": "9"}, 7),
        ({"OMPI_COMM_WORLD_RANK": "0"}, 0),
        ({"RANK": "x"}, None),
        ({"TF_CONFIG": '{"task": {"type": "worker", "index": 2}}'}, 2),
        ({"TF_CONFIG": "not json"}, None),
        ({"TF_CONFIG": "[1]"}, None),
    ],
)
def test_a_process_knows_its_number_from_its_launcher(
    variables: dict[str, str], expected: int | None
) -> None:
    assert places.rank(variables) == expected


def test_a_file_is_named_after_host_and_process_and_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "../a b:c")
    monkeypatch.setenv("RANK", "4")
    assert places.file_stem() == f".._a_b_c_{os.getpid()}_rank4"
    monkeypatch.delenv("RANK")
    assert places.file_stem() == f".._a_b_c_{os.getpid()}"


def test_a_run_is_named_by_local_time_as_tensorboard_sorts_it() -> None:
    assert re.fullmatch(r"\d{4}(_\d\d){5}", places.run_name())


def test_no_recording_is_written_over_another(tmp_path: Path) -> None:
    first = Writer.open(str(tmp_path), "run", "host")
    second = Writer.open(str(tmp_path), "run", "host")
    assert (first.run, second.run) == ("run", "run_2")
    assert first.path != second.path


def test_chunks_stand_one_behind_the_other(tmp_path: Path) -> None:
    writer = Writer.open(str(tmp_path), "run", "host")
    writer.append([DATA])
    writer.append([DATA[:10], memoryview(DATA)[10:]])
    assert writer.path.read_bytes() == DATA * 2
    assert writer.size == 2 * len(DATA)


def test_a_whole_file_takes_the_place_of_chunks_and_leaves_no_other(tmp_path: Path) -> None:
    writer = Writer.open(str(tmp_path), "run", "host")
    writer.append([b"chunk"])
    writer.replace([DATA])
    assert writer.path.read_bytes() == DATA
    assert [path.name for path in writer.path.parent.iterdir()] == ["host.xplane.pb"]


@pytest.mark.parametrize("whole", [False, True])
def test_where_no_disk_has_room_all_is_as_before_and_nothing_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    writer = Writer.open(str(tmp_path / "logs"), "run", "host")
    writer.append([b"chunk"])
    before = writer.path
    spare = tmp_path / "spare"
    spare.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(spare))

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Writer, "_swap" if whole else "_write", refuse)
    said = set()
    for _ in range(3):
        with pytest.raises(OSError, match="No space left") as caught:
            (writer.replace if whole else writer.append)([DATA])
        said.add(str(caught.value))
    assert said == {f"[Errno 28] No space left on device: '{before}'"}
    assert (writer.path, writer.size, writer.notes) == (before, len(b"chunk"), [])
    assert before.read_bytes() == b"chunk"
    assert list(spare.iterdir()) == []


def test_a_url_gets_the_file_at_the_end_and_nothing_stays_behind(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    writer = Writer.open(f"memory://bucket-{tmp_path.name}/logs", "run", "host")
    writer.append([DATA])
    writer.deliver()
    assert (
        writer.place == f"memory://bucket-{tmp_path.name}/logs/plugins/profile/run/host.xplane.pb"
    )
    assert places.read_bytes(writer.place) == DATA
    assert not writer.path.parents[3].exists(), "the temporary folder made for it"
    assert writer.notes == []


def test_a_second_recording_in_a_bucket_is_a_run_of_its_own(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    url = f"memory://twice-{tmp_path.name}"
    Writer.open(url, "run", "host").deliver()
    assert Writer.open(url, "run", "host").run == "run_2"


def test_a_bucket_that_refuses_leaves_the_file_here_and_says_where(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fsspec = pytest.importorskip("fsspec")
    writer = Writer.open("memory://closed/logs", "run", "host")
    writer.append([DATA])

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "no write access")

    monkeypatch.setattr(fsspec.filesystem("memory").__class__, "put_file", refuse)
    writer.deliver()
    assert writer.place == str(writer.path)
    assert writer.path.read_bytes() == DATA
    (note,) = writer.notes
    assert note.slug == "kept-elsewhere"
    assert "no write access" in note.message
    assert str(writer.path) in note.message
    writer.discard()


def test_a_url_of_no_known_kind_is_refused_before_anything_is_recorded() -> None:
    pytest.importorskip("fsspec")
    with pytest.raises(CaptureError) as caught:
        Writer.open("nosuchscheme://bucket/logs")
    assert caught.value.anchor == "remote-scheme"
