"""Nesting, sweep and unions, held against their definitions."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stepscope import columns
from stepscope.columns import nest, sweep, sweep_pieces, union_spans
from stepscope.tables.python.moments import innermost
from tests.kernels import examples
from tests.oracle import nesting as oracle

TIMES = st.one_of(st.integers(0, 12), st.integers(-(2**62), 2**62))
DURATIONS = st.one_of(st.integers(0, 8), st.integers(-5, 2**63 - 1))
LINE = st.lists(st.tuples(TIMES, DURATIONS, st.booleans()), max_size=12)


@settings(max_examples=examples(400), deadline=None)
@given(st.lists(LINE, max_size=3))
@example([[(0, 10, True), (5, 10, True), (6, 2, True)]])  # overlap in part: siblings
@example([[(0, 10, True), (10, 0, True), (10, 5, True)]])  # an instant between neighbours
@example([[(1, 2**63 - 2, True), (0, 0, True), (1, 2**63 - 1, True)]])  # both to the end of time
@example([[(0, 9, True)] * 300])  # nested deeper than the first scratch
def test_nesting_is_what_its_definition_says(lines: list[list[tuple[int, int, bool]]]) -> None:
    events = [event for line in lines for event in line]
    starts = np.array([start for start, _, _ in events], np.int64)
    durations = np.array([duration for _, duration, _ in events], np.int64)
    chosen = np.array([flag for _, _, flag in events], np.bool_)
    line_begin = np.cumsum([0, *(len(line) for line in lines)]).astype(np.int64)
    for select in (None, chosen):
        found = nest(starts, durations, line_begin, select=select)
        for line, begin in zip(lines, line_begin.tolist(), strict=False):
            flags = [flag or select is None for _, _, flag in line]
            parent, self_ps, depth = oracle.nest(
                [start for start, _, _ in line], [duration for _, duration, _ in line], flags
            )
            mine = slice(begin, begin + len(line))
            assert found.parent[mine].tolist() == [p + begin if p >= 0 else -1 for p in parent]
            assert found.self_ps[mine].tolist() == self_ps
            assert found.depth[mine].tolist() == depth


@given(LINE)
def test_events_without_parent_cover_all_that_is_covered(
    line: list[tuple[int, int, bool]],
) -> None:
    starts = np.array([start for start, _, _ in line], np.int64)
    durations = np.array([duration for _, duration, _ in line], np.int64)
    found = nest(starts, durations, np.array([0, len(line)]))
    top = found.parent == -1
    spans = [(s, oracle.end_of(s, d)) for s, d, _ in line]
    covered = sum(end - begin for begin, end in oracle.union(spans))
    tops = [spans[i] for i in np.flatnonzero(top)]
    assert sum(end - begin for begin, end in oracle.union(tops)) == covered
    assert all(value >= 0 for value in found.self_ps.tolist())


SPAN = st.tuples(st.integers(-5, 30), st.integers(-2, 15), st.integers(0, 63))
EDGES = st.lists(st.integers(-10, 50), max_size=8, unique=True).map(sorted)


@settings(max_examples=examples(400), deadline=None)
@given(st.lists(SPAN, max_size=12), EDGES)
def test_the_highest_active_class_has_the_time(
    raw: list[tuple[int, int, int]], edges: list[int]
) -> None:
    spans = [(begin, begin + length, kind) for begin, length, kind in raw]
    steps = list(zip(edges[::2], edges[1::2], strict=False))
    found = sweep(
        np.array([begin for begin, _, _ in spans], np.int64),
        np.array([end for _, end, _ in spans], np.int64),
        np.array([kind for _, _, kind in spans], np.int64),
        np.array([begin for begin, _ in steps], np.int64),
        np.array([end for _, end in steps], np.int64),
    )
    expected = oracle.sweep([span for span in spans if span[1] > span[0]], steps)
    assert [{k: int(row[k]) for k in np.flatnonzero(row).tolist()} for row in found] == expected
    assert found.sum(axis=1).tolist() == [end - begin for begin, end in steps]


@given(st.lists(SPAN, max_size=12), EDGES)
def test_pieces_of_a_sweep_are_its_entries_above_0(
    raw: list[tuple[int, int, int]], edges: list[int]
) -> None:
    begin, length, kind = (np.array([one[at] for one in raw], np.int64) for at in range(3))
    steps = list(zip(edges[::2], edges[1::2], strict=False))
    within = tuple(np.array([step[at] for step in steps], np.int64) for at in range(2))
    whole = sweep(begin, begin + length, kind, *within)
    step, which, time = sweep_pieces(begin, begin + length, kind, *within)
    at = np.nonzero(whole)
    assert (step.tolist(), which.tolist()) == (at[0].tolist(), at[1].tolist())
    assert time.tolist() == whole[at].tolist()


@given(st.lists(st.tuples(st.integers(-5, 30), st.integers(0, 12)), max_size=12))
def test_each_moment_belongs_to_the_innermost_span(raw: list[tuple[int, int]]) -> None:
    start, length = (np.array([one[at] for one in raw], np.int64) for at in range(2))
    found = innermost(start, length)
    listed = zip(found.start_ps, found.end_ps, found.owner, strict=True)
    mine = {time: int(at) for begin, end, at in listed for time in range(begin, end)}
    assert mine == oracle.innermost(raw)


@given(
    st.lists(st.tuples(st.integers(-5, 30), st.integers(1, 12)), min_size=1, max_size=12),
    st.lists(st.integers(-8, 45), max_size=12),
)
def test_spans_in_order_answer_as_in_any_order(raw: list[tuple[int, int]], when: list[int]) -> None:
    start, length = (np.array([one[at] for one in raw], np.int64) for at in range(2))
    times = np.array(when, np.int64)
    any_order = columns.innermost(start, start + length, times)
    order = np.lexsort((-length, start))
    in_order = columns.innermost(start[order], (start + length)[order], times)
    assert np.where(in_order >= 0, order[in_order], -1).tolist() == any_order.tolist()
    for one, at in zip(any_order.tolist(), when, strict=True):
        assert one < 0 or start[one] <= at < start[one] + length[one]


@given(st.lists(SPAN, max_size=12))
def test_unions_cover_what_the_spans_cover(raw: list[tuple[int, int, int]]) -> None:
    spans = [(start, start + size) for start, size, _ in raw]
    starts = np.array([start for start, _ in spans], np.int64)
    ends = np.array([end for _, end in spans], np.int64)
    merged = union_spans(starts, ends)
    assert list(zip(*(side.tolist() for side in merged), strict=True)) == oracle.union(spans)
