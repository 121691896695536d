"""Which devices meet in a collective that XLA compiled, from its instruction.

Field numbers and the four ways to read the groups are those of openxla/xla (xla/service/hlo.proto,
xla/xla_data.proto). Ids are places in the program's device assignment, flattened: replica ×
partitions + partition.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Final

import numpy as np

from stepscope.errors import DecodeError
from stepscope.records import dataclass
from stepscope.tables.hlo.module import HloModule, Instruction, ints_of
from stepscope.wire.read import values

_CHANNEL, _GROUPS, _PAIRS, _GLOBAL, _LIST = 26, 49, 52, 71, 87
# Of CollectiveDeviceListProto and IotaReplicaGroupListProto.
_LISTED, _IOTA = 1, 2
_COUNT, _SIZE, _DIMS, _PERMUTATION = 1, 2, 3, 4
# A program for more devices than this is damaged.
_MOST: Final = 1 << 20
#: What their opcodes begin with.
COLLECTIVES: Final = (
    "all-reduce",
    "all-gather",
    "all-to-all",
    "reduce-scatter",
    "collective-broadcast",
    "collective-permute",
    "ragged-all-to-all",
)
# Groups of these are of partitions where a channel is given without global ids.
_OF_PARTITIONS: Final = ("all-to-all", "collective-permute", "ragged-all-to-all")

# Of DeviceAssignmentProto, of HloInstructionProto, and of OpSharding, whose type is 0 where a value
# is whole on each device.
_REPLICAS, _PARTITIONS, _SHARDING, _TYPE = 1, 2, 40, 1
# What tells devices apart.
_OWN: Final = ("partition-id", "replica-id", *COLLECTIVES)


@dataclass(frozen=True, slots=True)
class HloCollective:
    """A collective of a program.

    Attributes:
        place: The how-manieth of the program's collectives it is, from 0.
        of: How many collectives the program has.
        opcode: What it does, such as "all-reduce-start".
        channel: Id of its channel; 0 for none.
        groups: Who meets; the connected ones of pairs that pass data on. Empty: all devices.
    """

    place: int
    of: int
    opcode: str
    channel: int
    groups: tuple[tuple[int, ...], ...]

    @property
    def devices(self) -> int:
        """How many devices take part in any group; 0 where all do."""
        return sum(map(len, self.groups))


def collectives_of(module: HloModule) -> dict[str, HloCollective]:
    """By name of the op, its collective; ops that start, finish or wrap one have it, too."""
    own = {one.id: one for one in module.by_id.values() if one.opcode.startswith(COLLECTIVES)}
    told = [one for one in own.values() if not one.opcode.endswith("-done")]
    place = {one.id: at for at, one in enumerate(sorted(told, key=lambda one: one.id))}
    replicas, partitions = _assigned(module)
    found: dict[int, HloCollective] = {}
    for one in told:
        channel = _number(one, _CHANNEL)
        groups = _groups(one, channel, replicas, partitions)
        found[one.id] = HloCollective(place[one.id], len(told), one.opcode, channel, groups)
    by_name = {module.by_id[id_].name: one for id_, one in found.items()}
    # Finished first by what started it, then what wraps either.
    for one in module.by_id.values():
        if one.name not in by_name and (inside := _inside(module, one, found)) is not None:
            by_name[one.name] = inside
    return by_name


def _inside(
    module: HloModule, one: Instruction, found: dict[int, HloCollective]
) -> HloCollective | None:
    """The collective that an op finishes or wraps."""
    if one.opcode.endswith(("-done", "-update")):
        for start in module.operands(one):
            inside = found.get(start.id) or _wrapped(module, start, found)
            if inside is not None:
                return inside
    return _wrapped(module, one, found) if one.opcode in ("async-start", "fusion") else None


def _wrapped(
    module: HloModule, one: Instruction, found: dict[int, HloCollective]
) -> HloCollective | None:
    called = (each for body in module.called(one) for each in body.instructions)
    return next((found[each.id] for each in called if each.id in found), None)


def _number(one: Instruction, field: int) -> int:
    found = one.ints(field)
    return found[-1] if found and 0 <= found[-1] < 1 << 62 else 0


def _assigned(module: HloModule) -> tuple[int, int]:
    """How many replicas and partitions the program has; 0 where it does not say."""
    try:
        said = {n: value for n, value in values(module.device_assignment) if isinstance(value, int)}
    except DecodeError:
        return 0, 0
    replicas, partitions = said.get(1, 0), said.get(2, 0)
    return (replicas, partitions) if 0 < replicas * partitions <= _MOST else (0, 0)


def _groups(
    one: Instruction, channel: int, replicas: int, partitions: int
) -> tuple[tuple[int, ...], ...]:
    try:
        said = [*_listed(one)] or _connected([*_pairs(one)])
    except (DecodeError, ValueError):
        return ()
    if not said or sum(map(len, said)) > _MOST:
        return ()
    if (channel and _number(one, _GLOBAL)) or not replicas:
        return tuple(said)
    if channel and one.opcode.startswith(_OF_PARTITIONS):
        rows = [[r * partitions + p for p in group] for group in said for r in range(replicas)]
    elif channel:  # replicas, in all partitions together
        rows = [[r * partitions + p for r in group for p in range(partitions)] for group in said]
    else:  # replicas, each partition by itself
        rows = [[r * partitions + p for r in group] for group in said for p in range(partitions)]
    return tuple(map(tuple, rows)) if sum(map(len, rows)) <= _MOST else ()


def _listed(one: Instruction) -> Iterator[tuple[int, ...]]:
    """Replica groups, written out or as a transposed range of numbers."""
    told = [value for value in one.attributes.get(_LIST, ()) if isinstance(value, bytes)]
    for listed in told:
        for number, value in values(listed):
            if number == _LISTED and isinstance(value, bytes):
                yield _ids(value)
            elif number == _IOTA and isinstance(value, bytes):
                yield from _parse_range(value)
    if not told:
        for group in one.attributes.get(_GROUPS, ()):
            if isinstance(group, bytes):
                yield _ids(group)


def _ids(group: bytes) -> tuple[int, ...]:
    found = ints_of([value for number, value in values(group) if number == 1])
    if any(not 0 <= one < _MOST for one in found):
        raise ValueError("a device beyond any program's")
    return found


def _parse_range(data: bytes) -> Iterator[tuple[int, ...]]:
    """[groups, size] <= [dims] T(permutation): the numbers from 0 on, reshaped and transposed."""
    said: dict[int, list[int | bytes]] = {}
    for number, value in values(data):
        said.setdefault(number, []).append(value)
    count, size = (ints_of(said.get(field, [])) for field in (_COUNT, _SIZE))
    dims, permutation = (ints_of(said.get(field, [])) for field in (_DIMS, _PERMUTATION))
    whole = prod(dims)
    fits = count and size and 0 < whole <= _MOST and whole == count[-1] * size[-1]
    if not fits or sorted(permutation or range(len(dims))) != [*range(len(dims))]:
        raise ValueError("no list of groups")
    numbers = np.arange(whole).reshape(dims).transpose(permutation or None)
    yield from map(tuple, numbers.reshape(count[-1], size[-1]).tolist())


def _pairs(one: Instruction) -> Iterator[tuple[int, int]]:
    for pair in one.attributes.get(_PAIRS, ()):
        if isinstance(pair, bytes):
            ends = {number: value for number, value in values(pair) if isinstance(value, int)}
            source, target = ends.get(1, 0), ends.get(2, 0)
            if not (0 <= source < _MOST and 0 <= target < _MOST):
                raise ValueError("a device beyond any program's")
            yield source, target


def _connected(pairs: list[tuple[int, int]]) -> list[tuple[int, ...]]:
    """Devices that pass data on to one another, directly or through others."""
    first: dict[int, int] = {}

    def root(one: int) -> int:
        while first.setdefault(one, one) != one:
            first[one] = first[first[one]]
            one = first[one]
        return one

    for source, target in pairs:
        low, high = sorted((root(source), root(target)))
        first[high] = low
    groups: dict[int, list[int]] = {}
    for one in sorted(first):
        groups.setdefault(root(one), []).append(one)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def computes_the_same(module: HloModule) -> int:
    """How many devices compute the same; 0 where they do not, or where it is not recorded.

    Where all that a program is given is whole on each device and nothing is exchanged, each of them
    does all of the work: a batch that nobody divided.
    """
    entry = module.entry
    if entry is None:
        return 0
    try:
        counts = {n: v for n, v in values(module.device_assignment) if isinstance(v, int)}
        given = [one for one in entry.instructions if one.opcode == "parameter"]
        is_same = bool(given) and all(map(_is_whole, given))
    except DecodeError:
        return 0
    devices = counts.get(_PARTITIONS, 1)
    if counts.get(_REPLICAS, 1) != 1 or devices < 2 or not is_same:
        return 0
    is_alone = all(not one.opcode.startswith(_OWN) for one in module.by_id.values())
    return devices if is_alone else 0


def _is_whole(parameter: Instruction) -> bool:
    said = parameter.attributes.get(_SHARDING)
    if not said or not isinstance(said[0], bytes):
        return False
    return all(value == 0 for number, value in values(said[0]) if number == _TYPE)
