"""Whose place an instruction has that the compiler made, or rewrote.

XLA rewrites products for the layouts that its libraries take, and the new ones have neither the
op's name nor its line. What rearranges their results and operands still has them. A copy is made
for what reads it.
"""

from __future__ import annotations

import re
from typing import Final

from stepscope.tables.hlo.dataflow import reached, readers
from stepscope.tables.hlo.module import HloModule, Instruction
from stepscope.tables.hlo.source import source_frames

#: What XLA multiplies with.
PRODUCTS: Final = ("dot", "convolution")
_COPY: Final = "copy"
_REARRANGES: Final = ("bitcast", "reshape", "transpose", "copy", "slice", "pad", "reverse")


# What XLA calls fusions that do nothing else but change a layout.
_LAYOUTS: Final = re.compile(r"(?:(?:transpose|copy|bitcast)_)+fusion")


def is_layout_fusion(name: str) -> bool:
    """Whether an instruction, named without its number, only copies into another layout."""
    return _LAYOUTS.fullmatch(name) is not None


def product_within(module: HloModule, one: Instruction) -> Instruction | None:
    """The product that a fusion is around, as XLA makes them for its libraries; None of others."""
    if one.opcode != "fusion":
        return None
    root = next((body.root for body in module.called(one)), None)
    return root if root is not None and root.opcode in PRODUCTS else None


def before_rewriting(module: HloModule, one: Instruction) -> Instruction:
    """Return the instruction that names another's origin: mostly the same."""
    is_copy = one.opcode == _COPY or is_layout_fusion(one.name.partition(".")[0])
    is_made = is_copy or one.opcode in PRODUCTS or product_within(module, one) is not None
    if not is_made or one.op_name or _is_placed(module, one):
        return one
    if is_copy:
        return next((near for near in readers(module, one) if _is_placed(module, near)), one)
    return _placed(module, one, forward=True) or _placed(module, one, forward=False) or one


def _is_placed(module: HloModule, one: Instruction) -> bool:
    return bool(one.source or source_frames(module, one))


def _placed(module: HloModule, one: Instruction, *, forward: bool) -> Instruction | None:
    """Return the nearest on one side that has a place, with only rearranging on the way."""
    near = reached(module, one, forward=forward, through=_REARRANGES)
    return next((at for at in near if at.opcode in _REARRANGES and _is_placed(module, at)), None)
