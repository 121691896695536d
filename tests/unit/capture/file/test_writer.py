"""The file of a recording, when others meddle with it."""

from __future__ import annotations

import importlib
import os
import shutil
from pathlib import Path

import pytest

from stepscope.capture.file.writer import Writer
from tests.profiles import parse

# A plane named "/a", as an XSpace: field 1, and in it field 2.
CHUNKS = [bytes((1 << 3 | 2, 4, 2 << 3 | 2, 2)) + name for name in (b"/a", b"/b", b"/c")]
SMALL = bytes((1 << 3 | 2, 0))


@pytest.mark.parametrize(
    ("left", "planes"), [(None, ["/c"]), (0, ["/c"]), (6, ["/a", "/c"]), (11, ["/a", "/c"])]
)
def test_a_file_that_is_removed_or_cut_goes_on_without_what_is_gone(
    tmp_path: Path, left: int | None, planes: list[str]
) -> None:
    writer = Writer.open(str(tmp_path))
    for chunk in CHUNKS[:2]:
        writer.append([chunk])
    if left is None:
        shutil.rmtree(tmp_path)
    else:
        os.truncate(writer.path, left)
    writer.append([SMALL])
    writer.append([CHUNKS[2]])
    data = writer.path.read_bytes()
    assert [plane.name for plane in parse(data).planes if plane.name] == planes
    assert writer.size == len(data)
    assert [note.slug for note in writer.notes] == ["chunk-lost"]


def test_a_file_that_nobody_touches_has_all_chunks(tmp_path: Path) -> None:
    writer = Writer.open(str(tmp_path))
    for chunk in CHUNKS:
        writer.append([chunk])
    assert [plane.name for plane in parse(writer.path.read_bytes()).planes] == ["/a", "/b", "/c"]
    assert writer.notes == []


def test_a_link_under_the_temporary_name_leads_nowhere(tmp_path: Path) -> None:
    writer = Writer.open(str(tmp_path / "logs"))
    victim = tmp_path / "victim"
    victim.write_text("precious", "utf-8")
    writer.path.with_name(f".{writer.path.name}.tmp").symlink_to(victim)
    writer.replace([CHUNKS[0]])
    assert victim.read_text("utf-8") == "precious"
    assert writer.path.read_bytes() == CHUNKS[0]
    assert not writer.path.is_symlink()


def test_a_link_in_the_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    writer = Writer.open(str(tmp_path / "logs"))
    victim = tmp_path / "victim"
    victim.write_text("precious", "utf-8")
    writer.path.unlink()
    writer.path.symlink_to(victim)
    writer.append([CHUNKS[0]])
    assert victim.read_text("utf-8") == "precious"
    assert writer.path.read_bytes() == CHUNKS[0]
    assert [note.slug for note in writer.notes] == ["kept-elsewhere"]
    shutil.rmtree(writer.path.parents[3])


def test_chunks_are_written_as_they_are_where_files_are_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows writes a carriage return before each tag of a plane, unless told not to."""
    text_as_it_is = 1 << 30
    asked = []
    opened = os.open

    def noting(path: str, flags: int, mode: int = 0o777) -> int:
        asked.append(bool(flags & text_as_it_is))
        return opened(path, flags & ~text_as_it_is, mode)

    monkeypatch.setattr(os, "O_BINARY", text_as_it_is, raising=False)
    module = importlib.reload(importlib.import_module("stepscope.capture.file.writer"))
    monkeypatch.setattr(os, "open", noting)
    try:
        writer = module.Writer.open(str(tmp_path))
        asked.clear()  # the new file is empty
        writer.append([CHUNKS[0]])
        writer.replace([CHUNKS[1]])
    finally:
        monkeypatch.undo()
        importlib.reload(module)
    assert asked == [True, True]
