"""In how many bits an HLO instruction computes: from the types of what it multiplies and moves.

A product computes in the bits of its operands, whatever it accumulates in: ``bf16 × bf16 → f32``
is 16-bit work of a matrix unit, also where a fusion, a Triton kernel or a fused attention hides
the product. Everything else is limited by the bytes it moves, so most of its elements decide.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

from stepscope.tables.hlo.module import HloModule, Instruction, fields_of
from stepscope.tables.hlo.shape import Shape, shapes_of_text

# xla.PrimitiveType numbers of floating point of 16 bits and fewer, of wider floating point, and of
# the integers that matrix units multiply.
_LOW = frozenset({10, 16, 19, 20, 23, 24, 25, 28, 29, 32, 33})
_WIDE = frozenset({11, 12, 15, 18})
_NARROW_INTEGERS = frozenset({2, 6, 21, 22, 26, 27})
_PRODUCTS = frozenset({"dot", "convolution", "ragged-dot"})
# Custom calls that are not products: they move, sort, sample or synchronise.
_NO_PRODUCT = re.compile(r"topk|sort|fft|rng|random|callback|sharding|barrier|allocate", re.I)
# PrecisionConfig.Algorithm: products of 8- and 16-bit floats in one pass (fields of field 51).
_PRECISION_CONFIG, _ALGORITHM = 51, 2
_LOW_ALGORITHMS = frozenset({1, 2, 3, 4, 5, 6})
# More bodies, one within the other, would be too deep for Python.
_MOST_BODIES = 200
_TEXT_PRODUCT = re.compile(r"\b(dot|convolution|ragged-dot|custom-call)\(")
_PRODUCT_CATEGORY = re.compile(r"convolution|dot|matmul")
# An op's text may name thousands of operands; its beginning says what it is.
_TEXT_LENGTH = 20_000


def computes_in_16_bits(module: HloModule, instruction: Instruction) -> bool | None:
    """Whether it computes in 16 bits or fewer; None where it computes with no floats."""
    products = list(_products(module, instruction, set()))
    if products:
        low = sum(work for work, is_low in products if is_low)
        return 2 * low > sum(work for work, _ in products)
    operands = [one.shape for one in module.operands(instruction)]
    return _mostly_low(instruction.shape, operands)


def text_computes_in_16_bits(text: str, category: str = "") -> bool | None:
    """The same from an op's HLO text; None where that shows no floats.

    Args:
        text: ``%name = type opcode(type %operand, …), …``, as recorders on TPUs write it.
        category: What the recorder calls it, e.g. "convolution fusion".
    """
    operands, result = shapes_of_text(text)
    if _TEXT_PRODUCT.search(text[:_TEXT_LENGTH]) or _PRODUCT_CATEGORY.search(category):
        low, wide = _elements(operands, _LOW), _elements(operands, _WIDE)
        if low or wide:
            return low > wide
    return _mostly_low(result, operands)


def _products(
    module: HloModule, instruction: Instruction, seen: set[int]
) -> Iterator[tuple[float, bool]]:
    """The size of each product in it, its body included, and whether its operands are narrow.

    ``seen`` are the bodies that were looked into: in a stranger's file each may call all others.
    """
    operands = [one.shape for one in module.operands(instruction)]
    if instruction.opcode in _PRODUCTS and len(operands) >= 2:
        low = all(one.element_type in _LOW | _NARROW_INTEGERS for one in operands[:2])
        yield _size([*operands[:2], instruction.shape]), low or _low_algorithm(instruction)
    elif instruction.opcode == "custom-call":
        yield from _custom_product(instruction, operands)
    elif len(seen) < _MOST_BODIES:
        for body in module.called(instruction):
            if body.id not in seen:
                seen.add(body.id)
                for one in body.instructions:
                    yield from _products(module, one, seen)


def _custom_product(
    instruction: Instruction, operands: list[Shape]
) -> Iterator[tuple[float, bool]]:
    """A library's product: scales, biases and statistics in f32 are small beside what it takes."""
    if _NO_PRODUCT.search(instruction.custom_call_target):
        return
    low = _elements(operands, _LOW)
    wide = _elements(operands, _WIDE)
    if low or wide:
        yield _size([*operands, instruction.shape]), low > wide


def _mostly_low(result: Shape, operands: Iterable[Shape]) -> bool | None:
    """Whether most of the floats moved are narrow; where as many are wide, the result decides."""
    every = [result, *operands]
    for shapes in (every, [result]):
        low, wide = _elements(shapes, _LOW), _elements(shapes, _WIDE)
        if low != wide:
            return low > wide
    return False if _elements(every, _WIDE) else None


def _elements(shapes: Iterable[Shape], types: frozenset[int]) -> int:
    return sum(
        leaf.elements
        for shape in shapes
        for _, leaf in shape.leaves()
        if leaf.element_type in types
    )


def _size(shapes: Iterable[Shape]) -> float:
    """A measure of a product's work: of its three matrices the elements multiplied, (m n k)²."""
    largest = sorted((max(float(shape.elements), 1.0) for shape in shapes), reverse=True)[:3]
    return math.prod(largest)


def _low_algorithm(instruction: Instruction) -> bool:
    """Whether the program asks for a product of wide operands to be computed in 16 bits."""
    config = instruction.message(_PRECISION_CONFIG)
    return any(value in _LOW_ALGORITHMS for value in fields_of(config).get(_ALGORITHM, ()))
