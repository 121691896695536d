"""Spans that contain each other, as stretches in which one of them is the innermost."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stepscope.columns import nest
from stepscope.columns.nesting import Nesting
from stepscope.columns.space import I64
from stepscope.kernels import core
from stepscope.records import dataclass
from stepscope.tables.core.time_spans import span_at


@dataclass(frozen=True, eq=False, slots=True)
class Moments:
    """Disjoint stretches, ascending.

    Attributes:
        start_ps, end_ps: Half-open.
        owner: Index of the innermost span.
    """

    start_ps: I64
    end_ps: I64
    owner: I64

    def at(self, time_ps: I64) -> I64:
        """The owner at each time, -1 where there is none."""
        if len(self.start_ps) == 0:
            return np.full(len(time_ps), -1, dtype=np.int64)
        place = span_at(self.start_ps, self.end_ps, time_ps)
        return np.where(place >= 0, self.owner[place], -1)


def one_line(start_ps: I64, length_ps: I64) -> Nesting:
    """How spans of one line contain each other."""
    return nest(start_ps, length_ps, np.asarray([0, len(start_ps)], dtype=np.int64))


def levels(nesting: Nesting) -> Iterator[I64]:
    """The rows of each depth, those that nothing contains first."""
    for depth in range(int(nesting.depth.max(initial=-1)) + 1):
        yield np.flatnonzero(nesting.depth == depth)


def innermost(start_ps: I64, length_ps: I64) -> Moments:
    """The innermost span at every moment of one line; of two that only overlap, the later."""
    kept = np.flatnonzero(length_ps > 0)
    start, end = start_ps[kept], start_ps[kept] + length_ps[kept]
    stack, found = np.empty(len(kept), np.int64), np.empty((3, 2 * len(kept)), np.int64)
    count = core.nest.cut_spans(start, end, stack, *found)
    if count < 0:
        order = np.lexsort((-end, start))
        kept, start, end = kept[order], start[order], end[order]
        count = core.nest.cut_spans(start, end, stack, *found)
    starts, ends = (found[at, :count].copy() for at in range(2))  # of their own: there is a third
    return Moments(starts, ends, kept[found[2, :count]])
