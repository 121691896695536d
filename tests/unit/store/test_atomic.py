"""A reader sees the old file or the new one."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from stepscope.errors import StoreError
from stepscope.store.atomic import write_atomic


def test_file_is_written_with_its_folders_and_normal_mode(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "c.txt"
    write_atomic(path, b"hello")
    assert path.read_bytes() == b"hello"
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask


def test_chunks_replace_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "c.txt"
    path.write_bytes(b"old")
    write_atomic(path, iter([b"ne", b"w"]))
    assert path.read_bytes() == b"new"
    assert [entry.name for entry in tmp_path.iterdir()] == ["c.txt"]


def test_failure_leaves_the_old_file_and_no_litter(tmp_path: Path) -> None:
    path = tmp_path / "c.txt"
    path.write_bytes(b"old")

    def chunks() -> Iterator[bytes]:
        yield b"half"
        raise RuntimeError("disk on fire")

    with pytest.raises(RuntimeError):
        write_atomic(path, chunks())
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["c.txt"]


def test_what_is_no_file_is_written_to_and_stays_what_it_is(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as threads:
        read = threads.submit(pipe.read_bytes)
        write_atomic(pipe, b"hello")
        assert read.result(timeout=30) == b"hello"
    assert pipe.is_fifo()


def test_a_link_stays_and_its_target_is_written(tmp_path: Path) -> None:
    link = tmp_path / "newest.csv"
    link.symlink_to(tmp_path / "of-today.csv")
    write_atomic(link, b"hello")
    assert link.is_symlink()
    assert (tmp_path / "of-today.csv").read_bytes() == b"hello"


@pytest.mark.parametrize(
    ("place", "reason"),
    [("folder", "Is a directory"), ("file/below.csv", "Not a directory")],
)
def test_a_place_that_cannot_be_written_is_said(tmp_path: Path, place: str, reason: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(StoreError) as caught:
        write_atomic(tmp_path / place, b"hello")
    assert caught.value.anchor == "cannot-write"
    assert caught.value.where == str(tmp_path / place)
    assert reason in caught.value.why
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "folder"]


@pytest.mark.skipif(os.name == "nt", reason="no modes on this system")
def test_the_mask_of_other_threads_files_is_not_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = os.umask(0o027)
    try:
        with monkeypatch.context() as patched:
            asked: list[int] = []
            patched.setattr(os, "umask", asked.append)
            write_atomic(tmp_path / "new.csv", b"hello")
        assert asked == []
        assert (tmp_path / "new.csv").stat().st_mode & 0o777 == 0o640
    finally:
        os.umask(before)


def test_a_private_file_stays_private(tmp_path: Path) -> None:
    path = tmp_path / "c.txt"
    path.write_bytes(b"old")
    path.chmod(0o600)
    write_atomic(path, b"new")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", 0o600)


def test_the_folder_is_synced_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a power cut may take the name of a file whose bytes are on the disk."""
    synced: list[bool] = []

    def fsync(file: int) -> None:
        synced.append(stat.S_ISDIR(os.fstat(file).st_mode))

    monkeypatch.setattr(os, "fsync", fsync)
    write_atomic(tmp_path / "c.txt", b"new")
    assert synced == [False, True]
