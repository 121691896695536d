"""Columns as a file that maps back into memory."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stepscope.columns.space import Space, UnknownFields
from stepscope.columns.texts import ENDS_BYTES
from stepscope.formats.xspace import decode
from stepscope.store import column_file
from stepscope.store.column_file import read_space, write_space
from tests.profiles.loops import Kernel, Loop, record


def recorded() -> Space:
    """A space in which no field is empty."""
    (data,) = record(Loop([Kernel("gemm", 100.0, op="model/é:MatMul")])).values()
    space = decode(data)
    return replace(
        space,
        errors=("an error",),
        warnings=("a warning",),
        hostnames=("h",),
        unknown=(UnknownFields("line", 3, b"\x08\x01"), UnknownFields("plane", 0, b"")),
        raw_text={"\\xff": b"\xff"},
        events=replace(space.events, occurrences={2: 5}),
        event_metadata=replace(
            space.event_metadata,
            metadata={0: b"hlo", 1: b""},
            child_id={1: (1 << 63, 2)},
            own_id={0: -7},
        ),
        stat_metadata=replace(space.stat_metadata, own_id={1: 9}),
    )


def written(path: Path, space: Space) -> memoryview:
    with path.open("wb") as file:
        write_space(file, space, {"impossible": 3})
    return memoryview(path.read_bytes())


def differences(one: Any, other: Any, place: str = "space") -> list[str]:
    """Where two values differ, by the path of their fields."""
    if is_dataclass(one) and not isinstance(one, type):
        names = [field.name for field in fields(one)]
        return [
            found
            for name in names
            for found in differences(getattr(one, name), getattr(other, name), f"{place}.{name}")
        ]
    if isinstance(one, np.ndarray):
        is_same = one.dtype == other.dtype and np.array_equal(one, other)
    else:
        is_same = type(one) is type(other) and one == other
    return [] if is_same else [place]


def test_every_field_comes_back(tmp_path: Path) -> None:
    space = recorded()
    found = read_space(written(tmp_path / "entry", space))
    assert found is not None
    assert differences(space, found[0]) == []
    assert found[1] == {"impossible": 3}


def test_arrays_are_aligned_and_numpy_reads_them_one_after_another(tmp_path: Path) -> None:
    space = recorded()
    written(tmp_path / "entry", space)
    with (tmp_path / "entry").open("rb") as file:
        np.load(file)
        file.seek(-(-file.tell() // 64) * 64)
        first = np.load(file)
    assert np.array_equal(first, space.events.metadata)


def test_the_buffer_has_holes_where_no_text_is(tmp_path: Path) -> None:
    space = recorded()
    texts = bytes(space.buffer)
    padded = texts + bytes(8 * ENDS_BYTES) + b"\x01" * ENDS_BYTES
    found = read_space(written(tmp_path / "entry", replace(space, buffer=memoryview(padded))))
    assert found is not None
    assert bytes(found[0].buffer[: len(texts)]) == texts
    assert bytes(found[0].buffer[-ENDS_BYTES:]) == b"\x01" * ENDS_BYTES
    assert len(found[0].buffer) == len(padded)


@pytest.mark.parametrize("kept", [0, 1, 60, 200, 1000, -1])
def test_half_a_file_is_no_file(kept: int, tmp_path: Path) -> None:
    memory = written(tmp_path / "entry", recorded())
    assert read_space(memory[:kept]) is None
    assert read_space(memoryview(bytes(len(memory)))) is None


def test_another_version_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = written(tmp_path / "entry", recorded())
    monkeypatch.setattr(column_file, "VERSION", column_file.VERSION + 1)
    assert read_space(memory) is None


def test_a_buffer_is_not_enough() -> None:
    assert read_space(memoryview(BytesIO(b"\x93NUMPY").getvalue())) is None
