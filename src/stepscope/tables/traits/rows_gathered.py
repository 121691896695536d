"""Products of rows that were gathered first: each row of a table is multiplied again and again.

A layer on the neighbours of each node, or on a table's rows for each example, gives the same for
the same row: computed before the gather it is computed once for each row of the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Final

from stepscope.tables.core.profile import Host
from stepscope.tables.hlo.module import ENCLOSES, HloModule, Instruction
from stepscope.tables.traits.inside import at_line
from stepscope.tables.traits.instructions import instruction_of
from stepscope.tables.traits.product_order import products_of

# As many times as each row of the table is taken, at least.
_LEAST_TIMES: Final = 3
# Between a gather and a product: what changes no row, or joins it with others.
_PASSES: Final = frozenset(
    ("bitcast", "reshape", "transpose", "copy", "convert", "concatenate", "parameter", "select",
     "get-tuple-element", "pad", "slice", *ENCLOSES)
)  # fmt: skip
# So many instructions between the two are looked at.
_MOST: Final = 32


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
    for product in products_of(module, one):
        gather, is_joined = _gather(module, product)
        if gather is not None and (rows := _rows(module, gather, is_joined)) is not None:
            return rows
    return None


def _gather(module: HloModule, product: Instruction) -> tuple[Instruction | None, bool]:
    """The gather whose rows a product is given, if any, and whether they were joined with others.

    A stranger's program may go in circles: each instruction is looked at once, and not many are.
    """
    open_ = [(each, False) for each in module.given(product)]
    seen: set[int] = set()
    while open_ and len(seen) < _MOST:
        one, is_joined = open_.pop(0)
        if one.id in seen:
            continue
        seen.add(one.id)
        if one.opcode == "gather":
            return one, is_joined
        if one.opcode in _PASSES:
            joins = is_joined or one.opcode == "concatenate"
            open_ += [(each, joins) for each in module.given(one)[:_MOST]]
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
