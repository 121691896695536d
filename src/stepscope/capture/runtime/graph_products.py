"""Products of products in TensorFlow's graphs, with their extents, as known when a recording ends.

TensorFlow's profiler notes the names of ops. Which of two products is the first, and how wide what
it meets is, the graph knows (``traits.graph_products`` reads it).
"""

from __future__ import annotations

import json
import time
from typing import Any, Final

#: Of TensorFlow's ops, each with the names of what turns its operands.
_PRODUCTS: Final = {
    "MatMul": ("transpose_a", "transpose_b"),
    "BatchMatMul": ("adj_x", "adj_y"),
    "BatchMatMulV2": ("adj_x", "adj_y"),
    "BatchMatMulV3": ("adj_x", "adj_y"),
}
_PASSES: Final = frozenset(("Identity", "Cast", "StopGradient", "PreventGradient", "Neg"))
_SUMS: Final = frozenset(("AddV2", "Add", "Sub"))
_SCALES: Final = frozenset(("Mul", "RealDiv", "DivNoNan"))
# So many ops between two products, products that are noted, and time: a program ends meanwhile.
_MOST_BETWEEN: Final = 32
_MOST: Final = 2_000
_MOST_SECONDS: Final = 1.0


class NotedProducts:
    """Products that products alone read.

    Attributes:
        listed: Of each its op, the extents of its operands, whether these are turned, and what
            reads it: op, which operand it is, extents of the other one, whether the two are turned,
            and how many sums lie between, but those with what is multiplied alike itself. -1 is an
            extent that the graph leaves open.
    """

    def __init__(self) -> None:
        self.listed: list[list[Any]] = []
        self._end = time.monotonic() + _MOST_SECONDS

    def add(self, graph: Any) -> None:
        """Those of a graph."""
        for op in graph.get_operations():
            if op.type not in _PRODUCTS:
                continue
            if len(self.listed) >= _MOST or time.monotonic() > self._end:
                return
            if readers := _readers(op):
                given = [_extents(one) for one in op.inputs]
                self.listed.append([op.name, given, _turned(op), readers])

    def message(self) -> bytes:
        """All of it as JSON."""
        return json.dumps(self.listed, separators=(",", ":")).encode()


def _readers(product: Any) -> list[list[Any]]:
    """The products that read one; [] where something else does, or nothing."""
    found: list[list[Any]] = []
    open_: list[tuple[Any, list[Any]]] = [(product.outputs[0], [])]
    seen = 0
    while open_:
        value, added = open_.pop()
        users = value.consumers()
        seen += len(users)
        if not users or seen > _MOST_BETWEEN:
            return []
        for user in users:
            if user.type in _PRODUCTS:
                sides = [at for at, one in enumerate(user.inputs) if one is value]
                if len(sides) != 1:
                    return []
                other, turned = _extents(user.inputs[1 - sides[0]]), _turned(user)
                alone = [one for one in added if not _is_read_alike(one, sides[0], other, turned)]
                found.append([user.name, sides[0], other, turned, len(alone)])
            elif _is_linear(user, value):
                others = [one for one in user.inputs if one is not value]
                open_.append((user.outputs[0], [*added, *others] if user.type in _SUMS else added))
            else:
                return []
    return found


def _is_read_alike(value: Any, side: int, other: list[int] | None, turned: list[bool]) -> bool:
    """Whether a product of a value itself is there as well: (A B + C) x beside C x."""
    return any(
        user.type in _PRODUCTS
        and user.inputs[side] is value
        and _turned(user) == turned
        and _extents(user.inputs[1 - side]) == other
        for user in value.consumers()[:_MOST_BETWEEN]
    )


def _is_linear(user: Any, value: Any) -> bool:
    """Whether it adds to a matrix, or multiplies all of it by one number."""
    if user.type in _PASSES:
        return True
    if user.type not in _SUMS and user.type not in _SCALES:
        return False
    others = [one for one in user.inputs if one is not value]
    if len(others) != 1:
        return False
    extents = _extents(others[0])
    is_number = extents is not None and all(one == 1 for one in extents)
    return is_number if user.type in _SCALES else extents == _extents(value)


def _turned(op: Any) -> list[bool]:
    return [bool(op.get_attr(name)) for name in _PRODUCTS[op.type]]


def _extents(value: Any) -> list[int] | None:
    rank = value.shape.rank
    return None if rank is None else [-1 if one is None else int(one) for one in value.shape]
