"""How much of an interval a set of disjoint spans covers."""

from __future__ import annotations

import numpy as np

from stepscope.columns.space import I64


def covered(span_start: I64, span_end: I64, start: I64, end: I64) -> I64:
    """Time of disjoint ascending spans (as ``union_spans`` gives) inside each interval."""
    if len(span_start) == 0:
        return np.zeros(len(start), dtype=np.int64)
    length = np.concatenate([[0], np.cumsum(span_end - span_start)])

    def until(at: I64) -> I64:
        whole = np.searchsorted(span_start, at, side="right")
        last = np.maximum(whole - 1, 0)
        over = np.where(whole > 0, np.maximum(span_end[last] - at, 0), 0)
        del last  # with as many intervals as events each column counts
        total: I64 = length[whole]
        total -= over
        return total

    inside = until(end)
    inside -= until(start)
    return inside
