"""A reader sees the old file or the new one."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepscope.store import write_atomic


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
