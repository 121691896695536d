"""Nothing is lost on a screen: cells and columns against brute force over every event."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.columns import pyramid
from stepscope.columns.pyramid import Cells, Pyramid
from tests.kernels import examples

_SMALL = st.integers(0, 300)
_EVENTS = st.lists(st.tuples(_SMALL, st.one_of(st.just(0), st.integers(0, 120))), max_size=150)
_VIEW = st.tuples(st.integers(-5, 420), st.integers(1, 450))


def _columns(events: list[tuple[int, int]]) -> tuple[Any, Any]:
    table = np.asarray(events, np.int64).reshape(-1, 2)
    return table[:, 0].copy(), table[:, 1].copy()


def _touches(start: int, duration: int, begin: int, end: int) -> bool:
    return start < end and (start + duration > begin or start >= begin)


def _cells(built: Pyramid, begin: int, end: int, bucket: int) -> Cells:
    cells = built.cells(begin, end, bucket, range(built.lanes), len(built) + 1)
    assert cells is not None
    return cells


@given(_EVENTS)
def test_every_event_has_one_place_and_none_overlap_in_a_lane(
    events: list[tuple[int, int]],
) -> None:
    start, duration = _columns(events)
    built = pyramid.build(start, duration)
    placed = built.events(np.arange(len(built), dtype=np.int64))
    assert sorted(placed.tolist()) == list(range(len(events)))
    for low, high in zip(
        built.lane_begin[:-1].tolist(), built.lane_begin[1:].tolist(), strict=True
    ):
        rows = placed[low:high]
        ends = start[rows] + np.maximum(duration[rows], 1)
        assert np.all(start[rows][1:] >= ends[:-1])


@given(_EVENTS)
def test_a_contained_event_lies_below_what_contains_it(events: list[tuple[int, int]]) -> None:
    starts = sorted(events, key=lambda event: (event[0], -event[1]))
    start, duration = _columns(starts)
    built = pyramid.build(start, duration)
    lane = np.empty(len(built), np.int64)
    lane[built.events(np.arange(len(built), dtype=np.int64))] = np.repeat(
        np.arange(built.lanes), np.diff(built.lane_begin)
    )
    nested = all(
        a[0] + a[1] <= b[0] or b[0] + max(b[1], 1) <= a[0] + a[1]
        for i, a in enumerate(starts)
        for b in starts[i + 1 :]
    )
    if nested:
        for i, (begin, length) in enumerate(starts):
            above = sum(
                s <= begin and begin + max(length, 1) <= s + max(d, 1) for s, d in starts[:i]
            )
            assert lane[i] == above


@settings(max_examples=examples(300))
@given(_EVENTS, _VIEW, st.sampled_from([1, 2, 4, 8, 16, 64, 256, 1024]))
def test_cells_hold_every_event_of_the_view_once(
    events: list[tuple[int, int]], view: tuple[int, int], bucket: int
) -> None:
    begin, end = view[0], view[0] + view[1]
    start, duration = _columns(events)
    cells = _cells(pyramid.build(start, duration), begin, end, bucket)
    seen = [(s, d) for s, d in events if _touches(s, d, begin, end)]
    assert int(cells.count.sum()) == len(seen)
    assert int(cells.busy_ps.sum()) == sum(d for _s, d in seen)
    assert sum(d >= bucket for _s, d in seen) == int(
        ((cells.count == 1) & (duration[cells.event] >= bucket)).sum()
    )
    for at in range(len(cells)):
        assert cells.busy_ps[at] <= cells.end_ps[at] - cells.begin_ps[at]
        if cells.count[at] > 1:
            assert duration[cells.event[at]] < bucket
            assert cells.end_ps[at] - cells.begin_ps[at] < 2 * bucket


@given(_EVENTS, _VIEW)
def test_at_the_finest_zoom_every_event_is_itself(
    events: list[tuple[int, int]], view: tuple[int, int]
) -> None:
    begin, end = view[0], view[0] + view[1]
    start, duration = _columns(events)
    cells = _cells(pyramid.build(start, duration), begin, end, 1)
    assert np.all(cells.count == 1)
    rows = [i for i, (s, d) in enumerate(events) if _touches(s, d, begin, end)]
    assert sorted(cells.event.tolist()) == rows


@given(_EVENTS, _VIEW, st.sampled_from([1, 2, 8, 64]))
def test_the_longest_of_a_cell_is_the_longest(
    events: list[tuple[int, int]], view: tuple[int, int], bucket: int
) -> None:
    begin, end = view[0], view[0] + view[1]
    start, duration = _columns(events)
    built = pyramid.build(start, duration)
    cells = _cells(built, begin, end, bucket)
    low, high = built.touching(begin, end)
    for lane in range(built.lanes):
        mine = np.flatnonzero(cells.lane == lane)
        at = int(low[lane])
        for cell in mine.tolist():
            rows = built.events(np.arange(at, at + int(cells.count[cell]), dtype=np.int64))
            assert duration[cells.event[cell]] == duration[rows].max()
            assert cells.begin_ps[cell] == start[rows[0]]
            at += len(rows)
        assert at == high[lane]


@given(_EVENTS, st.integers(-5, 300), st.integers(1, 40), st.integers(1, 30))
def test_columns_hold_the_time_and_the_starts(
    events: list[tuple[int, int]], begin: int, column_ps: int, columns: int
) -> None:
    start, duration = _columns(events)
    built = pyramid.build(start, duration)
    busy, count = np.zeros(columns, np.int64), np.zeros(columns, np.int64)
    for lane in range(built.lanes):
        more, starts = built.density(begin, column_ps, columns, lane)
        busy, count = busy + more, count + starts
    for column in range(columns):
        left = begin + column * column_ps
        right = left + column_ps
        clipped = [min(s + d, right) - max(s, left) for s, d in events]
        assert busy[column] == sum(max(length, 0) for length in clipped)
        assert count[column] == sum(left <= s < right for s, _d in events)
