"""Mutations of XSpace bytes, and seeds to mutate."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Final

from stepscope.schema.xspace import (
    MapEntry,
    XEvent,
    XEventMetadata,
    XLine,
    XPlane,
    XSpace,
    XStat,
)
from stepscope.wire import write as wire

# Numbers at which something overflows, ends or begins.
_EDGES: Final = (0, 1, 127, 128, 255, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1)
_TAGS: Final = (0x00, 0x08, 0x0A, 0x0B, 0x0C, 0x0D, 0x10, 0x11, 0x12, 0x18, 0x22, 0x2A, 0x38, 0xFF)
_LARGEST_SEED: Final = 300_000

Mutation = Callable[[random.Random, bytearray], None]


def small_space() -> bytes:
    """An XSpace with every field, small enough that each byte is hit soon."""
    stats = (
        wire.number(XStat.METADATA_ID, 1) + wire.number(XStat.INT64_VALUE, -5),
        wire.number(XStat.METADATA_ID, 2) + wire.fixed64(XStat.DOUBLE_VALUE, 0x3FF << 52),
        wire.number(XStat.METADATA_ID, 3) + wire.text(XStat.STR_VALUE, "text"),
        wire.number(XStat.METADATA_ID, 3) + wire.blob(XStat.BYTES_VALUE, b"\xff\x00"),
        wire.number(XStat.METADATA_ID, 1) + wire.number(XStat.REF_VALUE, 2),
        wire.number(XStat.METADATA_ID, 900) + wire.number(XStat.UINT64_VALUE, 2**64 - 1),
    )
    event_stats = b"".join(wire.blob(XEvent.STATS, stat) for stat in stats)
    events = (
        wire.number(XEvent.METADATA_ID, 1) + wire.number(XEvent.OFFSET_PS, 9) + event_stats,
        wire.number(XEvent.METADATA_ID, 2) + wire.number(XEvent.NUM_OCCURRENCES, 3),
        wire.number(XEvent.METADATA_ID, 77) + wire.number(XEvent.DURATION_PS, 10**9),
        wire.number(13, 1) + b"\x73\x08\x01\x74",
    )
    line = wire.number(XLine.ID, 4) + wire.text(XLine.NAME, "line")
    line += wire.number(XLine.TIMESTAMP_NS, 10**18)
    line += b"".join(wire.blob(XLine.EVENTS, event) for event in events) * 3
    line += wire.number(XLine.DISPLAY_ID, 5) + wire.text(XLine.DISPLAY_NAME, "shown")
    entry = wire.number(XEventMetadata.ID, 1) + wire.text(XEventMetadata.NAME, "op")
    entry += wire.blob(XEventMetadata.STATS, stats[0])
    entry += wire.blob(XEventMetadata.CHILD_ID, wire.varint(3) + wire.varint(2**64 - 1))
    plane = wire.text(XPlane.NAME, "plane") + wire.blob(XPlane.LINES, line) * 2
    for which in (XPlane.EVENT_METADATA, XPlane.STAT_METADATA):
        for key in (1, 2, 3, 2**40):
            body = wire.number(MapEntry.KEY, key) + wire.blob(MapEntry.VALUE, entry)
            plane += wire.blob(which, body)
    plane += wire.blob(XPlane.STATS, stats[2])
    return wire.text(XSpace.HOSTNAMES, "host") + wire.blob(XSpace.PLANES, plane) * 2


def seeds(corpus: Path | None) -> list[bytes]:
    """The built-in seed, and the small files below ``corpus``."""
    found = [small_space()]
    if corpus is not None:
        files = sorted(path for path in corpus.rglob("*.pb") if path.is_file())
        found += [path.read_bytes() for path in files if path.stat().st_size <= _LARGEST_SEED]
    return found


def _flip_bit(rng: random.Random, data: bytearray) -> None:
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _set_byte(rng: random.Random, data: bytearray) -> None:
    data[rng.randrange(len(data))] = rng.choice((rng.randrange(256), *_TAGS))


def _truncate(rng: random.Random, data: bytearray) -> None:
    del data[rng.randrange(1, len(data) + 1) :]


def _delete(rng: random.Random, data: bytearray) -> None:
    at = rng.randrange(len(data))
    del data[at : at + rng.randrange(1, 9)]


def _insert_number(rng: random.Random, data: bytearray) -> None:
    at = rng.randrange(len(data))
    data[at:at] = wire.varint(rng.choice(_EDGES))


def _overwrite_number(rng: random.Random, data: bytearray) -> None:
    at, number = rng.randrange(len(data)), wire.varint(rng.choice(_EDGES))
    data[at : at + len(number)] = number


def _repeat(rng: random.Random, data: bytearray) -> None:
    begin = rng.randrange(len(data))
    part = data[begin : begin + rng.randrange(1, 65)]
    at = rng.randrange(len(data))
    data[at:at] = part * rng.randrange(1, 4)


def _nest_groups(rng: random.Random, data: bytearray) -> None:
    at = rng.randrange(len(data))
    data[at:at] = b"\x73" * rng.randrange(1, 200)


_MUTATIONS: Final[tuple[Mutation, ...]] = (
    _flip_bit,
    _set_byte,
    _truncate,
    _delete,
    _insert_number,
    _overwrite_number,
    _repeat,
    _nest_groups,
)


def mutated(rng: random.Random, seed: bytes) -> bytes:
    """A seed with a few mutations."""
    data = bytearray(seed)
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        rng.choice(_MUTATIONS)(rng, data)
        if not data:
            break
    return bytes(data)
