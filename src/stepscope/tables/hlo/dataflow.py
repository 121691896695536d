"""The one walk along the data of an HLO program: forwards to readers, backwards to operands."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from stepscope.tables.hlo.module import HloModule, Instruction

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
