"""Who is the innermost of spans that contain each other, at every moment."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.tables.python.moments import innermost


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
