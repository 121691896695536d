"""What fixing one part of a pod would save: its meetings replayed with typical times there.

The replay keeps every unit's order of collectives. A unit arrives when the collective before has
ended and its own stretch is done; a meeting ends for all when the last has arrived and the transfer
is done. Collectives whose durations do not tell who came last end for each member by itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import I64, Bool
from stepscope.pod.meetings import Meetings
from stepscope.pod.typical import Typical
from stepscope.pod.waves import Waves

F64 = NDArray[np.float64]


class PodReplays:
    """One pod, replayed with any of its times replaced by typical ones."""

    def __init__(self, found: Meetings, typical: Typical, waves: Waves) -> None:
        self._found = found
        self._typical = typical
        self._waves = waves
        self._plan = [self._of_wave(wave) for wave in range(len(waves))]
        self.recorded_ps = self.length_ps()

    def saving_ps(self, rows: Bool | None = None, nodes: Bool | None = None) -> float:
        """How much shorter the whole recording would be.

        Args:
            rows: Rows whose stretches take no longer than typical.
            nodes: Meetings whose transfers take no longer than typical.
        """
        return self.recorded_ps - self.length_ps(rows, nodes)

    def length_ps(
        self, rows: Bool | None = None, nodes: Bool | None = None, usual_ps: F64 | None = None
    ) -> float:
        """From the first begin to the last end of a replay.

        Args:
            rows: As for ``saving_ps``.
            nodes: As above, of nodes.
            usual_ps: What a typical stretch is, by row, if not what is typical of peers.
        """
        found, typical = self._found, self._typical
        stretch, transfer = found.stretch_ps.astype(np.float64), found.transfer_ps
        if rows is not None:
            usual = typical.stretch_ps if usual_ps is None else usual_ps
            stretch = np.where(rows, np.minimum(stretch, usual), stretch)
        if nodes is not None:
            transfer = np.where(nodes, np.minimum(transfer, typical.transfer_ps), transfer)
        end = np.zeros(len(found) + 1)
        for members, code, begin, node, tells, before, first in self._plan:
            arrival = np.where(first, 0.0, end[before]) + stretch[members]
            last = np.maximum.reduceat(arrival, begin)
            alone = arrival + found.duration_ps[members]
            end[members] = np.where(tells, (last + transfer[node])[code], alone)
        return float(end[:-1].max()) if len(found) else 0.0

    def _of_wave(self, wave: int) -> tuple[I64, I64, I64, I64, Bool, I64, Bool]:
        found, members = self._found, self._waves[wave]
        node = found.node[members]
        begin = np.flatnonzero(np.diff(node, prepend=-1))
        code = np.repeat(np.arange(len(begin)), np.diff(np.append(begin, len(members))))
        before = found.before[members]
        return members, code, begin, node[begin], found.tells[node], before, before < 0
