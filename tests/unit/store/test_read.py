"""Bytes come out as they were written, mapped or inflated, and damage is reported."""

from __future__ import annotations

import gzip
import mmap
import os
import random
from pathlib import Path

import pytest

from stepscope.errors import StoreError
from stepscope.limits import VARIABLE, LimitError
from stepscope.store import read
from stepscope.store.read import CHUNK_BYTES, _snapshot, inflate, read_pieces
from tests.profiles import worked_example


@pytest.fixture
def data() -> bytes:
    """Three and a bit chunks that do not compress, then ones that do."""
    return random.Random(7).randbytes(3 * CHUNK_BYTES + 17) + b"\0" * CHUNK_BYTES


def test_plain_file_is_read_into_memory(tmp_path: Path, data: bytes) -> None:
    """Of a mapped file that is cut afterwards, the next look ends the process."""
    path = tmp_path / "a"
    path.write_bytes(data)
    with read(str(path)) as contents:
        os.truncate(path, 0)
        assert contents.buffer == data
        assert contents.damage == ""


def test_a_file_that_is_cut_while_it_is_read_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 100)
    with path.open("rb", buffering=0) as file:
        os.truncate(path, 60)
        with _snapshot(file, 100, None) as contents:
            assert contents.buffer == b"x" * 60
            assert "its last 40 bytes are missing" in contents.damage


def test_a_file_that_is_overwritten_while_it_is_read_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 100)

    def meanwhile(_done: int, _total: int) -> None:
        path.write_bytes(b"y" * 100)
        os.utime(path, (0, 0))

    with read(str(path), meanwhile) as contents:
        assert "written to while it was read" in contents.damage


def test_a_recording_that_goes_on_is_read_as_far_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 100)

    def meanwhile(_done: int, _total: int) -> None:
        with path.open("ab") as file:
            file.write(b"more")

    with read(str(path), meanwhile) as contents:
        assert (bytes(contents.buffer), contents.damage) == (b"x" * 100, "")


def test_what_is_forgotten_reads_as_zeros_and_the_rest_stays(tmp_path: Path) -> None:
    if not hasattr(mmap, "MADV_DONTNEED"):
        pytest.skip("this system cannot give pages back")
    data, page = random.Random(3).randbytes(20 * mmap.PAGESIZE), mmap.PAGESIZE
    path = tmp_path / "a"
    path.write_bytes(data)
    with read(str(path)) as contents:
        contents.forget([(3 * page - 1, 5 * page + 1), (7 * page + 5, 8 * page)])
        expected = data[: 3 * page] + b"\0" * 2 * page + data[5 * page :]
        assert contents.buffer == expected


def test_a_gzip_file_that_inflates_too_far_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A megabyte of it once took a gigabyte of memory before anything was looked at."""
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"\0" * (300 << 20), 1))
    with pytest.raises(LimitError, match="'inflated'") as caught:
        read(str(path))
    assert caught.value.anchor == "beyond-limit" and VARIABLE in caught.value.hint
    with pytest.raises(LimitError, match="'inflated'"):
        list(read_pieces(str(path)))
    monkeypatch.setenv(VARIABLE, "2")
    with read(str(path)) as contents:
        assert len(contents.buffer) == 300 << 20


def test_an_honest_gzip_file_is_far_below_the_limit(tmp_path: Path) -> None:
    data = worked_example(gpu=True) * 200
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(data))
    with read(str(path)) as contents:
        assert contents.buffer == data


def test_a_file_larger_than_memory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.touch()
    os.truncate(path, 8 << 40)
    with pytest.raises(StoreError, match="cannot be read") as caught:
        read(str(path))
    assert "memory" in caught.value.why


def test_gzip_is_recognised_by_content_and_inflated(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "named-without-gz"
    path.write_bytes(gzip.compress(data))
    with read(str(path)) as contents:
        assert contents.buffer == data
        assert contents.buffer.readonly


def test_gzip_members_one_after_another_are_one(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(data) + gzip.compress(b"tail") + b"\0\0\0")
    with read(str(path)) as contents:
        assert contents.buffer == data + b"tail"
        assert contents.damage == ""


def test_cut_gzip_gives_what_stands_before_and_says_so(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.gz"
    packed = gzip.compress(data)
    path.write_bytes(packed[: len(packed) // 2])
    with read(str(path)) as contents:
        got = bytes(contents.buffer)
        assert "cut" in contents.damage and str(len(packed) // 2) in contents.damage
    assert len(got) > CHUNK_BYTES
    assert data.startswith(got)


def test_broken_gzip_gives_what_stands_before_and_says_so(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.gz"
    packed = bytearray(gzip.compress(data))
    packed[-6] ^= 0xFF  # the checksum
    path.write_bytes(packed)
    with read(str(path)) as contents:
        assert data.startswith(bytes(contents.buffer))
        assert "broken" in contents.damage


def test_trailer_that_lies_about_the_size_costs_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    packed = gzip.compress(b"small")
    path.write_bytes(packed[:-4] + b"\xff\xff\xff\xff")
    with read(str(path)) as contents:
        assert bytes(contents.buffer) == b"small"


def test_progress_ends_at_the_file_size(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(data))
    seen: list[tuple[int, int]] = []
    read(str(path), lambda done, total: seen.append((done, total))).close()
    assert seen[-1] == (path.stat().st_size, path.stat().st_size)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


@pytest.mark.parametrize(
    ("name", "slug", "hint"),
    [
        ("empty", "empty-file", "Record fewer steps."),
        ("gone", "no-such-path", "Check the spelling."),
        ("folder", "unreadable-path", "Name one of its files"),
    ],
)
def test_what_is_no_file_to_read_is_said(tmp_path: Path, name: str, slug: str, hint: str) -> None:
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError) as caught:
        read(str(tmp_path / name))
    assert caught.value.anchor == slug
    assert hint in caught.value.hint


def test_close_with_views_alive_is_safe(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"abcdef")
    contents = read(str(path))
    view = contents.buffer[2:4]
    contents.close()
    contents.close()
    assert bytes(view) == b"cd"


def test_inflate_works_in_any_chunking(data: bytes) -> None:
    packed = gzip.compress(data[:5000]) + gzip.compress(data[5000:9000])
    for step in (1, 7, 4096):
        damage: list[str] = []
        chunks = (packed[at : at + step] for at in range(0, len(packed), step))
        assert b"".join(inflate(chunks, damage)) == data[:9000]
        assert damage == []
