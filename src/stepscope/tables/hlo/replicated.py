"""Programs of several devices of which each computes the same.

Where all that a program is given is whole on each device and nothing is exchanged, each of them
does all of the work: a batch that nobody divided.
"""

from __future__ import annotations

from typing import Final

from stepscope.errors import DecodeError
from stepscope.tables.hlo.module import HloModule, Instruction
from stepscope.tables.hlo.replica_groups import COLLECTIVES
from stepscope.wire.read import values

# Of DeviceAssignmentProto, of HloInstructionProto, and of OpSharding, whose type is 0 where a value
# is whole on each device.
_REPLICAS, _PARTITIONS, _SHARDING, _TYPE = 1, 2, 40, 1
# What tells devices apart.
_OWN: Final = ("partition-id", "replica-id", *COLLECTIVES)


def computes_the_same(module: HloModule) -> int:
    """How many devices compute the same; 0 where they do not, or where it is not recorded."""
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
