"""The one walk along the data of an HLO program: forwards to readers, backwards to operands.

It also finds whose place an instruction has that the compiler made, or rewrote. XLA rewrites
products for the layouts that its libraries take, and the new ones have neither the op's name nor
its line. What rearranges their results and operands still has them. A copy is made for what reads
it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Final

from stepscope.tables.core.op_name import is_layout_fusion
from stepscope.tables.hlo.source import source_frames

if TYPE_CHECKING:
    from stepscope.tables.hlo.module import HloModule, Instruction


#: What XLA multiplies with.
PRODUCTS: Final = ("dot", "convolution")
_COPY: Final = "copy"
_REARRANGES: Final = ("bitcast", "reshape", "transpose", "copy", "slice", "pad", "reverse")
# Rearranged data lies no farther, in instructions.
_FARTHEST: Final = 8


def reached(
    module: HloModule, start: Instruction, *, forward: bool, through: Collection[str]
) -> Iterator[Instruction]:
    """Yield the instructions that data comes from or goes to, the nearest first, each once.

    Args:
        module: The program.
        start: Where the walk begins; it is not yielded.
        forward: Whether to walk to readers, else to operands.
        through: Opcodes that the walk goes on from; others end it.
    """
    step = readers if forward else _operands
    seen, front = {start.id}, [start]
    for _distance in range(_FARTHEST):
        near = {one.id: one for here in front for one in step(module, here) if one.id not in seen}
        seen |= near.keys()
        yield from near.values()
        front = [one for one in near.values() if one.opcode in through]


def readers(module: HloModule, one: Instruction) -> Iterator[Instruction]:
    """Yield what reads an instruction, within fusions as well."""
    for id_ in module.users.get(one.id, ()):
        user = module.by_id[id_]
        if user.opcode != "fusion":
            yield user
            continue
        for body in module.called(user):
            for inner in body.instructions:
                if inner.opcode == "parameter" and _operand_id(user, inner) == one.id:
                    yield from (module.by_id[at] for at in module.users.get(inner.id, ()))


def _operand_id(fusion: Instruction, parameter: Instruction) -> int:
    number = parameter.parameter_number
    return fusion.operand_ids[number] if number < len(fusion.operand_ids) else -1


def _operands(module: HloModule, one: Instruction) -> Iterator[Instruction]:
    """Yield what an instruction reads; of a fusion what it ends in."""
    for operand in module.operands(one):
        if operand.opcode == "fusion":
            yield from (body.root for body in module.called(operand))
        else:
            yield operand


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
