"""Copies of a program's arguments that XLA makes to write into them.

A function of JAX's leaves its arguments as they are. One that gives back an argument with a few
rows changed therefore copies all of it first, unless the caller gave it away (``donate_argnums``).
"""

from __future__ import annotations

from typing import Final

from stepscope.tables.core.profile import Host
from stepscope.tables.hlo.module import HloModule, Instruction
from stepscope.tables.hlo.rewritten import readers
from stepscope.tables.traits.instructions import instruction_of

# What changes a part of its first operand, in the place of that.
_WRITES: Final = ("dynamic-update-slice", "scatter")
_SAME: Final = ("get-tuple-element", "bitcast")
# An argument lies in few tuples.
_DEEPEST: Final = 8


def writer_into_argument(host: Host, event: int) -> str:
    """What writes into the copy of an argument that an event made; "" where it made none."""
    found = instruction_of(host, event)
    if found is None or found[1].opcode != "copy":
        return ""
    module, copy = found
    if copy.computation_id != module.entry_id or not _is_argument(module, copy):
        return ""
    return next((one.opcode for one in readers(module, copy) if one.opcode in _WRITES), "")


def _is_argument(module: HloModule, copy: Instruction) -> bool:
    one = copy
    for _ in range(_DEEPEST):
        one = next(module.operands(one), one)
        if one.opcode not in _SAME:
            break
    return one.opcode == "parameter"
