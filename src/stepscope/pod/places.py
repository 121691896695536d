"""Where a unit stands in its job: axes of parallelism, told from who meets whom.

Every family of equally large, disjoint communicators that covers all units is an axis; the place
within its communicator, by rank, is the unit's coordinate there. Pairs that pass messages on are
the stages of a pipeline. The program's name for a group labels the axis, if it has one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from stepscope.columns.space import I64, Bool
from stepscope.pod.meetings import Meetings, Units

# Smaller groups of hosts with a common name are no rack, larger ones are the job.
_LEAST_IN_RACK: Final = 2
STAGE: Final = "stage"
_NUMBER: Final = re.compile(r"[-_.]?[a-z]*\d+$", re.I)


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of parallelism.

    Attributes:
        name: "stage", what the program calls it, or "axis 1".
        size: How many coordinates it has.
        place: By unit, its coordinate; -1 where it is in none.
    """

    name: str
    size: int
    place: I64


@dataclass(frozen=True, slots=True)
class Set:
    """Units that may be slow together.

    Attributes:
        kind: "device", "host", "rack", "local" (the same place on every host), "stage"
            or "axis".
        name: What to call it: "node17", "GPU:3 of node17", "stage 3".
        units: Mask over units.
    """

    kind: str
    name: str
    units: Bool


def axes_of(found: Meetings, units: Units) -> list[Axis]:
    """The axes of a job, the largest number of coordinates last."""
    members = _members(found, units)
    families: dict[tuple[int, str, bytes], list[I64]] = defaultdict(list)
    pairs: list[I64] = []
    seen: set[tuple[int, ...]] = set()
    for communicator, mine in members.items():
        if found.kinds[communicator] == "send_recv" and len(mine) == 2:
            pairs.append(mine)
            continue
        if (key := tuple(mine.tolist())) not in seen:
            seen.add(key)
            # The groups of one axis of a mesh repeat the same distances.
            apart = np.diff(mine).tobytes()
            families[len(mine), found.labels[communicator], apart].append(mine)
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
        axes.append(Axis(name, size, place))
    return [axis for axis in axes if axis.size > 1]


def stages_of(axes: list[Axis], units: int) -> I64:
    """By unit, its stage in the pipeline; -1 without one."""
    found = next((axis.place for axis in axes if axis.name == STAGE), None)
    return np.full(units, -1, dtype=np.int64) if found is None else found


def _members(found: Meetings, units: Units) -> dict[int, I64]:
    """The units of each communicator, by rank."""
    table = pl.DataFrame({"communicator": found.communicator, "unit": found.unit}).unique()
    order = np.lexsort((np.arange(len(units)), units.rank))
    by_rank = np.empty(len(units), dtype=np.int64)
    by_rank[order] = np.arange(len(units))
    grouped = table.sort("communicator", "unit").group_by("communicator", maintain_order=True)
    parts = {key: rows["unit"].to_numpy() for (key,), rows in grouped}
    return {int(key): mine[np.argsort(by_rank[mine])] for key, mine in parts.items()}


def _stages(pairs: list[I64], count: int) -> Axis:
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
    return Axis(STAGE, int(size.max()), place)


def sets_of(units: Units, axes: list[Axis]) -> list[Set]:
    """All sets of units that may share what makes them slow, the smallest first.

    Racks are guessed from the names of hosts.
    """
    host = np.unique(np.asarray(units.host), return_inverse=True)
    found = [
        Set("device", _unit_name(units, one), np.arange(len(units)) == one)
        for one in range(len(units))
    ]
    sizes = np.bincount(host[1])
    if (sizes > 1).any():
        names = host[0].tolist()
        found += [Set("host", names[one], host[1] == one) for one in range(len(names))]
    else:
        # One process a host: the process is the device.
        found = [Set("host", units.host[one], part.units) for one, part in enumerate(found)]
    racks = np.asarray([_NUMBER.sub("", name) for name in units.host])
    for rack in np.unique(racks).tolist():
        mine = racks == rack
        hosts = len(np.unique(host[1][mine]))
        if rack and _LEAST_IN_RACK <= hosts < len(host[0]):
            found.append(Set("rack", f"{rack}* (a guess, by names)", mine))
    if len(host[0]) > 1:
        for local in range(int(units.local.max()) + 1 if (sizes > 1).any() else 0):
            name = f"device {local} of every host"
            found.append(Set("local", name, units.local == local))
    for axis in axes:
        for one in range(axis.size):
            kind = "stage" if axis.name == STAGE else "axis"
            found.append(Set(kind, f"{axis.name} {one}", axis.place == one))
    return found


def _unit_name(units: Units, one: int) -> str:
    return f"{units.name[one]} of {units.host[one]}"
