"""Chunks are put together by a process that sees what the program sees, and nothing besides."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from stepscope.capture.file.compact import compact
from stepscope.capture.file.writer import Writer
from stepscope.schema.xspace import XSpace
from tests.profiles import parse


@pytest.fixture
def two_chunks(tmp_path: Path) -> Writer:
    writer = Writer.open(str(tmp_path))
    for _ in range(2):
        plane = XSpace.PLANES << 3 | 2, 6, 2 << 3 | 2, 4
        writer.append([bytes(plane), b"/cpu"])
    return writer


def test_a_program_that_imports_from_a_path_object_loses_nothing(
    two_chunks: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, tmp_path])
    assert compact(two_chunks, 60) == []
    assert len(parse(two_chunks.path.read_bytes()).planes) == 1


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 cannot be told so")
def test_a_file_in_the_working_directory_is_not_taken_for_a_module(
    two_chunks: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stepscope.py").write_text("open('was_run', 'w')", "utf-8")
    monkeypatch.chdir(tmp_path)
    assert compact(two_chunks, 60) == []
    assert not (tmp_path / "was_run").exists()


def test_a_recording_too_large_for_one_message_says_so_and_takes_its_children_in(
    two_chunks: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stepscope.capture.file.compact.LARGEST_MESSAGE_BYTES", 10)
    child = tmp_path / "host.child-7.xplane.pb"
    child.write_bytes(bytes((XSpace.PLANES << 3 | 2, 6, 2 << 3 | 2, 4)) + b"/job" + b"\x0a\x50torn")
    (note,) = compact(two_chunks, 60, [child])
    assert note.slug == "left-in-chunks"
    assert "2 GiB" in note.message
    assert not child.exists()
    planes = [plane.name for plane in parse(two_chunks.path.read_bytes()).planes]
    assert planes == ["/cpu", "/cpu", "/job"]
    assert two_chunks.size == two_chunks.path.stat().st_size
