"""The meetings of a pod as a graph, and the order in which it can be walked.

A *wave* is a set of meetings none of which waits for another of them. Walking wave by wave visits
every row once, with array operations as wide as the pod.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.columns.space import I32, I64
from stepscope.pod.meetings import Meetings
from stepscope.pod.rows import pieces


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
    by_node = np.argsort(found.node, kind="stable").astype(np.int32)
    node_at = _offsets(found.node, len(found.size))
    # Rows by what they came from, without those that came from nothing.
    by_before = np.argsort(found.before, kind="stable").astype(np.int32)
    by_before = by_before[int((found.before < 0).sum()) :]
    before_at = _offsets(found.before[by_before], count)
    missing = np.zeros(len(found.size), dtype=np.int32)
    for piece in pieces(count):
        nodes = found.node[piece][found.before[piece] >= 0]
        np.add.at(missing, nodes, 1)
    ready = np.flatnonzero(missing == 0)
    waves: list[I32] = []
    while len(ready):
        rows = by_node[_ranges(node_at[ready], node_at[ready + 1])]
        waves.append(rows)
        after = by_before[_ranges(before_at[rows], before_at[rows + 1])]
        nodes, came = np.unique(found.node[after], return_counts=True)
        missing[nodes] -= came.astype(np.int32)
        ready = nodes[missing[nodes] == 0]
    begin = np.append(0, np.cumsum([len(wave) for wave in waves])).astype(np.int64)
    rows = np.concatenate([by_node[:0], *waves])
    return Waves(rows, begin, count - len(rows))


def _offsets(values: I32, size: int) -> I32:
    """Where each value begins if they are sorted, and the end of the last."""
    found = np.zeros(size + 1, dtype=np.int32)
    for piece in pieces(len(values)):
        np.add.at(found, values[piece] + 1, 1)
    return np.cumsum(found, dtype=np.int32, out=found)


def _ranges(low: I32, high: I32) -> I64:
    """The numbers of all these ranges, one after another."""
    length = (high - low).astype(np.int64)
    offset = np.repeat(low - np.append(0, np.cumsum(length)[:-1]), length)
    found: I64 = offset + np.arange(int(length.sum()))
    return found
