"""Protobuf fields as bytes, for what is too little for a kernel.

Numbers are taken modulo 2^64, as int64 fields are written. Fields with proto3's default value
are left out unless ``always`` says that their presence counts.
"""

from __future__ import annotations

from stepscope.schema.xspace import Wire, tag

_MASK = (1 << 64) - 1


def varint(number: int) -> bytes:
    """A number in its shortest form."""
    number &= _MASK
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def number(field: int, value: int, *, always: bool = False) -> bytes:
    """An integer field."""
    return varint(tag(field, Wire.VARINT)) + varint(value) if value or always else b""


def fixed64(field: int, bits: int) -> bytes:
    """A 64-bit field, such as a double given by its bits."""
    return varint(tag(field, Wire.FIXED64)) + bits.to_bytes(8, "little")


def prefix(field: int, size: int) -> bytes:
    """The tag and length of ``size`` bytes of payload."""
    return varint(tag(field, Wire.LEN)) + varint(size)


def framed_size(field: int, size: int) -> int:
    """Bytes of a field with ``size`` bytes of payload."""
    return len(prefix(field, size)) + size


def blob(field: int, payload: bytes, *, always: bool = False) -> bytes:
    """A bytes field, or a message."""
    return prefix(field, len(payload)) + payload if payload or always else b""


def text(field: int, value: str, *, always: bool = False) -> bytes:
    """A string field; lone surrogates become the bytes they came from."""
    return blob(field, value.encode("utf-8", "surrogateescape"), always=always)
