"""Who is the innermost of spans that contain each other, at every moment."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.tables.python.moments import innermost


def told(*spans: tuple[int, int]) -> list[tuple[int, int, int]]:
    start, end = (np.asarray([span[at] for span in spans], dtype=np.int64) for at in range(2))
    found = innermost(start, end - start)
    return list(
        zip(found.start_ps.tolist(), found.end_ps.tolist(), found.owner.tolist(), strict=True)
    )


def test_an_outer_span_has_what_its_inner_ones_leave() -> None:
    assert told((0, 10), (2, 5), (3, 4)) == [(0, 2, 0), (2, 3, 1), (3, 4, 2), (4, 5, 1), (5, 10, 0)]


def test_spans_that_end_together_leave_nothing_to_the_outer_ones() -> None:
    assert told((0, 10), (4, 10), (6, 10)) == [(0, 4, 0), (4, 6, 1), (6, 10, 2)]


def test_spans_side_by_side_leave_the_gap_to_nobody() -> None:
    assert told((0, 2), (5, 7)) == [(0, 2, 0), (5, 7, 1)]


def test_instants_have_no_moment() -> None:
    assert told((0, 4), (2, 2)) == [(0, 4, 0)]


def test_of_two_that_overlap_the_later_has_the_time_both_want() -> None:
    assert told((0, 6), (4, 9)) == [(0, 4, 0), (4, 9, 1)]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 12)), min_size=1, max_size=12))
def test_moments_are_disjoint_and_cover_what_any_span_covers(spans: list[tuple[int, int]]) -> None:
    start, length = (np.asarray([span[at] for span in spans], dtype=np.int64) for at in range(2))
    found = innermost(start, length)
    assert (found.start_ps < found.end_ps).all()
    assert (found.start_ps[1:] >= found.end_ps[:-1]).all()
    for begin, end, owner in zip(found.start_ps, found.end_ps, found.owner, strict=True):
        assert start[owner] <= begin < end <= start[owner] + length[owner]
    covered = np.zeros(64, dtype=bool)
    for begin, taken in spans:
        covered[begin : begin + taken] = True
    assert int((found.end_ps - found.start_ps).sum()) <= int(covered.sum())
