"""Hypothesis strategies for XSpace bytes as hostile as the wire format allows.

Every message holds any of its fields in any order and number, fields that are unknown, fields
with a wire type that is not theirs, groups, and numbers that take more bytes than they need.
"""

from __future__ import annotations

import struct
from functools import cache

from hypothesis import strategies as st

Bytes = st.SearchStrategy[bytes]

# message → {field number: kind}; a kind is a scalar or the name of a message.
SCHEMA = {
    "XSpace": {1: "XPlane", 2: "text", 3: "text", 4: "text"},
    "XPlane": {
        1: "int",
        2: "text",
        3: "XLine",
        4: "EventEntry",
        5: "StatEntry",
        6: "XStat",
    },
    "XLine": {1: "int", 2: "text", 3: "time", 4: "XEvent", 9: "int", 10: "int", 11: "text"},
    "XEvent": {1: "id", 2: "time", 3: "time", 4: "XStat", 5: "int"},
    "XStat": {1: "id", 2: "double", 3: "int", 4: "int", 5: "text", 6: "text", 7: "id"},
    "EventEntry": {1: "id", 2: "XEventMetadata"},
    "StatEntry": {1: "id", 2: "XStatMetadata"},
    "XEventMetadata": {1: "id", 2: "text", 3: "text", 4: "text", 5: "XStat", 6: "packed"},
    "XStatMetadata": {1: "id", 2: "text", 3: "text"},
}


def varint(number: int, extra: int = 0) -> bytes:
    """A number, in up to ``extra`` bytes more than it needs."""
    out = bytearray()
    number &= (1 << 64) - 1
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    for _ in range(min(extra, 10 - len(out))):
        out[-1] |= 0x80
        out.append(0)
    return bytes(out)


def tag(number: int, wire: int, extra: int = 0) -> bytes:
    return varint(number << 3 | wire, min(extra, 1))


def framed(number: int, payload: bytes, extra: int = 0) -> bytes:
    return tag(number, 2, extra) + varint(len(payload), extra) + payload


_EXTRA = st.sampled_from([0, 0, 0, 0, 0, 1, 2])
_INT64 = st.integers(-(2**63), 2**63 - 1)
_SCALARS: dict[str, st.SearchStrategy[int]] = {
    "int": st.one_of(st.integers(0, 300), _INT64),
    "id": st.one_of(
        st.integers(0, 9), st.integers(0, 9), _INT64, st.sampled_from([-1, 2**31, 2**63 - 1])
    ),
    "time": st.one_of(st.integers(0, 10**6), st.sampled_from([0, 1_700_000_000 * 10**9]), _INT64),
}
_TEXT = st.one_of(st.text(max_size=6).map(str.encode), st.binary(max_size=6))


@st.composite
def _unknown(draw: st.DrawFn, depth: int = 0) -> bytes:
    number = draw(st.one_of(st.integers(1, 12), st.sampled_from([15, 16, 2047, 2**29 - 1])))
    wire = draw(st.sampled_from([0, 1, 2, 5, 3] if depth < 3 else [0, 1, 2, 5]))
    head = tag(number, wire, draw(_EXTRA))
    if wire == 0:
        return head + varint(draw(_INT64), draw(_EXTRA))
    if wire == 1:
        return head + draw(st.binary(min_size=8, max_size=8))
    if wire == 5:
        return head + draw(st.binary(min_size=4, max_size=4))
    if wire == 2:
        payload = draw(st.binary(max_size=5))
        return head + varint(len(payload), draw(_EXTRA)) + payload
    inner = b"".join(draw(st.lists(_unknown(depth + 1), max_size=2)))
    return head + inner + tag(number, 4)


@st.composite
def _field(draw: st.DrawFn, number: int, kind: str) -> bytes:
    extra = draw(_EXTRA)
    if kind in _SCALARS:
        return tag(number, 0, extra) + varint(draw(_SCALARS[kind]), extra)
    if kind == "double":
        value = draw(st.floats() | st.just(float("nan")))
        return tag(number, 1, extra) + struct.pack("<d", value)
    if kind == "text":
        return framed(number, draw(_TEXT), extra)
    if kind == "packed":
        children = [varint(child, extra) for child in draw(st.lists(_INT64, max_size=4))]
        if draw(st.booleans()):
            return framed(number, b"".join(children), extra)
        return b"".join(tag(number, 0, extra) + child for child in children)
    return framed(number, draw(message(kind)), extra)


@cache
def message(name: str) -> Bytes:
    """Bytes of one message."""
    known = st.one_of([_field(number, kind) for number, kind in SCHEMA[name].items()])
    fields = st.one_of(known, known, known, known, known, known, _unknown())
    return st.lists(fields, max_size=6).map(b"".join)


def spaces() -> Bytes:
    """XSpaces that hold at least a host name, so that they are recognised as such."""
    return message("XSpace").map(lambda body: framed(4, b"host") + body)
