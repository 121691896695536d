"""Reading the outermost fields of protobuf messages that a framework has written.

Only what is few is walked here: planes, lines, metadata entries. Events are counted by
``event_count``, all at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from stepscope.schema.xspace import Wire


class Field(NamedTuple):
    """A field of a message, by places in the buffer.

    Attributes:
        number: Field number.
        wire: How the payload is laid out.
        begin: Where the tag stands.
        payload: Where the payload begins.
        end: Where the field ends.
        value: The number of a varint or fixed field; 0 for ``Wire.LEN``.
    """

    number: int
    wire: int
    begin: int
    payload: int
    end: int
    value: int


def read_varint(view: memoryview, at: int, end: int) -> tuple[int, int]:
    """A varint and the place behind it; raises ``ValueError`` where it does not end."""
    number = shift = 0
    while at < end and shift < 70:
        byte = view[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number & ((1 << 64) - 1), at
        shift += 7
    raise ValueError(f"a number at byte {at} does not end")


def fields(view: memoryview, begin: int = 0, end: int | None = None) -> Iterator[Field]:
    """The fields of the message in ``view[begin:end]``.

    Raises:
        ValueError: The bytes end inside a field, or hold a wire type there is not.
    """
    stop = len(view) if end is None else end
    at = begin
    while at < stop:
        tag, place = read_varint(view, at, stop)
        number, kind = tag >> 3, tag & 7
        value = 0
        payload = place
        if kind == Wire.LEN:
            size, payload = read_varint(view, place, stop)
            last = payload + size
        elif kind == Wire.VARINT:
            value, last = read_varint(view, place, stop)
        elif kind in (Wire.FIXED64, Wire.FIXED32):
            last = place + (8 if kind == Wire.FIXED64 else 4)
            value = int.from_bytes(view[place:last], "little")
        else:
            raise ValueError(f"byte {at} starts no field")
        if last > stop:
            raise ValueError(f"the field at byte {at} is cut short")
        yield Field(number, kind, at, payload, last, value)
        at = last


def whole_prefix(view: memoryview) -> int:
    """How many bytes of an XSpace are whole fields: what stands before a torn tail."""
    end = 0
    try:
        for field in fields(view):
            end = field.end
    except ValueError:
        pass
    return end
