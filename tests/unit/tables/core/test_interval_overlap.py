"""Covered time against counting every picosecond."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.columns import union_spans
from stepscope.tables.core.interval_overlap import covered

_SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=12)


@given(_SPANS, _SPANS)
def test_equals_counting(spans: list[tuple[int, int]], intervals: list[tuple[int, int]]) -> None:
    start, length = np.asarray(spans, dtype=np.int64).reshape(-1, 2).T
    begin, size = np.asarray(intervals, dtype=np.int64).reshape(-1, 2).T
    found = covered(*union_spans(start, start + length), begin, begin + size)
    busy = {at for s, n in spans for at in range(s, s + n)}
    assert found.tolist() == [len(busy & set(range(s, s + n))) for s, n in intervals]
