"""Products of rows that were gathered first: each row of a table is multiplied again and again.

A layer on the neighbours of each node, or on a table's rows for each example, gives the same for
the same row: computed before the gather it is computed once for each row of the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Final

from stepscope.tables.core.profile import Host
from stepscope.tables.hlo.module import ENCLOSES, HloModule, Instruction
from stepscope.tables.traits.inside import at_line
from stepscope.tables.traits.instructions import instruction_of

# As many times as each row of the table is taken, at least.
_LEAST_TIMES: Final = 3
# Between a gather and a product: what changes no row, or joins it with others.
_PASSES: Final = frozenset(
    ("bitcast", "reshape", "transpose", "copy", "convert", "concatenate", "parameter", "select",
     "get-tuple-element", "pad", "slice", *ENCLOSES)
)  # fmt: skip
_DEEPEST: Final = 12


@dataclass(frozen=True, slots=True)
class RowsGathered:
    """Rows that a product is given by a gather.

    Attributes:
        taken: How many.
        of: How many rows the table has.
        at: Where they are gathered, as ``file:line``; "" unknown.
        is_joined: Whether the product is given them beside others, as both ends of an edge.
    """

    taken: int
    of: int
    at: str
    is_joined: bool


def rows_gathered(host: Host, event: int) -> RowsGathered | None:
    """What the product of an event is given of a smaller table; None where it is not."""
    found = instruction_of(host, event)
    if found is None:
        return None
    module, one = found
    for product in _products(module, one, _DEEPEST):
        for operand in module.given(product):
            gather, is_joined = _gather(module, operand, _DEEPEST)
            if gather is not None and (rows := _rows(module, gather, is_joined)) is not None:
                return rows
    return None


def _products(module: HloModule, one: Instruction, depth: int) -> Iterator[Instruction]:
    if one.opcode == "dot":
        yield one
    elif one.opcode in ENCLOSES and depth:
        for computation in module.called(one):
            for inner in computation.instructions:
                yield from _products(module, inner, depth - 1)


def _gather(module: HloModule, one: Instruction, depth: int) -> tuple[Instruction | None, bool]:
    """The gather whose rows an instruction hands on, if any, and whether it joins them."""
    if one.opcode == "gather":
        return one, False
    inner = module.given(one) if depth and one.opcode in _PASSES else []
    for each in inner:
        found, is_joined = _gather(module, each, depth - 1)
        if found is not None:
            return found, is_joined or one.opcode == "concatenate"
    return None, False


def _rows(module: HloModule, gather: Instruction, is_joined: bool) -> RowsGathered | None:
    table = next(iter(module.given(gather)), None)
    if table is None or not table.shape.dimensions:
        return None
    of, whole = table.shape.dimensions[0], prod(table.shape.dimensions)
    taken = prod(gather.shape.dimensions) * of // whole if whole else 0
    if taken < _LEAST_TIMES * of:
        return None
    return RowsGathered(taken, of, at_line(module, gather), is_joined)
