"""Where a unit is in its job: axes of parallelism, inferred from which units meet.

Every family of equally large, disjoint communicators that covers all units is an axis; the place
within its communicator, by rank, is the unit's coordinate there. Pairs that pass messages on are
the stages of a pipeline. The program's name for a group labels the axis, if it has one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import I64, Bool
from stepscope.pod.meetings import Meetings, Units
from stepscope.pod.rows import runs
from stepscope.records import dataclass

F64 = NDArray[np.float64]

# Smaller groups of hosts with a common name are not a rack, larger ones are the job.
_LEAST_IN_RACK: Final = 2
STAGE: Final = "stage"
_NUMBER: Final = re.compile(r"[-_.]?[a-z]{0,20}\d{1,20}$", re.I)


@dataclass(frozen=True, eq=False, slots=True)
class MeshAxis:
    """One axis of parallelism.

    Attributes:
        name: "stage", what the program calls it, or "axis 1".
        size: How many coordinates it has.
        place: By unit, its coordinate; -1 where it is in none.
    """

    name: str
    size: int
    place: I64


@dataclass(frozen=True, eq=False, slots=True)
class Set:
    """Units that may be slow together.

    Attributes:
        kind: "device", "host", "rack", "local" (the same place on every host), "stage" or "axis".
        name: What to call it: "node17", "GPU:3 of node17", "stage 3".
        units: Mask over units.
    """

    kind: str
    name: str
    units: Bool


@dataclass(frozen=True, eq=False, slots=True)
class GroupFamily:
    """Sets of one kind, none of which share a unit.

    Attributes:
        kind: As of ``Set``.
        names: Of the sets.
        place: By unit, the set it is in; -1 for none.
        size: By set, how many units it has.
    """

    kind: str
    names: tuple[str, ...]
    place: I64
    size: I64

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, one: int) -> Set:
        return Set(self.kind, self.names[one], self.place == one)

    def means(self, values: F64) -> F64:
        """By set, the mean of its units' values: float64[units, …] → float64[sets, …]."""
        inside = self.place >= 0
        total = np.zeros((len(self), *values.shape[1:]))
        np.add.at(total, self.place[inside], values[inside])
        shape = (len(self),) + (1,) * (values.ndim - 1)
        found: F64 = total / np.maximum(self.size, 1).reshape(shape)
        return found


def axes_of(found: Meetings, units: Units) -> list[MeshAxis]:
    """The axes of a job, the largest number of coordinates last."""
    members = _members(found, units)
    families: dict[tuple[int, str, bytes], list[I64]] = defaultdict(list)
    pairs: list[I64] = []
    seen: set[tuple[int, ...]] = set()
    for communicator, mine in members.items():
        meet = found.communicators[communicator]
        if meet.kind == "send_recv" and len(mine) == 2:
            pairs.append(mine)
            continue
        if (key := tuple(mine.tolist())) not in seen:
            seen.add(key)
            # The groups of one axis of a mesh repeat the same distances.
            apart = np.diff(mine).tobytes()
            families[len(mine), meet.label, apart].append(mine)
    axes = [_stages(pairs, len(units))] if pairs else []
    for (size, label, _), groups in sorted(families.items(), key=lambda one: one[0]):
        place = np.full(len(units), -1, dtype=np.int64)
        together = np.concatenate(groups)
        if size < 2 or len(groups) < 2 or len(np.unique(together)) < len(together):
            continue
        if len(together) < len(units):
            continue
        for group in groups:
            place[group] = np.arange(size)
        name = label if label and label != "undefined" else f"axis {len(axes) + 1}"
        axes.append(MeshAxis(name, size, place))
    return [axis for axis in axes if axis.size > 1]


def stages_of(axes: list[MeshAxis], units: int) -> I64:
    """By unit, its stage in the pipeline; -1 without one."""
    found = next((axis.place for axis in axes if axis.name == STAGE), None)
    return np.full(units, -1, dtype=np.int64) if found is None else found


def _members(found: Meetings, units: Units) -> dict[int, I64]:
    """The units of each communicator, by rank."""
    unit, communicator = found.memberships()
    order = np.lexsort((unit, units.rank[unit], communicator))
    unit, communicator = unit[order], communicator[order]
    begin = runs(communicator)
    parts = np.split(unit, begin[1:])
    return dict(zip(communicator[begin].tolist(), parts, strict=True)) if len(begin) else {}


def _stages(pairs: list[I64], count: int) -> MeshAxis:
    """Chains of units that pass messages on: a unit's stage is its place in its chain."""
    chain = np.arange(count)
    one, other = np.asarray(pairs).T
    for _ in range(count):
        low = np.minimum(chain[one], chain[other])
        before = chain.copy()
        np.minimum.at(chain, one, low)
        np.minimum.at(chain, other, low)
        if (chain == before).all():
            break
    place = np.full(count, -1, dtype=np.int64)
    used = np.unique(np.concatenate([one, other]))
    order = used[np.lexsort((used, chain[used]))]
    begin = np.flatnonzero(np.diff(chain[order], prepend=-1))
    size = np.diff(np.append(begin, len(order)))
    place[order] = np.arange(len(order)) - np.repeat(begin, size)
    return MeshAxis(STAGE, int(size.max()), place)


def families_of(units: Units, axes: list[MeshAxis]) -> list[GroupFamily]:
    """All sets of units that may share what makes them slow, the smallest first.

    Racks are guessed from the names of hosts.
    """
    names, host = np.unique(np.asarray(units.host), return_inverse=True)
    alone = len(names) == len(units)
    found = []
    if not alone:
        devices = [f"{units.name[one]} of {units.host[one]}" for one in range(len(units))]
        found.append(_family("device", devices, np.arange(len(units))))
    # Of one process a host, the process is the device.
    found.append(_family("host", names.tolist(), host))
    found += _racks(units, names, host)
    if not alone and len(names) > 1:
        count = int(units.local.max()) + 1
        locals_ = [f"device {local} of every host" for local in range(count)]
        found.append(_family("local", locals_, units.local))
    for axis in axes:
        kind = "stage" if axis.name == STAGE else "axis"
        coordinates = [f"{axis.name} {one}" for one in range(axis.size)]
        found.append(_family(kind, coordinates, axis.place))
    return found


def _racks(units: Units, hosts: NDArray[np.str_], host: I64) -> list[GroupFamily]:
    """Hosts whose names differ only in their last number."""
    prefix = np.asarray([_NUMBER.sub("", name) for name in hosts.tolist()])
    racks, of_host, count = np.unique(prefix, return_inverse=True, return_counts=True)
    is_rack = (count >= _LEAST_IN_RACK) & (count < len(hosts)) & (racks != "")
    if not is_rack.any():
        return []
    number = np.where(is_rack, np.cumsum(is_rack) - 1, -1)
    names = [f"{rack}* (a guess, by names)" for rack in racks[is_rack].tolist()]
    return [_family("rack", names, number[of_host][host])]


def _family(kind: str, names: list[str], place: I64) -> GroupFamily:
    size = np.bincount(place[place >= 0], minlength=len(names))
    return GroupFamily(kind, tuple(names), place.astype(np.int64), size)
