"""The meetings of a pod as a graph, and the order in which it can be walked.

A *wave* is a set of meetings none of which waits for another of them. Walking wave by wave visits
every row once, with array operations as wide as the pod.
"""

from __future__ import annotations

import numpy as np

from stepscope.columns.space import I32, I64
from stepscope.pod.meetings import Meetings
from stepscope.pod.rows import grouped, offsets, pieces
from stepscope.records import dataclass


@dataclass(frozen=True, eq=False, slots=True)
class Waves:
    """Rows of meetings, wave after wave.

    Attributes:
        rows: Rows, sorted by wave, then meeting.
        begin: Where each wave begins in ``rows``; one more for the end.
        lost: Rows of meetings that wait for one another in a circle, so that they are matched
            wrongly; they are in no wave.
    """

    rows: I32
    begin: I64
    lost: int

    def __len__(self) -> int:
        return len(self.begin) - 1

    def __getitem__(self, wave: int) -> I32:
        return self.rows[self.begin[wave] : self.begin[wave + 1]]


@dataclass(frozen=True, eq=False, slots=True)
class _CameFrom:
    """By row, the meeting that its unit came from, or -1; made a piece at a time."""

    found: Meetings

    def __len__(self) -> int:
        return len(self.found)

    def __getitem__(self, piece: slice) -> I32:
        before = self.found.before[piece]
        meeting: I32 = np.where(before >= 0, self.found.node[before], np.int32(-1))
        return meeting


def waves_of(found: Meetings) -> Waves:
    """Put the meetings in waves: one is ready when all that its members came from are visited.

    Members end a meeting together, and come to the next one after that: true matches cannot wait
    for one another in a circle, whatever streams they are on.
    """
    waves, lost = _waves_of_nodes(found)
    node_at = offsets(found.node, len(found.size))
    by_node = grouped(found.node, node_at)
    rows = np.empty(len(found) - lost, dtype=np.int32)
    begin = [0]
    for nodes in waves:
        wave = by_node[_ranges(node_at[nodes], node_at[nodes + 1])]
        begin.append(begin[-1] + len(wave))
        rows[begin[-2] : begin[-1]] = wave
    return Waves(rows, np.asarray(begin, dtype=np.int64), lost)


def _waves_of_nodes(found: Meetings) -> tuple[list[I32], int]:
    """Meetings by wave, and how many rows are in none; the graph is forgotten with this call."""
    # Meetings that came from each, once for each member that did.
    came_from = _CameFrom(found)
    after_at = offsets(came_from, len(found.size))
    after = grouped(came_from, after_at)
    missing = np.zeros(len(found.size), dtype=np.int32)
    for piece in pieces(len(after)):
        after[piece] = found.node[after[piece]]
        np.add.at(missing, after[piece], 1)
    ready = np.flatnonzero(missing == 0).astype(np.int32)
    waves: list[I32] = []
    visited = 0
    while len(ready):
        waves.append(ready)
        visited += int(found.size[ready].sum())
        following = after[_ranges(after_at[ready], after_at[ready + 1])]
        nodes, came = np.unique(following, return_counts=True)
        missing[nodes] -= came.astype(np.int32)
        ready = nodes[missing[nodes] == 0]
    return waves, len(found) - visited


def _ranges(low: I32, high: I32) -> I64:
    """The numbers of all these ranges, one after another."""
    length = (high - low).astype(np.int64)
    offset = np.repeat(low - np.append(0, np.cumsum(length)[:-1]), length)
    found: I64 = offset + np.arange(int(length.sum()))
    return found
