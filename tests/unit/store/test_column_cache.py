"""Columns kept from one opening to the next: the right ones, or none."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO

import numpy as np
import pytest

import stepscope
from stepscope.columns.space import Space
from stepscope.session import decoded_run
from stepscope.store import column_cache, column_file
from tests.profiles.loops import Kernel, Loop, record

CACHE = "stepscope.store.column_cache"
OLD_S = 1_700_000_000


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("STEPSCOPE_CACHE")
    monkeypatch.setattr(column_cache, "MIN_FILE_BYTES", 1)
    # No test waits until a file is old enough.
    clock = SimpleNamespace(time=time.time)
    clock.time_ns = lambda real=time.time_ns: real() + 3 * 10**9
    monkeypatch.setattr(column_cache, "time", clock)
    yield


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return recorded(tmp_path / "h.xplane.pb")


def recorded(path: Path, us: float = 100.0) -> Path:
    (data,) = record(Loop([Kernel("gemm", us)])).values()
    path.write_bytes(data)
    return path


def durations(path: Path) -> list[int]:
    """Durations of all events, by opening the recording."""
    with stepscope.open(str(path)) as session:
        found: list[int] = session.profile.hosts[0].space.events.duration_ps.tolist()
    return found


def kept() -> list[Path]:
    return [entry.path for entry in column_cache.entries()]


@pytest.fixture
def decodings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are decoded from now on."""
    found: list[str] = []
    real = decoded_run._decoded

    def note(file: Any, progress: Any) -> Space:
        found.append(Path(file.source.path).name)
        return real(file, progress)

    monkeypatch.setattr(decoded_run, "_decoded", note)
    return found


def test_the_second_opening_decodes_nothing(path: Path, decodings: list[str]) -> None:
    assert durations(path) == durations(path)
    assert decodings == ["h.xplane.pb"]
    assert len(kept()) == 1
    assert kept()[0].stat().st_mode & 0o777 == 0o600
    assert kept()[0].parent.stat().st_mode & 0o777 == 0o700


def test_off_means_nothing_is_kept_or_used(
    path: Path, decodings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    durations(path)
    monkeypatch.setenv("STEPSCOPE_CACHE", "off")
    durations(path)
    assert len(decodings) == 2


def test_a_file_changed_in_place_is_decoded_anew(path: Path, decodings: list[str]) -> None:
    before = durations(path)
    status = path.stat()
    recorded(path, us=200.0)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # what rsync and tar do
    assert durations(path) != before
    assert len(decodings) == 2


def test_a_file_that_just_changed_is_not_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{CACHE}.time.time_ns", lambda: path.stat().st_mtime_ns + 10**9)
    durations(path)
    assert kept() == []


def test_a_file_that_changes_while_it_is_read_is_not_kept(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = decoded_run._decoded

    def change(file: Any, progress: Any) -> Space:
        space = real(file, progress)
        path.write_bytes(path.read_bytes())
        return space

    monkeypatch.setattr(decoded_run, "_decoded", change)
    durations(path)
    assert kept() == []


@pytest.mark.parametrize("changed", ["format", "code"])
def test_another_version_decodes_anew(
    changed: str, path: Path, decodings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    durations(path)
    if changed == "format":
        monkeypatch.setattr(column_cache, "VERSION", column_file.VERSION + 1)
        monkeypatch.setattr(column_file, "VERSION", column_file.VERSION + 1)
    else:
        monkeypatch.setattr(column_cache, "_code", lambda: "another release")
    durations(path)
    assert len(decodings) == 2


def test_a_copy_under_another_name_has_an_entry_of_its_own(path: Path) -> None:
    durations(path)
    durations(Path(shutil.copy(path, path.with_name("other.xplane.pb"))))
    assert len(kept()) == 2


KILLED = """
import os, signal, sys
from stepscope.store import column_file
from stepscope.store import column_cache
column_cache.MIN_FILE_BYTES = 1
real = column_file._pieces
def pieces(*arguments):
    for number, piece in enumerate(real(*arguments)):
        yield piece
        os.kill(os.getpid(), signal.SIGKILL)
column_file._pieces = pieces
import stepscope
stepscope.open(sys.argv[1]).profile
"""


def test_a_process_killed_while_writing_leaves_no_entry(path: Path, decodings: list[str]) -> None:
    os.utime(path, (OLD_S, OLD_S))
    threading.Event().wait(2.1)  # its change time is as young as its entry would be
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    (left,) = column_cache.cache_folder().iterdir()
    assert left.suffix == ".tmp"
    assert kept() == []
    assert durations(path) == durations(path)
    assert len(decodings) == 1
    os.utime(left, (OLD_S, OLD_S))
    column_cache.shrink()
    assert not left.exists()


def test_two_writers_leave_one_whole_entry(path: Path, decodings: list[str]) -> None:
    both = threading.Barrier(2)
    answers: list[list[int]] = []

    def work() -> None:
        both.wait()
        answers.append(durations(path))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers[0] == answers[1] == durations(path)
    assert len(kept()) == 1
    assert [one.suffix for one in column_cache.cache_folder().iterdir()] == [".stepscope-columns"]


def test_an_entry_that_is_replaced_or_removed_stays_with_its_reader(path: Path) -> None:
    durations(path)
    with stepscope.open(str(path)) as session:
        events = session.profile.hosts[0].space.events
        before = events.duration_ps.tolist()
        assert column_cache.clear() == 1
        recorded(path, us=200.0)
        durations(path)
        assert events.duration_ps.tolist() == before


def test_writing_to_mapped_columns_changes_no_entry(path: Path) -> None:
    before = durations(path)
    snapshot = column_cache.snapshot(str(path), "xspace")
    assert snapshot is not None
    loaded = column_cache.load(snapshot)
    assert loaded is not None
    loaded[0].events.duration_ps[:] = 0
    assert durations(path) == before


def test_a_full_disk_costs_only_the_entry(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: BinaryIO, *_: object) -> None:
        file.write(b"some")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(column_cache, "write_space", full)
    assert durations(path)
    assert list(column_cache.cache_folder().iterdir()) == []


def test_a_disk_that_is_nearly_full_keeps_its_room(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = SimpleNamespace(f_bavail=4, f_frsize=1 << 20, f_blocks=100)
    monkeypatch.setattr(f"{CACHE}.os.statvfs", lambda _: room)
    assert durations(path)
    assert kept() == []


def test_a_folder_that_cannot_be_made_is_no_error(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert durations(path) == durations(path)


def test_a_read_only_folder_is_read(
    path: Path, decodings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = durations(path)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(f"{CACHE}.os.utime", refuse)
    monkeypatch.setattr(f"{CACHE}.os.open", refuse)
    assert durations(path) == before
    assert len(decodings) == 1
    column_cache.cache_folder().chmod(0o500)
    assert durations(recorded(path, us=200.0)) != before


@pytest.mark.parametrize("whose", ["another user's", "open to a group"])
def test_a_cache_of_others_is_neither_used_nor_written(
    whose: str, path: Path, decodings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    durations(path)
    if whose == "open to a group":
        column_cache.cache_folder().chmod(0o770)
    else:
        mine = os.geteuid()
        monkeypatch.setattr(f"{CACHE}.os.geteuid", lambda: mine + 1)
    written = [one.stat().st_mtime_ns for one in column_cache.cache_folder().iterdir()]
    durations(path)
    assert len(decodings) == 2
    assert [one.stat().st_mtime_ns for one in column_cache.cache_folder().iterdir()] == written


@pytest.mark.parametrize("kept_bytes", [0, 10, 5000])
def test_an_entry_that_is_cut_is_decoded_anew(
    kept_bytes: int, path: Path, decodings: list[str]
) -> None:
    before = durations(path)
    os.truncate(kept()[0] if kept() else path, kept_bytes)
    assert durations(path) == before
    assert len(decodings) == 2


def test_the_entries_used_longest_ago_go_first(tmp_path: Path) -> None:
    for number in range(3):
        durations(recorded(tmp_path / f"{number}.xplane.pb"))
    oldest_last = [entry for entry in column_cache.entries()]
    for age, entry in enumerate(oldest_last):
        os.utime(entry.path, (OLD_S - age, OLD_S - age))
    column_cache.shrink(2 * max(entry.size_bytes for entry in oldest_last))
    assert kept() == [entry.path for entry in oldest_last[:2]]


def test_private_texts_are_not_kept(tmp_path: Path) -> None:
    path = recorded(tmp_path / "h.xplane.pb")
    with stepscope.open(str(path), private=True) as session:
        assert session.profile.hosts
    assert kept() == []


def test_verify_finds_a_changed_column(path: Path) -> None:
    durations(path)
    (entry,) = column_cache.entries()
    assert decoded_run.verify_entry(entry)
    data = bytearray(entry.path.read_bytes())
    place = data.rindex(np.asarray(durations(path)[-1], dtype="<i8").tobytes())
    data[place] ^= 1
    entry.path.write_bytes(data)
    assert decoded_run.verify_entry(entry) is False
    recorded(path, us=300.0)
    assert decoded_run.verify_entry(entry) is None
