"""The messages of the profiler's gRPC service: any bytes are a message or a DecodeError."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fuzz.mutate import mutated
from fuzz.target import Target
from stepscope.capture.rpc.protocol import messages
from stepscope.capture.rpc.protocol.codec import Message
from stepscope.errors import DecodeError

_KINDS: tuple[type[Message], ...] = tuple(
    kind
    for kind in vars(messages).values()
    if isinstance(kind, type) and issubclass(kind, Message) and kind is not Message
)


def _filled(kind: type[Message], depth: int = 3) -> Message:
    """A message with a value in every field."""
    message = kind()
    for name, field in kind.FIELDS.items():
        value: Any = {"uint": 7, "int": -7, "bool": True, "text": "text", "bytes": b"\xff"}.get(
            field.kind if isinstance(field.kind, str) else ""
        )
        if isinstance(field.kind, type):
            value = _filled(field.kind, depth - 1) if depth else field.kind()
        setattr(message, name, {"one": value, "list": [value], "map": {"key": value}}[field.many])
    return message


def _seeds(corpus: Path | None) -> list[bytes]:
    return [_filled(kind).encode() for kind in _KINDS]


def _attempt(data: bytes) -> str:
    outcomes = []
    for kind in _KINDS:
        try:
            message = kind.decode(data)
        except DecodeError:
            outcomes.append("-")
            continue
        again = kind.decode(message.encode())
        assert again == message, f"{kind.__name__} is not read as it was written"
        outcomes.append("+")
    return "".join(outcomes)


TARGET = Target("rpc", 0.05, _seeds, mutated, _attempt)
