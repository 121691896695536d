"""Walking a small protobuf message in plain Python: for the few messages inside stats.

The XSpace itself is decoded by the kernels; this reads what travels *in* its bytes stats
(HLO modules, core details), which are few. Fields come as they stand; nothing is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.errors import DecodeError

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def fields(data: bytes | memoryview) -> Iterator[tuple[int, int | bytes]]:
    """``(field number, value)`` of a message: varints and fixed numbers as int, the rest as bytes.

    Raises:
        DecodeError: The bytes are no protobuf message; the offset is relative to ``data``.
    """
    view = memoryview(data)
    place, end = 0, len(view)
    while place < end:
        start = place
        tag, place = _varint(view, place)
        number, wire = tag >> 3, tag & 7
        value: int | bytes
        if wire == VARINT:
            value, place = _varint(view, place)
        elif wire == BYTES:
            size, place = _varint(view, place)
            if size > end - place:
                raise DecodeError(
                    "a field runs past its message", offset_bytes=start, path="message"
                )
            value = bytes(view[place : place + size])
            place += size
        elif wire in (FIXED64, FIXED32):
            size = 8 if wire == FIXED64 else 4
            if size > end - place:
                raise DecodeError("a number is cut off", offset_bytes=start, path="message")
            value = int.from_bytes(view[place : place + size], "little")
            place += size
        else:
            raise DecodeError(
                f"wire type {wire} does not exist", offset_bytes=start, path="message"
            )
        yield number, value


def packed_varints(data: bytes) -> Iterator[int]:
    """The numbers of a packed repeated field."""
    view, place = memoryview(data), 0
    while place < len(view):
        value, place = _varint(view, place)
        yield value


def _varint(view: memoryview, place: int) -> tuple[int, int]:
    value = shift = 0
    for at in range(place, min(place + 10, len(view))):
        byte = view[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at + 1
        shift += 7
    raise DecodeError("a number is cut off", offset_bytes=place, path="message")
