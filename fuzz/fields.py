"""Messages whose framing holds: fields change, and the lengths around them are written again.

Bytes changed at random break the framing nine times in ten, so that little gets past it. Here a
field goes missing, comes twice, moves to another message, or gets another number, type or value.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

from stepscope.schema.xspace import (
    MapEntry,
    Wire,
    XEvent,
    XEventMetadata,
    XLine,
    XPlane,
    XSpace,
)
from stepscope.wire import write as wire
from stepscope.wire.read import fields

#: Which fields of a message hold messages, and of which kind: of an XSpace, and of an HloProto.
_INSIDE: Final[dict[tuple[str, int], str]] = {
    ("space", XSpace.PLANES): "plane",
    ("plane", XPlane.LINES): "line",
    ("plane", XPlane.EVENT_METADATA): "entry",
    ("plane", XPlane.STAT_METADATA): "entry",
    ("plane", XPlane.STATS): "stat",
    ("entry", MapEntry.VALUE): "metadata",
    ("metadata", XEventMetadata.STATS): "stat",
    ("line", XLine.EVENTS): "event",
    ("event", XEvent.STATS): "stat",
    ("program", 1): "module",
    ("program", 3): "memory",
    ("module", 3): "computation",
    ("module", 7): "schedule",
    ("module", 17): "stacks",
    ("computation", 2): "instruction",
    ("instruction", 3): "shape",
    ("instruction", 7): "source",
    ("instruction", 15): "window",
    ("shape", 4): "shape",
    ("shape", 5): "layout",
    ("schedule", 1): "order",
    ("order", 2): "sequence",
    ("stacks", 3): "place",
    ("stacks", 4): "frame",
    ("memory", 1): "buffer",
    ("memory", 3): "block",
    ("memory", 4): "heap",
    ("buffer", 3): "defined",
    ("block", 9): "placed",
    ("heap", 1): "moment",
}
_EDGES: Final = (0, 1, 2, 3, 127, 128, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1)
_LARGEST_NUMBER: Final = 15
_FIXED_BYTES: Final = {Wire.FIXED64: 8, Wire.FIXED32: 4}


@dataclass
class Piece:
    """A field: the payload of one that holds bytes or a number, or the fields of a message."""

    number: int
    wire: int
    payload: bytes
    inside: list[Piece] | None = None

    def encoded(self) -> bytes:
        """The field as bytes, its length counted again."""
        payload = self.payload if self.inside is None else joined(self.inside)
        length = wire.varint(len(payload)) if self.wire == Wire.LEN else b""
        return wire.varint(self.number << 3 | self.wire) + length + payload


def joined(pieces: list[Piece]) -> bytes:
    """A message of these fields."""
    return b"".join(piece.encoded() for piece in pieces)


def taken_apart(data: bytes | memoryview, kind: str = "space") -> list[Piece]:
    """The fields of a message, and of those inside; raises ``ValueError`` for broken ones."""
    view = memoryview(data)
    pieces = []
    for field in fields(view):
        payload = view[field.payload : field.end]
        inner = _INSIDE.get((kind, field.number)) if field.wire == Wire.LEN else None
        pieces.append(Piece(field.number, field.wire, bytes(payload), _inside(payload, inner)))
    return pieces


def _inside(payload: memoryview, kind: str | None) -> list[Piece] | None:
    if kind is None:
        return None
    try:
        return taken_apart(payload, kind)
    except ValueError:  # such as a group, which stays as it is
        return None


def _messages(pieces: list[Piece]) -> list[list[Piece]]:
    """The message of these fields and all those inside of it."""
    found = [pieces]
    for piece in pieces:
        if piece.inside is not None:
            found += _messages(piece.inside)
    return found


def _change(rng: random.Random, messages: list[list[Piece]]) -> None:
    """One change in one of the messages that have fields."""
    message = rng.choice(messages)
    at = rng.randrange(len(message))
    piece = message[at]
    what = rng.randrange(6)
    if what == 0:
        del message[at]
    elif what == 1:
        message.insert(rng.randrange(len(message) + 1), piece)
    elif what == 2:
        rng.choice(messages).append(piece if piece.inside is None else _leaf(piece))
    elif what == 3:
        message[at] = Piece(rng.randint(1, _LARGEST_NUMBER), piece.wire, _leaf(piece).payload)
    elif what == 4:
        kind = rng.choice((Wire.VARINT, Wire.FIXED64, Wire.LEN, Wire.FIXED32))
        message[at] = Piece(piece.number, kind, _value(rng, kind))
    else:
        message[at] = Piece(piece.number, piece.wire, _value(rng, piece.wire))


def _leaf(piece: Piece) -> Piece:
    """A field as bytes, so that it can be put where it holds no message of its own."""
    if piece.inside is None:
        return piece
    return Piece(piece.number, piece.wire, joined(piece.inside))


def _value(rng: random.Random, kind: int) -> bytes:
    number = rng.choice(_EDGES)
    if kind == Wire.VARINT:
        return wire.varint(number)
    if kind == Wire.LEN:
        return rng.choice((b"", b"\xff", b"text", b"\x08\x01", wire.varint(number)))
    return number.to_bytes(8, "little")[: _FIXED_BYTES[Wire(kind)]]


def reframed(rng: random.Random, seed: bytes, kind: str = "space") -> bytes:
    """A seed with a few fields changed; itself where its framing does not hold."""
    try:
        space = taken_apart(seed, kind)
    except ValueError:
        return seed
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        messages = [one for one in _messages(space) if one]
        if messages:
            _change(rng, messages)
    return joined(space)
