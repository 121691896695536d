"""Slow links, inferred from which pairs transfer slowly.

No recorder says which link of a transfer is slow. But a member that also transfers at the usual
speed is not it: suspects are the smallest sets that cover the slow communicators and no normal one.
Where several sets fit as well, the smallest that has them all is named; nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import I64, Bool
from stepscope.pod.meetings import Meetings, Units
from stepscope.pod.places import GroupFamily, Set
from stepscope.pod.typical import Typical

F64 = NDArray[np.float64]
# Transfers of a class are never more alike than this.
_ALIKE = 0.02


def slowness(found: Meetings, typical: Typical) -> tuple[F64, F64]:
    """By communicator: its transfers as a multiple of what is typical, and z within its class.

    z is NaN where a class has one communicator: it is neither slow nor normal. The one of all
    devices goes through every link, the slow one too.
    """
    count = len(found.communicators)
    of_node = found.communicator
    told = found.tells
    took = np.bincount(of_node[told], found.transfer_ps[told], count)
    usual = np.bincount(of_node[told], typical.transfer_ps(told), count)
    ratio = np.divide(took, usual, out=np.ones(count), where=usual > 0)
    size = np.zeros(count, dtype=np.int64)
    size[of_node] = found.size
    kinds = np.unique([one.kind for one in found.communicators], return_inverse=True)[1]
    group = (kinds << 32) + size
    z = np.full(count, np.nan)
    for one in np.unique(group):
        mine = (group == one) & (usual > 0)
        if mine.sum() < 2:
            continue
        middle = np.quantile(ratio[mine], 0.5, method="lower")
        spread = 1.4826 * np.median(np.abs(ratio[mine] - middle))
        z[mine] = (ratio[mine] - middle) / max(spread, _ALIKE)
    return ratio, z


def covering(
    found: Meetings, units: Units, families: list[GroupFamily], slow: Bool, normal: Bool, most: int
) -> Iterator[tuple[Set, Bool]]:
    """Sets that cover slow communicators and no normal one, with which they cover."""
    count = len(slow)
    unit, communicator = found.memberships()
    # Transfers that stay on a host say nothing about its links.
    host = np.unique(np.asarray(units.host), return_inverse=True)[1][unit]
    low, high = np.full(count, len(units)), np.full(count, -1)
    np.minimum.at(low, communicator, host)
    np.maximum.at(high, communicator, host)
    leaves = low < high
    unit, communicator = unit[leaves[communicator]], communicator[leaves[communicator]]
    through = [_through(family, unit, communicator, count) for family in families]
    left = slow & leaves
    for _ in range(most):
        best = _best(families, through, normal, left) if left.any() else None
        if best is None:
            return
        family, one = best
        place, met = through[family]
        mine = np.zeros(count, dtype=np.bool_)
        mine[met[place == one]] = True
        yield families[family][one], mine & left
        left &= ~mine


def _through(family: GroupFamily, unit: I64, communicator: I64, count: int) -> tuple[I64, I64]:
    """Which set of a family takes part in which communicator."""
    inside = family.place[unit] >= 0
    key = family.place[unit[inside]] * count + communicator[inside]
    pairs, members = np.unique(key, return_counts=True)
    if family.kind == "rack":  # its uplink is not what its hosts share with each other
        pairs = pairs[members < np.bincount(communicator, minlength=count)[pairs % count]]
    return pairs // count, pairs % count


def _best(
    families: list[GroupFamily], through: list[tuple[I64, I64]], normal: Bool, left: Bool
) -> tuple[int, int] | None:
    """The set that covers most of what is left: (family, set); None where none fits."""
    fits: list[tuple[int, int, int, int]] = []
    for number, (place, met) in enumerate(through):
        size = len(families[number])
        innocent = np.bincount(place[normal[met]], minlength=size) > 0
        covered = np.where(innocent, 0, np.bincount(place[left[met]], minlength=size))
        top = int(covered.max(initial=0))
        fits += [
            (top, int(families[number].size[one]), number, one)
            for one in np.flatnonzero(covered == top).tolist()
            if top
        ]
    if not fits:
        return None
    most = max(fit[0] for fit in fits)
    equal = sorted(fit[1:] for fit in fits if fit[0] == most)
    smallest = [fit for fit in equal if fit[0] == equal[0][0]]
    if len(smallest) > 1:
        together = np.any([families[number][one].units for _, number, one in smallest], axis=0)
        for _, number, one in equal:
            if not (together & ~families[number][one].units).any():
                return number, one
    return smallest[0][1:]
