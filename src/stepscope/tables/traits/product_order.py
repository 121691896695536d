"""Products of products that another order makes cheaper: (A B) C is A (B C).

A matrix times itself before it meets a narrow one, a graph's matrix times rows that the layer's
weights had widened: which two are multiplied first decides how many multiplications it takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from math import prod
from typing import Final

from stepscope.errors import DecodeError
from stepscope.tables.core.profile import Host
from stepscope.tables.hlo.module import ENCLOSES, HloModule, Instruction, fields_of, ints_of
from stepscope.tables.traits.inside import at_line
from stepscope.tables.traits.instructions import instruction_of
from stepscope.tables.traits.readers import readers

# So many times fewer multiplications are worth a change, after what XLA makes of smaller products.
_LEAST_TIMES: Final = 2.0
# What changes no value between two products.
_PASSES: Final = frozenset(("bitcast", "reshape", "transpose", "copy", "convert", "parameter"))
# So many instructions between products, and so many products of a fusion, are looked at.
_MOST: Final = 32
# Of xla.HloInstructionProto, and of xla.DotDimensionNumbers.
_NUMBERS: Final = 30
_CONTRACTED: Final = 1
_BATCH: Final = 3


@dataclass(frozen=True, slots=True)
class ProductOrder:
    """A product of a product, in the dearer order.

    Attributes:
        multiplications: How many it takes.
        times: How many times as many multiplications it takes as the other order does.
        first: Extents of both operands of the first product.
        third: Those of what its result is multiplied by.
        at: Where the first product is made, as ``file:line``; "" unknown.
    """

    multiplications: int
    times: float
    first: tuple[tuple[int, ...], tuple[int, ...]]
    third: tuple[int, ...]
    at: str


@dataclass(frozen=True, slots=True)
class _Sides:
    """The extents of a product: of the batch, contracted, and free on both sides."""

    batch: int
    inner: int
    free: tuple[int, int]


def product_order(host: Host, event: int) -> ProductOrder | None:
    """The cheaper order of the products that an event's is one of; None where none is known."""
    found = instruction_of(host, event)
    if found is None:
        return None
    module, one = found
    for product in products_of(module, one):
        made = [_made_by(module, each) for each in module.given(product)]
        for first in filter(None, (product, *made)):
            if (order := _order(module, first)) is not None:
                return order
    return None


def dearest_order(module: HloModule) -> ProductOrder | None:
    """The products of a program that take most multiplications for their order; None without."""
    products = (one for one in module.by_id.values() if one.opcode == "dot")
    found = filter(None, (_order(module, one) for one in products))
    return max(found, key=lambda order: order.multiplications, default=None)


def products_of(module: HloModule, one: Instruction) -> list[Instruction]:
    """The products that an instruction is, or that its body has."""
    products = (each for each in module.with_bodies(one) if each.opcode == "dot")
    return list(islice(products, _MOST))


def _made_by(module: HloModule, one: Instruction) -> Instruction | None:
    """The product that an operand is, with nothing but its layout or type changed."""
    for _ in range(_MOST):
        if one.opcode == "dot":
            return one
        above = module.given(one) if one.opcode in (*_PASSES, *ENCLOSES) else []
        if len(above) != 1:
            return None
        one = above[0]
    return None


def _readers(module: HloModule, product: Instruction) -> list[Instruction] | None:
    """The products that read one; None where something else does, which needs it as it is."""
    found: list[Instruction] = []
    open_, seen = [product], {product.id}
    while open_:
        one = open_.pop()
        users = readers(module, one)
        if not users or len(seen) > _MOST:  # the program's own result is needed as it is
            return None
        for user in users:
            if user.opcode == "dot":
                found.append(user)
            elif user.opcode not in _PASSES:
                return None
            elif user.id not in seen:
                seen.add(user.id)
                open_.append(user)
    return found


def _order(module: HloModule, first: Instruction) -> ProductOrder | None:
    """The other order of all products that read one, if together they are cheaper in that."""
    operands = list(module.operands(first))
    inner = _sides(first, operands)
    seconds = _readers(module, first)
    if inner is None or not seconds:
        return None
    rows, columns = inner.free
    now, other, widest = rows * columns * inner.inner, 0, (0, first)
    for second in seconds:
        against = _against(module, first, second, inner)
        if against is None:
            return None
        width, third = against
        now += rows * columns * width
        other += inner.inner * width * (rows + columns)
        widest = max(widest, (width, third), key=lambda pair: pair[0])
    if not other or now < _LEAST_TIMES * other:
        return None
    left, right = (one.shape.dimensions for one in operands)
    return ProductOrder(
        inner.batch * now,
        now / other,
        (left, right),
        widest[1].shape.dimensions,
        at_line(module, first),
    )


def _against(
    module: HloModule, first: Instruction, second: Instruction, inner: _Sides
) -> tuple[int, Instruction] | None:
    """How wide the other operand of a product of a product is, and that; None if none fits."""
    operands = list(module.operands(second))
    outer = _sides(second, operands)
    made = [_made_by(module, one) is first for one in operands]
    if outer is None or inner.batch != outer.batch or made.count(True) != 1:
        return None  # of a product times itself there is no other order
    side = made.index(True)
    if (outer.inner, outer.free[side]) not in (inner.free, inner.free[::-1]):
        return None
    return outer.free[1 - side], operands[1 - side]


def _sides(product: Instruction, operands: list[Instruction]) -> _Sides | None:
    """The extents of a product, whatever its layout; None where its numbers do not fit."""
    if len(operands) != 2:
        return None
    numbers = fields_of(product.message(_NUMBERS))
    left = operands[0].shape.dimensions
    wholes = [prod(one.shape.dimensions) for one in operands]
    try:
        batch, inner = (
            prod(left[at] for at in ints_of(numbers.get(number, ())) if 0 <= at < len(left))
            for number in (_BATCH, _CONTRACTED)
        )
    except DecodeError:
        return None
    shared = batch * inner
    if not all(wholes) or any(whole % shared for whole in wholes):
        return None
    return _Sides(batch, inner, (wholes[0] // shared, wholes[1] // shared))
