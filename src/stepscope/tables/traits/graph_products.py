"""Products of products in TensorFlow's graphs that another order makes cheaper.

TensorFlow's profiler names ops alone; our recorder asks the graphs for the products that products
alone read (``capture.runtime.graph_products``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod
from typing import Any, Final, NamedTuple

from stepscope.schema import names
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.traits.graph_lines import graph_lines, messages, names_in_graph
from stepscope.tables.traits.product_order import (
    LEAST_TIMES,
    NextProduct,
    ProductOrder,
    in_other_order,
)

# An extent that the graph leaves open, as that of a batch.
_OPEN: Final = -1
# Beyond these an extent is damage.
_LARGEST: Final = 1 << 40
_MATRIX, _MOST_EXTENTS = 2, 12
# So many products are read at most.
_MOST: Final = 10_000
# As many powers of a matrix are followed.
_MOST_ROUNDS: Final = 16


class _Reader(NamedTuple):
    """A product that reads another one.

    Attributes:
        name: Its op.
        side: 0 where it multiplies the other one from the left, 1 from the right.
        other: Extents of what else it is given.
        left, right: Whether its operands are turned.
        sums: How many sums lie between.
    """

    name: str
    side: int
    other: tuple[int, ...]
    left: bool
    right: bool
    sums: int


class _Product(NamedTuple):
    """A product that products alone read."""

    name: str
    given: tuple[tuple[int, ...], tuple[int, ...]]
    sides: _Sides
    readers: list[_Reader]


class _Sides(NamedTuple):
    """Extents of a product: of the batch, and rows, inner and columns of a matrix."""

    batch: tuple[int, ...]
    rows: int
    inner: int
    columns: int


# What one op of several could do in another order says nothing of those with little of the time.
_SOME_FRAC: Final = 0.2


def graph_order(host: Host, shares: Mapping[str, float]) -> ProductOrder | None:
    """The cheaper order of products that most of some ops of a graph are among; None if few are.

    Args:
        host: Whose.
        shares: Of their time that each op has, by its recorded name.
    """
    known = _orders(host)
    found: dict[ProductOrder, float] = {}
    for op, share in shares.items() if known else ():
        order = next((known[name] for name in names_in_graph(op) if name in known), None)
        if order is not None:
            found[order] = found.get(order, 0.0) + share
    if sum(found.values()) < _SOME_FRAC:
        return None
    return max(found, key=lambda order: found[order])


@derived
def _orders(host: Host) -> dict[str, ProductOrder]:
    """Cheaper orders by the names of the products that are gone in them."""
    lines = graph_lines(host)
    products = {
        one.name: one for said in messages(host, names.GRAPH_PRODUCTS) for one in _read(said)
    }
    found: dict[str, ProductOrder] = {}
    for first, order in _cheaper(products).items():
        stack = lines.of(first) if lines is not None else ()
        at = f"{stack[0].file.rpartition('/')[2]}:{stack[0].line}" if stack else ""
        found[first] = replace(order, at=at)
    # A power of a matrix that is read by the next one, and by what is narrow, goes with that.
    before = {
        one.name: found[reader.name]
        for one in products.values()
        for reader in one.readers
        if reader.name in found
    }
    return before | found


def _cheaper(products: Mapping[str, _Product]) -> dict[str, ProductOrder]:
    """The products that another order makes cheaper, from the last ones on.

    What reads a product may be one of them: in the other order it is gone, and what was multiplied
    by it meets the product before.
    """
    found: dict[str, ProductOrder] = {}
    gone: dict[str, list[NextProduct]] = {}
    for _round in range(_MOST_ROUNDS):
        before = len(found)
        for one in products.values():
            readings = _readings(one, gone) if one.name not in found else None
            order = _order(one, readings) if readings else None
            if readings and order is not None:
                found[one.name], gone[one.name] = order, readings
        if len(found) == before:
            break
    return found


def _readings(one: _Product, gone: Mapping[str, list[NextProduct]]) -> list[NextProduct] | None:
    """What a product is multiplied by; None where that is not known of one."""
    found: list[NextProduct] = []
    for reader in one.readers:
        reading = _reading(one.sides, reader)
        if reading is None:
            return None
        further = gone.get(reader.name)
        found += [reading] if further is None else further
    return found


def _order(one: _Product, readings: list[NextProduct]) -> ProductOrder | None:
    sides = one.sides
    now, other = in_other_order(sides.rows, sides.inner, sides.columns, readings)
    if not other or now < LEAST_TIMES * other:
        return None
    copies = prod(extent for extent in sides.batch if extent != _OPEN)
    widest = max(readings, key=lambda each: each.width)
    first = _known(one.given[0]), _known(one.given[1])
    return ProductOrder(copies * now, now / other, first, _known(widest.third), "")


def _read(message: bytes) -> Iterator[_Product]:
    """The products that were noted; without what is damaged."""
    try:
        listed = json.loads(message)
    except (ValueError, RecursionError):
        return
    for said in listed[:_MOST] if isinstance(listed, list) else ():
        try:
            yield _product(*said)
        except (ValueError, TypeError, LookupError, OverflowError):
            continue


def _product(name: Any, given: Any, turned: Any, readers: Any) -> _Product:
    left, right = map(_shape, given)
    sides = _sides(left, right, bool(turned[0]), bool(turned[1]))
    if _OPEN in sides[1:]:
        raise ValueError(given)
    return _Product(str(name), (left, right), sides, [_reader(*one) for one in readers])


def _reader(name: Any, side: Any, other: Any, turned: Any, sums: Any) -> _Reader:
    if side not in (0, 1):
        raise ValueError(side)
    return _Reader(
        str(name), int(side), _shape(other), bool(turned[0]), bool(turned[1]), max(int(sums), 0)
    )


def _reading(first: _Sides, one: _Reader) -> NextProduct | None:
    """How wide it is what a product is multiplied by; None where that is not known."""
    self_turned, other_turned = (one.left, one.right)[:: 1 if one.side == 0 else -1]
    rows, columns = one.other[-2:][:: -1 if other_turned else 1]
    met, width = (rows, columns) if one.side == 0 else (columns, rows)
    matrix = (first.rows, first.columns)[:: -1 if self_turned else 1]
    copies = _copies(one.other[:-2], first.batch)
    if width == _OPEN or copies is None or met not in (matrix[1 - one.side], _OPEN):
        return None
    return NextProduct(width * copies, one.other, one.sums)


def _copies(wide: tuple[int, ...], batch: tuple[int, ...]) -> int | None:
    """How many of what a product meets there are for each copy of it; None where that is open."""
    if wide == batch:
        return 1
    if not batch or all(one == 1 for one in batch):
        return None if _OPEN in wide else prod(wide)
    return 1 if not wide or all(one == 1 for one in wide) else None


def _sides(left: tuple[int, ...], right: tuple[int, ...], *turned: bool) -> _Sides:
    rows, inner = left[-2:][:: -1 if turned[0] else 1]
    same, columns = right[-2:][:: -1 if turned[1] else 1]
    batch = max(left[:-2], right[:-2], key=lambda one: (len(one), prod(map(abs, one))))
    return _Sides(batch, rows, inner if inner != _OPEN else same, columns)


def _shape(said: Any) -> tuple[int, ...]:
    extents = tuple(int(one) for one in said)
    if not _MATRIX <= len(extents) <= _MOST_EXTENTS:
        raise ValueError(said)
    if not all(_OPEN <= one < _LARGEST for one in extents):
        raise ValueError(said)
    return extents


def _known(extents: tuple[int, ...]) -> tuple[int, ...]:
    """Without what the graph leaves open."""
    return tuple(one for one in extents if one != _OPEN)
