"""Backward passes that JAX runs once for each output: a Jacobian is made row by row.

JAX names an op after the transformations that it is made by, the outermost first. ``jacrev`` maps
the backward pass over the outputs, and the forward pass not: ``vmap(transpose(jvp()))`` beside
``jvp()``. Gradients for each example of a batch map both.
"""

from __future__ import annotations

from typing import Final

from stepscope.tables.core.profile import Host
from stepscope.tables.hlo.module import HloModule
from stepscope.tables.traits.instructions import instruction_of

_JVP: Final = "jvp("
_BACKWARD: Final = "transpose("
_MAP: Final = "vmap("
# Of a name so much is looked at: a stranger's may be long.
_LONGEST: Final = 500


def is_jacobian(host: Host, event: int) -> bool:
    """Whether the op of an event is of a backward pass that is mapped over outputs."""
    found = instruction_of(host, event)
    if found is None:
        return False
    module, instruction = found
    is_backward, mapped = _maps(instruction.op_name)
    return is_backward and mapped > _of_forward(module)


def _of_forward(module: HloModule) -> int:
    """How often the forward pass of a program is mapped at most."""
    found = (_maps(one.op_name) for one in module.instructions.values())
    return max((mapped for is_backward, mapped in found if not is_backward), default=0)


def _maps(name: str) -> tuple[bool, int]:
    """Whether the innermost derivative of a name is a backward pass, and how often it is mapped."""
    before, found, _ = name[:_LONGEST].rpartition(_JVP)
    if not found:
        return False, 0
    is_backward = before.endswith(_BACKWARD)
    before, mapped = before.removesuffix(_BACKWARD), 0
    while before.endswith(_MAP):
        before, mapped = before.removesuffix(_MAP), mapped + 1
    return is_backward, mapped
