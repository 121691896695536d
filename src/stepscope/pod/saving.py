"""What fixing one part of a pod would save: its meetings replayed with typical times there.

The replay keeps every unit's order of collectives. A unit arrives when the collective before has
ended and its own stretch is done; a meeting ends for all when the last has arrived and the transfer
is done. An exchange that met ends for each member its own transfer after the last has arrived;
of other collectives who came last is unknown, and they end for each member by itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import Bool
from stepscope.pod.meetings import Meetings
from stepscope.pod.rows import runs
from stepscope.pod.typical import Typical
from stepscope.pod.waves import Waves

F64 = NDArray[np.float64]


class PodReplays:
    """One pod, replayed with any of its times replaced by typical ones."""

    def __init__(self, found: Meetings, typical: Typical, waves: Waves) -> None:
        self._found = found
        self._typical = typical
        self._waves = waves
        # By wave, where the rows of each meeting begin in it.
        self._begin = [runs(found.node[waves[one]]).astype(np.int32) for one in range(len(waves))]
        self.recorded_ps = self.length_ps()

    def saving_ps(self, units: Bool | None = None, nodes: Bool | None = None) -> float:
        """How much shorter the whole recording would be.

        Args:
            units: Units whose stretches take no longer than typical.
            nodes: Meetings whose transfers take no longer than typical.
        """
        return self.recorded_ps - self.length_ps(units, nodes)

    def length_ps(
        self, units: Bool | None = None, nodes: Bool | None = None, share: F64 | None = None
    ) -> float:
        """From the first begin to the last end of a replay.

        Args:
            units: As for ``saving_ps``.
            nodes: As above, of nodes.
            share: By unit, what of a typical stretch its stretches take at most; 1 if not given.
        """
        found, typical = self._found, self._typical
        # Members of a meeting end it together, but where durations do not tell.
        end, latest = np.zeros(len(found.size)), 0.0
        alone = None if found.tells.all() else np.zeros(len(found))
        for wave, begin in enumerate(self._begin):
            rows = self._waves[wave]
            stretch = found.stretch_ps(rows).astype(np.float64)
            if units is not None:
                unit = found.unit[rows]
                usual = typical.stretch_ps(rows) * (1.0 if share is None else share[unit])
                stretch = np.where(units[unit], np.minimum(stretch, usual), stretch)
            before = found.before[rows]
            # What came from nothing begins at 0.
            came = end[found.node[before]] if alone is None else alone[before]
            arrival = np.where(before < 0, 0.0, came) + stretch
            node = found.node[rows[begin]]
            size = np.diff(np.append(begin, len(rows)))
            transfer = found.transfer_ps[node]
            if nodes is not None:
                usual = np.minimum(transfer, typical.transfer_ps(node))
                transfer = np.where(nodes[node], usual, transfer)
            done = np.maximum.reduceat(arrival, begin) + transfer
            end[node] = done
            if alone is not None:
                tells, met = (np.repeat(one[node], size) for one in (found.tells, found.met))
                last = np.repeat(np.maximum.reduceat(arrival, begin), size)
                begins = np.where(met, last, arrival)
                own = begins + found.duration_ps[rows] - found.wait_ps(rows)
                done = np.where(tells, np.repeat(done, size), own)
                alone[rows] = done
            latest = max(latest, float(done.max()))
        return latest
