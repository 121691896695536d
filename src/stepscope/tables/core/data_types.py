"""TensorFlow's numbers of element types (``types.proto``), as allocator events carry them."""

from __future__ import annotations

from typing import Final

from stepscope.schema.numbers import whole_number

_NAMES: Final = (
    "",
    "float",
    "double",
    "int32",
    "uint8",
    "int16",
    "int8",
    "string",
    "complex64",
    "int64",
    "bool",
    "qint8",
    "quint8",
    "qint32",
    "bfloat16",
    "qint16",
    "quint16",
    "uint16",
    "complex128",
    "half",
    "resource",
    "variant",
    "uint32",
    "uint64",
    "float8_e5m2",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e4m3b11fnuz",
    "float8_e5m2fnuz",
    "int4",
    "uint4",
    "int2",
    "uint2",
)
# A reference to a variable of a type has the type's number plus this.
_REFERENCE: Final = 100


def data_type_name(text: str) -> str:
    """The name of an element type given as a number; "" for none; other texts as they are."""
    number = whole_number(text)
    if number is None or number < 0:
        return text
    base = number - _REFERENCE if number > _REFERENCE else number
    if base >= len(_NAMES):
        return f"type {number}"
    return _NAMES[base] + ("_ref" if number > _REFERENCE else "")
