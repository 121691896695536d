"""What reads an instruction's result, in the bodies of fusions and calls as well."""

from __future__ import annotations

from typing import Final

from stepscope.tables.hlo.module import ENCLOSES, HloModule, Instruction

# Of bodies in bodies.
_MOST: Final = 32


def readers(module: HloModule, one: Instruction) -> list[Instruction]:
    """What reads an instruction, into and out of the bodies of fusions and calls; [] unknown."""
    for _ in range(_MOST):  # of bodies in bodies; a damaged program's may go in circles
        body = module.computations.get(one.computation_id)
        if body is None or body.root_id != one.id:
            break
        around = module.enclosing.get(body.id)
        if around is None or module.users.get(one.id):
            return []
        one = around
    users = (module.by_id[id_] for id_ in module.users.get(one.id, ()))
    return [each for user in users for each in _entered(module, user, one)]


def _entered(module: HloModule, user: Instruction, one: Instruction) -> list[Instruction]:
    """The parameters of a fusion's body that stand for what it is given; itself, if no fusion."""
    if user.opcode not in ENCLOSES:
        return [user]
    numbers = [at for at, id_ in enumerate(user.operand_ids) if id_ == one.id]
    return [
        each
        for body in module.called(user)
        for each in body.instructions
        if each.opcode == "parameter" and each.parameter_number in numbers
    ]
