"""Columns as narrow as their numbers: nothing is lost on the way, whatever block it came in."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.columns import distinct_codes
from stepscope.formats.kineto.reading.event_rows import (
    REAL,
    TEXT,
    WHOLE,
    EventRows,
    ValueRows,
)

EDGES = [-(2**63), -(2**31) - 1, -(2**15), -129, -128, -1, 0, 127, 128, 2**15, 2**31, 2**63 - 1]


@given(st.lists(st.lists(st.sampled_from(EDGES), max_size=4), max_size=4))
def test_blocks_of_several_widths_become_one_column(blocks: list[list[int]]) -> None:
    rows = EventRows({"phase": np.uint8, "start": np.int64})
    for one in blocks:
        size = len(one)
        rows.keep(
            {"phase": np.zeros(size, np.uint8), "start": np.asarray(one, np.int64)}, slice(0, size)
        )
    assert rows.count == sum(map(len, blocks))
    assert rows.columns()["start"].tolist() == [number for one in blocks for number in one]


@given(st.lists(st.integers(-1, 50)))
def test_codes_are_told_apart_as_sorting_would(codes: list[int]) -> None:
    column = np.asarray(codes, np.int8)
    used, place = distinct_codes(column)
    assert sorted(used.tolist()) == sorted(set(codes))
    assert used[place[column]].tolist() == codes


def test_values_are_found_by_key_in_the_order_of_events() -> None:
    rows = ValueRows()
    bits = np.asarray([1.5], np.float64).view(np.int64)[0]
    rows.keep(
        np.asarray([7, 3, 7, 7]),
        np.asarray([WHOLE, WHOLE, REAL, TEXT]),
        np.asarray([10, 20, bits, 4]),
        np.asarray([0, 0, 1, 2], np.int32),
    )
    rows.keep(np.asarray([7]), np.asarray([WHOLE]), np.asarray([2**40]), np.asarray([5], np.int32))
    own = rows.by_kind()
    assert [one.tolist() for one in own[WHOLE].of(7)] == [[0, 5], [10, 2**40]]
    assert [one.tolist() for one in own[WHOLE].of(3)] == [[0], [20]]
    assert [one.tolist() for one in own[REAL].of(7)] == [[1], [1.5]]
    assert [one.tolist() for one in own[TEXT].of(7)] == [[2], [4]]
    assert [one.tolist() for one in own[TEXT].of(3)] == [[], []]
