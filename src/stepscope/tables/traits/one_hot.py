"""Products of compiled programs that multiply one-hot rows: with these, they look rows up.

``jax.nn.one_hot``, and whatever people write in its place, compares indices with an ``iota``. What
comes of that, with no more than its type, its layout or its shape changed, is one-hot.
"""

from __future__ import annotations

from typing import Final

from stepscope.tables.hlo.module import ENCLOSES, HloModule, Instruction

_KEEPS: Final = frozenset(
    ("convert", "bitcast", "bitcast-convert", "reshape", "transpose", "copy", "broadcast", "select")
)
_PASSES: Final = _KEEPS | {*ENCLOSES, "parameter"}
_EQUAL: Final = b"EQ"
_DIRECTION: Final = 63  # HloInstructionProto.comparison_direction
# From a product to what it is given lie so many instructions at most; in so few bodies it lies.
_LONGEST, _DEEPEST = 12, 4
# What few rows are compared with is a class, or a mask: to look it up costs as much.
_FEWEST: Final = 64


def one_hot_of(module: HloModule, itself: Instruction) -> frozenset[int]:
    """Ids of the instructions by which a product gets its one-hot rows; empty of others.

    They are those of the body that the product is in: their runs are events by themselves.
    """
    for product in _products(module, itself, 0):
        for one in module.given(product):
            way = _way(module, one)
            if way[-1].opcode == "compare" and _is_one_hot(module, way[-1]):
                return frozenset(
                    each.id for each in way if each.computation_id == itself.computation_id
                )
    return frozenset()


def _products(module: HloModule, one: Instruction, depth: int) -> list[Instruction]:
    if one.opcode == "dot":
        return [one]
    if one.opcode not in ENCLOSES or depth >= _DEEPEST:
        return []
    bodies = module.called(one)
    return [each for body in bodies for inner in body.instructions
            for each in _products(module, inner, depth + 1)]  # fmt: skip


def _way(module: HloModule, one: Instruction) -> list[Instruction]:
    """An instruction, and what it comes of as long as that keeps what it says; the origin last."""
    way = [one]
    while len(way) < _LONGEST and way[-1].opcode in _PASSES:
        given = module.given(way[-1])
        if not given:
            break
        way.append(given[0])
    return way


def _is_one_hot(module: HloModule, one: Instruction) -> bool:
    """Whether a comparison is for equality with 0, 1, 2 … along one of its dimensions."""
    if one.message(_DIRECTION) != _EQUAL or max(one.shape.dimensions, default=0) < _FEWEST:
        return False
    return sum(_way(module, each)[-1].opcode == "iota" for each in module.given(one)) == 1
