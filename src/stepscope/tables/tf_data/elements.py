"""How large the elements are that iterators of tf.data hand on.

An iterator's event says the shapes and types of its elements' components:
``shapes="[640,640,3] []"``, ``types="float int32"``. Sizes that differ from element to element
("?" and "-1"), strings and other components without a fixed size leave an element's size unknown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod
from typing import Final

_SHAPE = re.compile(r"\[([^\[\]]*)\]")
_BYTES: Final = {
    **dict.fromkeys(("bool", "int8", "uint8"), 1),
    **dict.fromkeys(("half", "bfloat16", "int16", "uint16"), 2),
    **dict.fromkeys(("float", "int32", "uint32"), 4),
    **dict.fromkeys(("double", "int64", "uint64", "complex64"), 8),
    "complex128": 16,
}


@dataclass(frozen=True, slots=True)
class Element:
    """What an iterator hands on at once.

    Attributes:
        largest: Shape and type of its largest component: "[640,640,3] float".
        size: Of all components, in bytes.
    """

    largest: str
    size: int


def element(shapes: str, types: str) -> Element | None:
    """None where the size of a component is not known."""
    listed, kinds = _SHAPE.findall(shapes), types.split()
    if not listed or len(listed) != len(kinds):
        return None
    sizes = [_size(shape, kind) for shape, kind in zip(listed, kinds, strict=True)]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return None
    at = known.index(max(known))
    return Element(f"[{listed[at]}] {kinds[at]}", sum(known))


def _size(shape: str, kind: str) -> int | None:
    """Bytes of a component; None where it has no fixed size."""
    dims = [one.strip() for one in shape.split(",") if one.strip()]
    if kind not in _BYTES or not all(one.isdecimal() for one in dims):
        return None
    return prod(map(int, dims)) * _BYTES[kind]
