"""Covered time and common spans against counting every picosecond."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.columns import union_spans
from stepscope.tables.core.time_spans import common_spans, covered, span_at

_SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=12)


@given(_SPANS, _SPANS)
def test_equals_counting(spans: list[tuple[int, int]], intervals: list[tuple[int, int]]) -> None:
    start, length = np.asarray(spans, dtype=np.int64).reshape(-1, 2).T
    begin, size = np.asarray(intervals, dtype=np.int64).reshape(-1, 2).T
    found = covered(*union_spans(start, start + length), begin, begin + size)
    busy = {at for s, n in spans for at in range(s, s + n)}
    assert found.tolist() == [len(busy & set(range(s, s + n))) for s, n in intervals]


@given(_SPANS, _SPANS)
def test_common_spans_are_what_both_cover(
    spans: list[tuple[int, int]], others: list[tuple[int, int]]
) -> None:
    (start, length), (begin, size) = (
        np.asarray(one, dtype=np.int64).reshape(-1, 2).T for one in (spans, others)
    )
    first, second = union_spans(start, start + length), union_spans(begin, begin + size)
    found = list(zip(*(side.tolist() for side in common_spans(*first, *second)), strict=True))
    both = [{at for s, n in one for at in range(s, s + n)} for one in (spans, others)]
    assert {at for s, e in found for at in range(s, e)} == both[0] & both[1]
    assert all(s < e for s, e in found)
    assert all(one[1] <= after[0] for one, after in pairwise(found))


@given(_SPANS, st.lists(st.integers(-1, 90), max_size=12))
def test_a_moment_lies_in_the_span_that_holds_it(
    spans: list[tuple[int, int]], moments: list[int]
) -> None:
    start, length = np.asarray(spans, dtype=np.int64).reshape(-1, 2).T
    start, end = union_spans(start, start + length)
    found = span_at(start, end, np.asarray(moments, dtype=np.int64)).tolist()
    held = [[*np.flatnonzero((start <= at) & (at < end)).tolist(), -1][0] for at in moments]
    assert found == held
