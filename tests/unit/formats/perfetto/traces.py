"""Perfetto traces, packet by packet."""

from __future__ import annotations

import struct

from stepscope.wire import write as wire

SEQUENCE = 7
CLEARED, NEEDS = 1, 2


def packet(*parts: bytes, at: int = -1, flags: int = 0, sequence: int = SEQUENCE) -> bytes:
    """A packet of a sequence."""
    body = wire.number(10, sequence) + wire.number(13, flags) + b"".join(parts)
    if at >= 0:
        body += wire.number(8, at)
    return wire.blob(1, body)


def interned(*entries: tuple[int, int, str]) -> bytes:
    """Texts by (field, number)."""
    return wire.blob(
        12, b"".join(wire.blob(f, wire.number(1, n) + wire.text(2, text)) for f, n, text in entries)
    )


def process(uuid: int, pid: int, name: str) -> bytes:
    """A track that is a process."""
    inner = wire.number(1, pid) + wire.text(6, name)
    return packet(wire.blob(60, wire.number(1, uuid) + wire.blob(3, inner)))


def thread(uuid: int, pid: int, tid: int, name: str, parent: int = 0) -> bytes:
    """A track that is a thread."""
    inner = wire.number(1, pid) + wire.number(2, tid) + wire.text(5, name)
    body = wire.number(1, uuid) + wire.number(5, parent) + wire.blob(4, inner)
    return packet(wire.blob(60, body))


def track(uuid: int, name: str, parent: int = 0, counter: bytes | None = None) -> bytes:
    """Any other track."""
    body = wire.number(1, uuid) + wire.text(2, name) + wire.number(5, parent)
    if counter is not None:
        body += wire.blob(8, counter, always=True)
    return packet(wire.blob(60, body))


def event(kind: int, uuid: int, *parts: bytes, name: str = "", number: int = 0) -> bytes:
    """A track event: 1 begin, 2 end, 3 instant, 4 counter."""
    body = wire.number(9, kind) + wire.number(11, uuid) + wire.text(23, name)
    return wire.blob(11, body + wire.number(10, number) + b"".join(parts))


def stat(name: str, value: int | float | str) -> bytes:
    """A debug annotation."""
    body = wire.text(10, name)
    if isinstance(value, str):
        body += wire.text(6, value)
    elif isinstance(value, float):
        body += wire.fixed64(5, int.from_bytes(struct.pack("<d", value), "little"))
    else:
        body += wire.number(4, value, always=True)
    return wire.blob(4, body)


def described(number: int, name: str, *, unit: int = 0, per: int = 0) -> bytes:
    """Name and units of a counter of a GPU."""
    body = wire.number(1, number) + wire.text(2, name) + wire.number(7, unit) + wire.number(8, per)
    return wire.blob(1, body)


def gpu_counters(gpu: int, *values: tuple[int, float], said: bytes = b"") -> bytes:
    """Samples of counters of a GPU by number: integers as such, others as doubles."""
    body = wire.blob(1, said) if said else b""
    for number, value in values:
        one = wire.number(1, number)
        if isinstance(value, int):
            one += wire.number(2, value, always=True)
        else:
            one += wire.fixed64(3, int.from_bytes(struct.pack("<d", value), "little"))
        body += wire.blob(2, one)
    return wire.blob(52, body + wire.number(3, gpu))


def clocks(*said: tuple[int, int], counts: int = 0) -> bytes:
    """A snapshot; the clock of the number ``counts`` counts from the packet before."""
    return wire.blob(
        6,
        b"".join(
            wire.blob(1, wire.number(1, n) + wire.number(2, at) + wire.number(3, int(n == counts)))
            for n, at in said
        ),
    )


def small() -> bytes:
    """Two threads, a counter, an arrow, and work of a GPU."""
    return b"".join(
        (
            packet(flags=CLEARED),
            process(1, 40, "trainer"),
            thread(2, 40, 41, "main", 1),
            track(3, "queue", 1),
            track(4, "memory", 1, wire.text(6, "MB") + wire.number(4, 2)),
            packet(interned((2, 1, "step"), (24, 5, "gemm"))),
            packet(event(1, 2, stat("loss", 0.5), stat("n", -3), stat("who", "me"), number=1),
                   at=1_000, flags=NEEDS),
            packet(event(1, 2, wire.fixed64(47, 99), name="launch"), at=1_200),
            packet(event(2, 2), at=1_300),
            packet(event(1, 3, wire.fixed64(48, 99), name="work"), at=1_400),
            packet(event(2, 3), at=1_900),
            packet(event(2, 2), at=2_000),
            packet(event(3, 2, name="mark"), at=2_100),
            packet(event(4, 4, wire.number(30, 21)), at=1_500),
            packet(wire.blob(53, wire.number(2, 250) + wire.number(13, 3) + wire.number(14, 5)
                             + wire.number(11, 1)), at=1_600, flags=NEEDS),
        )
    )  # fmt: skip
