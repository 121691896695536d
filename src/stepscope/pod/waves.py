"""The meetings of a pod as a graph, and the order in which it can be walked.

A *wave* is a set of meetings none of which waits for another of them. Walking wave by wave visits
every row once, with array operations as wide as the pod.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.columns.space import I32, I64
from stepscope.pod.meetings import Meetings
from stepscope.pod.rows import grouped, offsets, pieces


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


def waves_of(found: Meetings) -> Waves:
    """Put the meetings in waves: one is ready when all that its members came from are visited.

    Members end a meeting together, and come to the next one after that: true matches cannot wait
    for one another in a circle, whatever streams they are on.
    """
    count = len(found)
    node_at = offsets(found.node, len(found.size))
    by_node = grouped(found.node, node_at)
    # Meetings that came from each, once for each member that did.
    source = np.full(count, -1, dtype=np.int32)
    for piece in pieces(count):
        before = found.before[piece]
        source[piece] = np.where(before >= 0, found.node[before], -1)
    after_at = offsets(source, len(found.size))
    after = grouped(source, after_at)
    del source
    missing = np.zeros(len(found.size), dtype=np.int32)
    for piece in pieces(len(after)):
        after[piece] = found.node[after[piece]]
        np.add.at(missing, after[piece], 1)
    ready = np.flatnonzero(missing == 0)
    rows = np.empty(count, dtype=np.int32)
    begin = [0]
    while len(ready):
        wave = by_node[_ranges(node_at[ready], node_at[ready + 1])]
        begin.append(begin[-1] + len(wave))
        rows[begin[-2] : begin[-1]] = wave
        following = after[_ranges(after_at[ready], after_at[ready + 1])]
        nodes, came = np.unique(following, return_counts=True)
        missing[nodes] -= came.astype(np.int32)
        ready = nodes[missing[nodes] == 0]
    return Waves(rows[: begin[-1]], np.asarray(begin, dtype=np.int64), count - begin[-1])


def _ranges(low: I32, high: I32) -> I64:
    """The numbers of all these ranges, one after another."""
    length = (high - low).astype(np.int64)
    offset = np.repeat(low - np.append(0, np.cumsum(length)[:-1]), length)
    found: I64 = offset + np.arange(int(length.sum()))
    return found
