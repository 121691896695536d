"""Programs of which one row of what they compute for all is read: decoding without a cache.

``logits[:, position]`` of a whole sequence reads one position of what each layer has computed for
all of them. What the call before has computed of the others is the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Final

from stepscope.tables.core.profile import Host
from stepscope.tables.hlo.module import HloModule, Instruction
from stepscope.tables.hlo.modules import programs_with_gradients
from stepscope.tables.traits.inside import at_line
from stepscope.tables.traits.instructions import instruction_of

# One of fewer rows is little to spare.
_FEWEST: Final = 8
# Between a product and what reads a row of it: a bias, a change of type or shape.
_PASSES: Final = frozenset(
    ("add", "bitcast", "reshape", "transpose", "copy", "convert", "multiply", "fusion", "parameter",
     "get-tuple-element")
)  # fmt: skip
_LONGEST: Final = 12


@dataclass(frozen=True, slots=True)
class RowRead:
    """A row that is read.

    Attributes:
        of: How many rows there are.
        at: Where in the program, as ``file:line``; "" unknown.
    """

    of: int
    at: str


def row_read(host: Host, event: int) -> RowRead | None:
    """The row that the program of an event reads of a product; None where it reads all."""
    found = instruction_of(host, event)
    if found is None or found[0].name in programs_with_gradients(host):
        return None
    module = found[0]
    for one in module.instructions.values():
        of = _rows(module, one)
        if of >= _FEWEST and _is_of_product(module, one):
            return RowRead(of, at_line(module, one))
    return None


def _rows(module: HloModule, one: Instruction) -> int:
    """Of how many rows an instruction reads one by an index that the program is given; 0 else."""
    if one.opcode not in ("dynamic-slice", "gather"):
        return 0
    source = next(module.operands(one), None)
    if source is None:
        return 0
    whole, read = prod(source.shape.dimensions), prod(one.shape.dimensions)
    of = whole // read if read else 0
    return of if of in source.shape.dimensions and of * read == whole else 0


def _is_of_product(module: HloModule, one: Instruction) -> bool:
    """Whether it reads what a product has made, and nothing else does."""
    at: Instruction | None = next(module.operands(one), None)
    for _ in range(_LONGEST):
        if at is None:
            return False
        if at.opcode == "dot":
            return True
        if at.opcode not in _PASSES:
            return False
        at = _larger(module, at)
    return False


def _larger(module: HloModule, one: Instruction) -> Instruction | None:
    """What an instruction works on: the operand that is as large, not a bias."""
    if one.opcode in ("fusion", "parameter"):
        return next(iter(module.given(one)), None)
    size = prod(one.shape.dimensions)
    return next((each for each in module.given(one) if prod(each.shape.dimensions) == size), None)
