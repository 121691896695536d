"""Who pays and who causes: every wait charged to its origin, in one pass against time.

After the delay costs of Böhme et al. (Scalasca): what members wait in a meeting is charged to
those that came late, in proportion to how much later than the median they came. Of a late member's
lateness its own stretch of work explains what that took longer than is typical of its peers; what
it does not explain the member had inherited from the meeting before: from a transfer that took
longer than typical, or from the members that came late there, and so on back. Charges sum to the
waiting; a collective hidden behind other work costs nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import I64
from stepscope.pod.meetings import Meetings
from stepscope.pod.rows import runs
from stepscope.pod.typical import Typical
from stepscope.pod.waves import Waves
from stepscope.records import dataclass

F64 = NDArray[np.float64]
# A picosecond decides between members that are otherwise equal.
_TINY_PS = 1.0


@dataclass(frozen=True, eq=False, slots=True)
class Delays:
    """Waiting time of the whole pod, in device-picoseconds, by its origin.

    Attributes:
        own_ps: By unit: charged to its stretches of work.
        transfer_ps: By communicator: charged to its transfers.
        unexplained_ps: What began before the recording's first meeting.
        waited_ps: All waiting; the three sum to it.
    """

    own_ps: F64
    transfer_ps: F64
    unexplained_ps: float
    waited_ps: float


def delays_of(found: Meetings, typical: Typical, waves: Waves) -> Delays:
    """Charge all waiting to its origins."""
    own = np.zeros(len(typical.role))
    unexplained = waited = 0.0
    link = np.zeros(len(found.communicators))
    # What later meetings charge to a meeting, and how much lateness that stands for.
    charge = np.zeros(len(found.size))
    weight = np.zeros(len(found.size))
    for wave in range(len(waves) - 1, -1, -1):
        rows = waves[wave]
        node = found.node[rows]
        begin = runs(node)
        nodes = node[begin]
        code = np.repeat(np.arange(len(begin)), np.diff(np.append(begin, len(rows))))
        excess = np.maximum(found.stretch_ps(rows) - typical.stretch_ps(rows), 0).astype(np.float64)
        slow = np.maximum(found.transfer_ps[nodes] - typical.transfer_ps(nodes), 0) * 1.0
        stood, waits = found.stood_ps[rows].astype(np.float64), found.wait_ps(rows)
        waited += float(stood.sum())
        late = np.maximum(_medians(waits, begin)[code] - waits, 0.0)
        # What others inherited from here: first the transfer, then who came late, or worked long.
        inherited, lateness = charge[nodes], _ratio(weight[nodes], charge[nodes])
        by_link = inherited * np.minimum(_ratio(slow, lateness), 1.0)
        np.add.at(link, found.communicator[nodes], by_link)
        lateness = np.maximum(lateness - slow, 0.0)[code]
        near = np.minimum(late, lateness) + np.minimum(excess, lateness) + _TINY_PS
        from_later = (inherited - by_link)[code] * near / np.add.reduceat(near, begin)[code]
        direct = np.add.reduceat(stood, begin)
        share = late + _TINY_PS
        from_here = direct[code] * share / np.add.reduceat(share, begin)[code]
        for amount, size in ((from_here, late), (from_later, lateness)):
            mine = amount * np.minimum(_ratio(excess, size), 1.0)
            np.add.at(own, found.unit[rows], mine)
            rest, left = amount - mine, np.maximum(size - excess, 0.0)
            earlier = found.before[rows]
            is_first = (earlier < 0) | (left <= 0)
            unexplained += float(rest[is_first].sum())
            target = found.node[earlier[~is_first]]
            np.add.at(charge, target, rest[~is_first])
            np.add.at(weight, target, (rest * left)[~is_first])
    return Delays(own, link, unexplained, waited)


def _ratio(above: F64, below: F64) -> F64:
    found: F64 = np.divide(above, below, out=np.zeros(len(above)), where=below > 0)
    return found


def _medians(values: I64, begin: I64) -> F64:
    """The median of each stretch of values."""
    size = np.diff(np.append(begin, len(values)))
    code = np.repeat(np.arange(len(begin)), size)
    ordered = values[np.lexsort((values, code))]
    low, high = begin + (size - 1) // 2, begin + size // 2
    found: F64 = (ordered[low] + ordered[high]) / 2
    return found
