"""Spans that contain each other, as stretches in which one of them is the innermost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.columns import nest
from stepscope.columns.nesting import Nesting
from stepscope.columns.space import I64


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
        place = np.searchsorted(self.start_ps, time_ps, side="right") - 1
        inside = (place >= 0) & (time_ps < self.end_ps[np.maximum(place, 0)])
        owner: I64 = np.where(inside, self.owner[np.maximum(place, 0)], -1)
        return owner


def one_line(start_ps: I64, length_ps: I64) -> Nesting:
    """How spans of one line contain each other."""
    return nest(start_ps, length_ps, np.asarray([0, len(start_ps)], dtype=np.int64))


def innermost(start_ps: I64, length_ps: I64) -> Moments:
    """The innermost span at every moment of one line; of two that only overlap, the later."""
    kept = np.flatnonzero(length_ps > 0)
    start, end = start_ps[kept], start_ps[kept] + length_ps[kept]
    if len(kept) == 0:
        return Moments(start, end, kept)
    nesting = one_line(start, end - start)
    parent, depth = nesting.parent.astype(np.int64), nesting.depth.astype(np.int64)
    # Spans that overlap without containing each other stand side by side: the later cuts the other.
    order = np.lexsort((start, parent))
    beside = parent[order][1:] == parent[order][:-1]
    end[order[:-1]] = np.where(
        beside, np.minimum(end[order[:-1]], start[order[1:]]), end[order[:-1]]
    )
    for level in range(1, int(depth.max()) + 1):
        rows = np.flatnonzero(depth == level)
        end[rows] = np.minimum(end[rows], end[parent[rows]])
        start[rows] = np.minimum(start[rows], end[rows])
    here = np.flatnonzero(end > start)
    times = np.concatenate([start[here], end[here]])
    owner = np.concatenate([here, parent[here]])
    # At the same time inner spans end before outer ones, and outer ones begin before inner ones.
    rank = np.concatenate([depth[here] + 1, -depth[here]])
    order = np.lexsort((rank, times))
    times, owner = times[order], owner[order]
    lasts = (np.diff(times) > 0) & (owner[:-1] >= 0)
    return Moments(times[:-1][lasts], times[1:][lasts], kept[owner[:-1][lasts]])
