"""Shapes of HLO values: element type, dimensions, layout; their text and their bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from stepscope.errors import DecodeError
from stepscope.records import dataclass
from stepscope.wire.read import packed_varints, values

TUPLE = 13

# xla.PrimitiveType → (name in HLO text, bits of one element).
PRIMITIVES: dict[int, tuple[str, int]] = {
    1: ("pred", 8),
    2: ("s8", 8),
    3: ("s16", 16),
    4: ("s32", 32),
    5: ("s64", 64),
    6: ("u8", 8),
    7: ("u16", 16),
    8: ("u32", 32),
    9: ("u64", 64),
    10: ("f16", 16),
    11: ("f32", 32),
    12: ("f64", 64),
    14: ("opaque", 0),
    15: ("c64", 64),
    16: ("bf16", 16),
    17: ("token", 0),
    18: ("c128", 128),
    19: ("f8e5m2", 8),
    20: ("f8e4m3fn", 8),
    21: ("s4", 4),
    22: ("u4", 4),
    23: ("f8e4m3b11fnuz", 8),
    24: ("f8e5m2fnuz", 8),
    25: ("f8e4m3fnuz", 8),
    26: ("s2", 2),
    27: ("u2", 2),
    28: ("f8e4m3", 8),
    29: ("f8e3m4", 8),
    30: ("s1", 1),
    31: ("u1", 1),
    32: ("f4e2m1fn", 4),
    33: ("f8e8m0fnu", 8),
}
_NUMBERS = {name: number for number, (name, _bits) in PRIMITIVES.items()}
# An array in HLO text, "bf16[8,128]", and how much of a text is read: operands may be thousands.
_ARRAY = re.compile(r"\b([a-z]\w{1,14})\[(\d{1,15}(?:,\d{1,15}){0,15}|)\]")
_TEXT_LENGTH = 20_000
# A tile dimension with this value joins its dimension to the next more minor one.
_COMBINE = -(1 << 63)
# No array has more elements; what says so is damage, and products of such numbers overflow.
_MOST_ELEMENTS = (1 << 63) - 1
# Tuples are nested a few levels deep.
_DEEPEST = 64


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a value.

    Attributes:
        element_type: ``xla.PrimitiveType`` (13: a tuple, described by ``parts``).
        dimensions: Extents, as written in HLO text.
        parts: Shapes of a tuple's elements.
        minor_to_major: Layout: dimension numbers, fastest-varying first.
        tiles: Tiles of the layout, outermost first.
        memory_space: Where it lives: 0 device memory, 1 fast on-chip memory, 5 host memory.
        element_bits: Bits one element takes in memory when the layout says so, else 0.
    """

    element_type: int = 0
    dimensions: tuple[int, ...] = ()
    parts: tuple[Shape, ...] = ()
    minor_to_major: tuple[int, ...] = ()
    tiles: tuple[tuple[int, ...], ...] = ()
    memory_space: int = 0
    element_bits: int = 0

    @property
    def elements(self) -> int:
        """How many elements it has (a tuple: over its parts)."""
        if self.element_type == TUPLE:
            return sum(part.elements for part in self.parts)
        return _product(self.dimensions)

    @property
    def bits(self) -> int:
        """Bits of one element."""
        return self.element_bits or PRIMITIVES.get(self.element_type, ("", 0))[1]

    @property
    def bytes(self) -> int:
        """Bytes of its elements without padding (a tuple: over its parts)."""
        if self.element_type == TUPLE:
            return sum(part.bytes for part in self.parts)
        return -(-self.elements * self.bits // 8)

    @property
    def padded_bytes(self) -> int:
        """Bytes it occupies in its tiled layout."""
        if self.element_type == TUPLE:
            return sum(part.padded_bytes for part in self.parts)
        return -(-_product(self._tiled_extents()) * self.bits // 8)

    def _tiled_extents(self) -> list[int]:
        order = self.minor_to_major or tuple(range(len(self.dimensions) - 1, -1, -1))
        extents = [self.dimensions[d] for d in reversed(order) if d < len(self.dimensions)]
        for tile in self.tiles:
            extents = _tiled(extents or [1], tile)
        return extents

    def leaves(self, index: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Shape]]:
        """Every array in it with its index path (a plain array: one, with an empty path)."""
        if self.element_type != TUPLE:
            yield index, self
            return
        for place, part in enumerate(self.parts):
            yield from part.leaves((*index, place))

    def at(self, index: tuple[int, ...]) -> Shape:
        """The part under an index path; the shape itself where the path leaves it."""
        shape = self
        for place in index:
            if shape.element_type != TUPLE or place >= len(shape.parts):
                return shape
            shape = shape.parts[place]
        return shape

    def __str__(self) -> str:
        """As HLO text writes it, e.g. ``f32[8,128]{1,0:T(8,128)S(1)}``."""
        if self.element_type == TUPLE:
            return f"({', '.join(str(part) for part in self.parts)})"
        name = PRIMITIVES.get(self.element_type, ("invalid", 0))[0]
        text = f"{name}[{','.join(map(str, self.dimensions))}]"
        notes = "".join(f"({','.join(_tile_text(t) for t in tile)})" for tile in self.tiles)
        notes = f"T{notes}" if notes else ""
        notes += f"E({self.element_bits})" if self.element_bits else ""
        notes += f"S({self.memory_space})" if self.memory_space else ""
        order = ",".join(map(str, self.minor_to_major))
        return f"{text}{{{order}{':' + notes if notes else ''}}}" if order or notes else text


def _tile_text(extent: int) -> str:
    return "*" if extent == _COMBINE else str(extent)


def _tiled(extents: list[int], tile: tuple[int, ...]) -> list[int]:
    """Extents after one tile: the minor dimensions become counts of tiles, then the tile's own."""
    size = len(tile)
    padded = [1] * max(0, size - len(extents)) + extents
    major, minor = padded[: len(padded) - size], padded[len(padded) - size :]
    counts: list[int] = []
    inner: list[int] = []
    carried = 1
    for extent, wanted in zip(minor, tile, strict=True):
        if wanted == _COMBINE:
            carried *= extent
            continue
        extent *= carried
        carried = 1
        counts.append(-(-extent // wanted) if wanted > 0 else extent)
        inner.append(wanted if wanted > 0 else 1)
    return [*major, *counts, *inner]


def shapes_of_text(text: str) -> tuple[list[Shape], Shape]:
    """Shapes of the operands and of the result in an instruction's HLO text.

    A result that is a tuple is a tuple of its arrays, however they nest; layouts are left out.
    """
    right = text[:_TEXT_LENGTH].partition(" = ")[2]
    result, _, operands = right.partition(") " if right.startswith("(") else "(")
    made = _arrays(result)
    taken = _arrays(operands.partition("), ")[0])
    return taken, made[0] if len(made) == 1 else Shape(TUPLE, parts=tuple(made))


def _arrays(text: str) -> list[Shape]:
    return [
        Shape(_NUMBERS[name], tuple(int(one) for one in extents.split(",") if one))
        for name, extents in _ARRAY.findall(text)
        if name in _NUMBERS
    ]


def _product(extents: Iterable[int]) -> int:
    """How many elements an array of these extents has; one that is not known is negative."""
    found = 1
    for extent in extents:
        if extent <= 0:
            return 0
        found = min(found * extent, _MOST_ELEMENTS)
    return found


def parse_shape(data: bytes) -> Shape:
    """A shape from its ShapeProto; one of nothing where its bytes are damaged."""
    try:
        return _parse_shape(data, 0)
    except DecodeError:
        return Shape(0)


def _parse_shape(data: bytes, depth: int) -> Shape:
    element_type = 0
    dimensions: list[int] = []
    parts: list[Shape] = []
    layout: dict[str, object] = {}
    for number, value in values(data):
        if number == 2 and isinstance(value, int):
            element_type = value
        elif number == 3:
            dimensions += [value] if isinstance(value, int) else packed_varints(value)
        elif number == 4 and isinstance(value, bytes) and depth < _DEEPEST:
            parts.append(_parse_shape(value, depth + 1))
        elif number == 5 and isinstance(value, bytes):
            layout = _parse_layout(value)
    return Shape(element_type, tuple(map(_signed, dimensions)), tuple(parts), **layout)  # type: ignore[arg-type]  # the layout's keys are Shape's own fields


def _parse_layout(data: bytes) -> dict[str, object]:
    order: list[int] = []
    tiles: list[tuple[int, ...]] = []
    space = bits = 0
    for number, value in values(data):
        if number == 1:
            order += [value] if isinstance(value, int) else packed_varints(value)
        elif number == 6 and isinstance(value, bytes):
            tiles.append(_parse_tile(value))
        elif number == 7 and isinstance(value, int):
            bits = value
        elif number == 8 and isinstance(value, int):
            space = value
    return {
        "minor_to_major": tuple(order),
        "tiles": tuple(tiles),
        "memory_space": space,
        "element_bits": bits,
    }


def _parse_tile(data: bytes) -> tuple[int, ...]:
    extents: list[int] = []
    for number, value in values(data):
        if number == 1:
            extents += [value] if isinstance(value, int) else packed_varints(value)
    return tuple(map(_signed, extents))


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value
