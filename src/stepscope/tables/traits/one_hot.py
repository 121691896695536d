"""Products of compiled programs that multiply one-hot rows: with these, they look rows up.

``jax.nn.one_hot``, and whatever people write in its place, compares indices with an ``iota``. What
comes of that, with no more than its type, its layout or its shape changed, is one-hot.
"""

from __future__ import annotations

from typing import Final

from stepscope.tables.hlo.module import HloModule, Instruction

_KEEPS: Final = frozenset(
    ("convert", "bitcast", "bitcast-convert", "reshape", "transpose", "copy", "broadcast", "select")
)
_ENCLOSES: Final = frozenset(("fusion", "call"))
_EQUAL: Final = b"EQ"
_DIRECTION: Final = 63  # HloInstructionProto.comparison_direction
_PARAMETER: Final = 9  # HloInstructionProto.parameter_number
# From a product to what it is given lie so many instructions at most, in so few bodies.
_LONGEST, _DEEPEST = 12, 4
# What few rows are compared with is a class, or a mask: to look it up costs as much.
_FEWEST: Final = 64

# An instruction, and the fusions that it lies in, innermost last.
_At = tuple[Instruction, tuple[Instruction, ...]]


def one_hot_of(module: HloModule, itself: Instruction) -> frozenset[int]:
    """Ids of the instructions by which a product gets its one-hot rows; empty of others.

    They are those of the body that the product is in: their runs are events by themselves.
    """
    for product in _products(module, itself, ()):
        for at in _given(module, product):
            if (way := _way_to_one_hot(module, at)) is not None:
                return frozenset(way)
    return frozenset()


def _products(module: HloModule, one: Instruction, around: tuple[Instruction, ...]) -> list[_At]:
    if one.opcode == "dot":
        return [(one, around)]
    if one.opcode not in _ENCLOSES or len(around) >= _DEEPEST:
        return []
    bodies = module.called(one)
    return [at for body in bodies for inner in body.instructions
            for at in _products(module, inner, (*around, one))]  # fmt: skip


def _given(module: HloModule, at: _At) -> list[_At]:
    """What an instruction reads; of a parameter of a fusion, what that is given there."""
    one, around = at
    if one.opcode == "parameter" and around:
        number = (*one.ints(_PARAMETER), 0)[0]
        listed = list(module.operands(around[-1]))
        return [(listed[number], around[:-1])] if number < len(listed) else []
    if one.opcode in _ENCLOSES and len(around) < _DEEPEST:
        return [(body.root, (*around, one)) for body in module.called(one)]
    return [(each, around) for each in module.operands(one)]


def _way_to_one_hot(module: HloModule, at: _At) -> list[int] | None:
    """Ids of what runs by itself between a product's operand and its comparison; None: no such."""
    way: list[int] = []
    for _ in range(_LONGEST):
        one, around = at
        if not around:
            way.append(one.id)
        if one.opcode == "compare":
            return way if _is_one_hot(module, at) else None
        if one.opcode not in _KEEPS and one.opcode not in _ENCLOSES and one.opcode != "parameter":
            return None
        given = _given(module, at)
        if not given:
            return None
        at = given[0]
    return None


def _is_one_hot(module: HloModule, at: _At) -> bool:
    one, _around = at
    if one.message(_DIRECTION) != _EQUAL or max(one.shape.dimensions, default=0) < _FEWEST:
        return False
    counts = [_counts(module, each) for each in _given(module, at)]
    return sum(counts) == 1


def _counts(module: HloModule, at: _At) -> bool:
    """Whether it is 0, 1, 2 … along one of its dimensions."""
    for _ in range(_LONGEST):
        one, _around = at
        if one.opcode == "iota":
            return True
        if one.opcode not in _KEEPS and one.opcode not in _ENCLOSES and one.opcode != "parameter":
            return False
        given = _given(module, at)
        if not given:
            return False
        at = given[0]
    return False
