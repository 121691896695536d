"""Which of some disjoint spans a moment lies in, what they cover, and what two such sets share."""

from __future__ import annotations

import numpy as np

from stepscope.columns.space import I64

# So many intervals at a time: there may be as many as events, and each takes several columns.
_BLOCK = 1 << 15


def span_at(start: I64, end: I64, at: I64) -> I64:
    """Which of some disjoint ascending spans each moment lies in; -1 none."""
    place = np.searchsorted(start, at, side="right") - 1
    return np.where(at < end[place], place, -1) if len(start) else place


def covered(span_start: I64, span_end: I64, start: I64, end: I64) -> I64:
    """Time of disjoint ascending spans (as ``union_spans`` gives) inside each interval."""
    if len(span_start) == 0:
        return np.zeros(len(start), dtype=np.int64)
    length = np.concatenate([[0], np.cumsum(span_end - span_start)])

    def until(at: I64) -> I64:
        whole = np.searchsorted(span_start, at, side="right")
        last = np.maximum(whole - 1, 0)
        over = np.where(whole > 0, np.maximum(span_end[last] - at, 0), 0)
        total: I64 = length[whole]
        total -= over
        return total

    inside = np.empty(len(start), dtype=np.int64)
    for begin in range(0, len(start), _BLOCK):
        some = slice(begin, begin + _BLOCK)
        np.subtract(until(end[some]), until(start[some]), out=inside[some])
    return inside


def common_spans(start: I64, end: I64, begin: I64, until: I64) -> tuple[I64, I64]:
    """What two sets of disjoint ascending spans both cover, as such a set."""
    first = np.searchsorted(until, start, side="right")
    count = np.maximum(np.searchsorted(begin, end, side="left") - first, 0)
    row = np.repeat(np.arange(len(start)), count)
    other = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count) + first[row]
    return np.maximum(start[row], begin[other]), np.minimum(end[row], until[other])
