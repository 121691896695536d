"""Stretches of time: which of them a moment lies in, what they cover and share, sums over them."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np

from stepscope.columns import distinct, union_spans
from stepscope.columns.space import I32, I64, Bool

_Times = TypeVar("_Times", I64, int)
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


class TimeSpans(NamedTuple):
    """Stretches of a host's clock: disjoint, ascending, half-open; steps, say."""

    start_ps: I64
    end_ps: I64

    def hold(self, at_ps: I64) -> Bool:
        """Which moments lie in one of them."""
        place = np.searchsorted(self.start_ps, at_ps, side="right") - 1
        inside: Bool = (place >= 0) & (at_ps < self.end_ps[np.maximum(place, 0)])
        return inside

    def idle(self, device: I32, start_ps: I64, duration_ps: I64) -> int:
        """Σ over devices that run anything in them of the time in which a device runs nothing."""
        return self.idle_and_wall(device, start_ps, duration_ps)[0]

    def idle_and_wall(self, device: I32, start_ps: I64, duration_ps: I64) -> tuple[int, int]:
        """``idle``, and Σ over the same devices of the spans' length."""
        total, wall, length = 0, 0, int((self.end_ps - self.start_ps).sum())
        for one in distinct(device).tolist():
            own = device == one
            busy = union_spans(start_ps[own], start_ps[own] + duration_ps[own])
            inside = int(covered(*busy, *self).sum())
            total += length - inside if inside else 0
            wall += length if inside else 0
        return total, wall


def mean_ps(time_ps: _Times, steps: int) -> _Times:
    """Times of the mean of so many steps, to the picosecond."""
    return (time_ps + steps // 2) // steps
