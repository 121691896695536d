"""The file of a recording, when others meddle with it."""

from __future__ import annotations

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
