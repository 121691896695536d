"""Whose place an instruction has that the compiler made, or rewrote.

XLA rewrites products for the layouts that its libraries take, and the new ones have neither the
op's name nor its line. What rearranges their results and operands still has them. A copy is made
for what reads it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from stepscope.tables.hlo.module import HloModule, Instruction
from stepscope.tables.hlo.source import source_frames

#: What XLA multiplies with.
PRODUCTS: Final = ("dot", "convolution")
_COPY: Final = "copy"
_REARRANGES: Final = ("bitcast", "reshape", "transpose", "copy", "slice", "pad", "reverse")
# A product has few such instructions around it.
_DEEPEST: Final = 8


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
    """What tells where an instruction comes from: mostly itself."""
    is_copy = one.opcode == _COPY or is_layout_fusion(one.name.partition(".")[0])
    is_made = is_copy or one.opcode in PRODUCTS or product_within(module, one) is not None
    if not is_made or one.op_name or _is_placed(module, one):
        return one
    if is_copy:
        return next((near for near in readers(module, one) if _is_placed(module, near)), one)
    return _placed(module, one, 1, 0, {one.id}) or _placed(module, one, -1, 0, {one.id}) or one


def _is_placed(module: HloModule, one: Instruction) -> bool:
    return bool(one.source or source_frames(module, one))


def _placed(
    module: HloModule, one: Instruction, side: int, depth: int, seen: set[int]
) -> Instruction | None:
    """The nearest on one side that has a place, with nothing but rearranging on the way.

    ``seen`` are those that were asked, each once: ways between them may be more than can be gone.
    """
    for near in readers(module, one) if side > 0 else _read(module, one):
        if near.opcode not in _REARRANGES or depth >= _DEEPEST or near.id in seen:
            continue
        seen.add(near.id)
        found = near if _is_placed(module, near) else _placed(module, near, side, depth + 1, seen)
        if found is not None:
            return found
    return None


def readers(module: HloModule, one: Instruction) -> Iterator[Instruction]:
    """What reads an instruction, within fusions as well."""
    for id_ in module.users.get(one.id, ()):
        user = module.by_id[id_]
        if user.opcode != "fusion":
            yield user
            continue
        for body in module.called(user):
            for inner in body.instructions:
                if inner.opcode == "parameter" and _operand(user, inner) == one.id:
                    yield from (module.by_id[at] for at in module.users.get(inner.id, ()))


def _operand(fusion: Instruction, parameter: Instruction) -> int:
    number = parameter.parameter_number
    return fusion.operand_ids[number] if number < len(fusion.operand_ids) else -1


def _read(module: HloModule, one: Instruction) -> Iterator[Instruction]:
    """What an instruction reads; of a fusion what it ends in."""
    for operand in module.operands(one):
        if operand.opcode == "fusion":
            yield from (body.root for body in module.called(operand))
        else:
            yield operand
