"""Reading protobuf messages in plain Python: for what is small or few.

The events of an XSpace are decoded by kernels. This walks the rest: planes and lines that are put
together, messages inside stats (HLO modules), and the profiler's gRPC messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from stepscope.errors import DecodeError
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
    """A varint and the place after it; raises ``ValueError`` where it does not end."""
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


def values(data: bytes | memoryview) -> Iterator[tuple[int, int | bytes]]:
    """``(field number, value)`` of a message: varints and fixed numbers as int, the rest as bytes.

    Raises:
        DecodeError: The bytes are not a protobuf message; the offset is relative to ``data``.
    """
    view = memoryview(data)
    place = 0
    try:
        for field in fields(view):
            place = field.end
            whole = bytes(view[field.payload : field.end])
            yield field.number, whole if field.wire == Wire.LEN else field.value
    except ValueError as error:
        raise DecodeError(str(error), offset_bytes=place, path="message") from error


def packed_varints(data: bytes) -> Iterator[int]:
    """The numbers of a packed repeated field; raises ``DecodeError`` where one is cut off."""
    view, place = memoryview(data), 0
    while place < len(view):
        try:
            value, place = read_varint(view, place, len(view))
        except ValueError as error:
            raise DecodeError(str(error), offset_bytes=place, path="message") from error
        yield value


def whole_prefix(view: memoryview) -> int:
    """How many bytes of an XSpace are whole fields: what comes before a torn tail."""
    end = 0
    try:
        for field in fields(view):
            end = field.end
    except ValueError:
        pass
    return end
