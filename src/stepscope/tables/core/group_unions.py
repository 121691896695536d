"""Time that the intervals of each of many groups cover."""

from __future__ import annotations

import numpy as np

from stepscope.columns.space import I64


def union_by_group(group: I64, start: I64, end: I64, count: int) -> I64:
    """Σ of the union of the intervals of each group.

    Args:
        group: Of each interval, 0 … count-1, in any order.
        start: Of each.
        end: Of each.
        count: How many groups there are.
    """
    total = np.zeros(count, np.int64)
    if not len(group):
        return total
    order = np.lexsort((start, group))
    group, start, end = group[order], start[order], end[order]
    # The latest end so far within a group: a running maximum of ranks that restarts with each.
    by_end = np.argsort(end, kind="stable")
    rank = np.empty(len(end), np.int64)
    rank[by_end] = np.arange(len(end))
    latest = np.maximum.accumulate(group * len(end) + rank) - group * len(end)
    before = np.full(len(end), np.iinfo(np.int64).min)
    again = np.flatnonzero(group[1:] == group[:-1]) + 1
    before[again] = end[by_end[latest[again - 1]]]
    np.add.at(total, group, np.maximum(end - np.maximum(start, before), 0))
    return total
