"""Lines that are written block by block, against lines that are written at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stepscope.formats.xspace import decode, merged_line
from stepscope.formats.xspace.merged_line import MergedLine, TablePart, places
from stepscope.formats.xspace.plane_writer import PlaneWriter, Stat
from stepscope.formats.xspace.written import space_of
from tests.unit.formats.xspace.test_written import differences

EVENTS = st.lists(st.tuples(st.integers(0, 20), st.integers(-1, 20), st.integers(0, 2)))


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merged_line, "_BLOCK", 3)


def written(tables: list[list[tuple[int, int, int]]], line: int, *, merged: bool) -> PlaneWriter:
    """A plane with the events of some tables that are on this line."""
    plane = PlaneWriter("/host:CPU")
    ids = plane.names(["a", "b"])
    parts, every, values = [], [], []
    for table in tables:
        start, length, place = np.asarray(table, np.int64).reshape(-1, 3).T
        rows = places(place).get(line)
        if rows is None:
            continue

        def describe(rows: NDArray[Any], start: NDArray[Any] = start) -> tuple[Any, list[Stat]]:
            return ids[start[rows] % 2], [Stat("row", start[rows] * 7)]

        parts.append(TablePart(rows, start + 50, length, describe, len(start)))
        every.append((ids[start[rows] % 2], start[rows] + 50, length[rows]))
        values.append(start[rows] * 7)
    if merged and parts:
        plane.add(MergedLine(plane, 4, "python", parts))
    elif parts:
        metadata, start, length = (np.concatenate(one) for one in zip(*every, strict=True))
        plane.line(
            4,
            "python",
            metadata=metadata,
            start_ns=start,
            duration_ns=length,
            stats=[Stat("row", np.concatenate(values))],
        )
    return plane


@given(st.lists(EVENTS, max_size=3), st.integers(0, 2))
def test_a_merged_line_is_the_line(tables: list[list[tuple[int, int, int]]], line: int) -> None:
    merged = space_of([written(tables, line, merged=True)])
    once = space_of([written(tables, line, merged=False)])
    assert list(differences(merged, once)) == []


@given(st.lists(EVENTS, max_size=3))
def test_a_merged_line_has_bytes_too(tables: list[list[tuple[int, int, int]]]) -> None:
    found = decode(written(tables, 1, merged=True).xspace())
    once = decode(written(tables, 1, merged=False).xspace())
    assert list(differences(found, once)) == []


def test_room_for_stats_that_nobody_has_is_not_in_the_columns() -> None:
    plane = PlaneWriter("/host:CPU")
    name = plane.name("a")
    one = np.zeros(1, np.int64)
    part = TablePart(slice(0, 1), one, one, lambda rows: (np.full(len(rows), name), []), 5)
    plane.add(MergedLine(plane, 1, "python", [part]))
    found = space_of([plane])
    assert len(found.event_stats) == 0
    assert found.events.stat_begin.tolist() == [0, 0]
