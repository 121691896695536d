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
from stepscope.tables.hlo.neighbourhood import readers
from stepscope.tables.traits.inside import at_line
from stepscope.tables.traits.instructions import instruction_of

# So many times fewer multiplications are worth a change, after what XLA makes of smaller products.
LEAST_TIMES: Final = 2.0
# What changes no value between two products.
_PASSES: Final = frozenset(("bitcast", "reshape", "transpose", "copy", "convert", "parameter"))
# What adds two matrices of one shape.
_SUMS: Final = frozenset(("add", "subtract"))
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


@dataclass(frozen=True, slots=True)
class NextProduct:
    """A product that reads another one.

    Attributes:
        width: Of the other operand, for each copy of what it multiplies.
        third: That operand's extents.
        sums: To how many matrices the first is added before.
    """

    width: int
    third: tuple[int, ...]
    sums: int


def in_other_order(
    rows: int, inner: int, columns: int, readings: list[NextProduct]
) -> tuple[int, int]:
    """Multiplications of a product and of all that read it, as they are and in the other order.

    (A B + C) x is A (B x) + C x.

    Args:
        rows: Of the product.
        inner: What its operands have in common.
        columns: Of the product.
        readings: All that read it.
    """
    width = sum(one.width for one in readings)
    summed = sum(one.width * one.sums for one in readings)
    now = rows * columns * (inner + width)
    return now, inner * width * (rows + columns) + rows * columns * summed


@dataclass(frozen=True, slots=True)
class _Reader:
    """What reads a product: by which operand, and how many sums lie between."""

    product: Instruction
    via: int
    sums: int


def _readers(module: HloModule, product: Instruction) -> list[_Reader] | None:
    """The products that read one; None where something else does, which needs it as it is."""
    found: list[_Reader] = []
    open_, seen = [(product, 0)], {product.id}
    while open_:
        one, sums = open_.pop()
        users = readers(module, one)
        if not users or len(seen) > _MOST:  # the program's own result is needed as it is
            return None
        for user, via in users:
            if user.opcode == "dot":
                found.append(_Reader(user, via, sums))
            elif user.opcode not in _PASSES and not _is_linear(module, user, via):
                return None
            elif user.id not in seen:
                seen.add(user.id)
                open_.append((user, sums + _costs_a_sum(module, user, via)))
    return found


def _costs_a_sum(module: HloModule, user: Instruction, via: int) -> bool:
    """Whether something is added that products do not read itself: else (A B + C) x has C x."""
    if user.opcode not in _SUMS:
        return False
    others = [each for each in module.operands(user) if each.id != via]
    return not any(each.opcode == "dot" for other in others for each, _ in readers(module, other))


def _is_linear(module: HloModule, user: Instruction, via: int) -> bool:
    """Whether it adds to a matrix, or multiplies all of it by one number."""
    others = [each for each in module.operands(user) if each.id != via]
    if user.opcode in _SUMS or user.opcode == "negate":
        return all(each.shape.dimensions == user.shape.dimensions for each in others)
    return user.opcode == "multiply" and len(others) == 1 and _is_number(module, others[0])


def _is_number(module: HloModule, one: Instruction) -> bool:
    """Whether an array holds one number everywhere."""
    for _ in range(_MOST):
        if prod(one.shape.dimensions) == 1:
            return True
        above = list(module.operands(one)) if one.opcode in ("broadcast", *_PASSES) else []
        if len(above) != 1:
            return False
        one = above[0]
    return False


def _order(module: HloModule, first: Instruction) -> ProductOrder | None:
    """The other order of all products that read one, if together they are cheaper in that."""
    operands = list(module.operands(first))
    inner = _sides(first, operands)
    seconds = _readers(module, first)
    if inner is None or not seconds:
        return None
    readings = [_against(module, second, inner) for second in seconds]
    known = [one for one in readings if one is not None]
    now, other = in_other_order(inner.free[0], inner.inner, inner.free[1], known)
    if len(known) < len(readings) or not other or now < LEAST_TIMES * other:
        return None
    left, right = (one.shape.dimensions for one in operands)
    widest = max(known, key=lambda one: one.width)
    return ProductOrder(
        inner.batch * now, now / other, (left, right), widest.third, at_line(module, first)
    )


def _against(module: HloModule, second: _Reader, inner: _Sides) -> NextProduct | None:
    """What a product of a product is multiplied by; None if the two do not fit."""
    operands = list(module.operands(second.product))
    outer = _sides(second.product, operands)
    made = [one.id == second.via for one in operands]
    if outer is None or inner.batch != outer.batch or made.count(True) != 1:
        return None  # of a product times itself there is no other order
    side = made.index(True)
    if (outer.inner, outer.free[side]) not in (inner.free, inner.free[::-1]):
        return None
    return NextProduct(outer.free[1 - side], operands[1 - side].shape.dimensions, second.sums)


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
