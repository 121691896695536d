"""How many events a serialised XSpace holds, without a step per event.

The events of a line follow each other, each a tag, a length and its bytes, so only the previous
event says where the next one begins. Every byte that looks like the tag is taken
for an event at first; each points to where the next would begin. What nothing points to and is not
the first cannot be an event and is dropped, then what only that pointed to, and so on. False
chains run into the true one after a few links, so a few passes over arrays leave the true ones.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.schema.xspace import Wire, XLine, XPlane, XSpace, tag
from stepscope.wire.read import fields

U8 = NDArray[np.uint8]
I64 = NDArray[np.int64]

_EVENT: Final = tag(XLine.EVENTS, Wire.LEN)
# Bytes looked at together; lines are cut at events, so any number of them fits.
_MAX_LENGTH_BYTES: Final = 5


def count_events(xspace: bytes | memoryview) -> int:
    """Events in all lines of all planes."""
    view = memoryview(xspace)
    data = np.frombuffer(view, np.uint8)
    total = 0
    for plane in fields(view):
        if plane.number != XSpace.PLANES or plane.wire != Wire.LEN:
            continue
        for line in fields(view, plane.payload, plane.end):
            if line.number == XPlane.LINES and line.wire == Wire.LEN:
                total += _events_of_line(view, data, line.payload, line.end)
    return total


def _events_of_line(view: memoryview, data: U8, begin: int, end: int) -> int:
    """Events of one line: its fields are few, but for one run of events."""
    total, at = 0, begin
    while at < end:
        if data[at] == _EVENT:
            events, size = _run(data[at:end])
            total += events
            at += size
        else:
            at = next(fields(view, at, end)).end
    return total


def _run(line: U8) -> tuple[int, int]:
    """The number of consecutive events from the first byte on, and their bytes."""
    place = np.flatnonzero(line == _EVENT)
    after = np.minimum(_next(line, place), len(line))
    while True:
        # By byte instead of by search: candidates are sorted, but there are millions.
        pointed = np.zeros(len(line) + 1, np.bool_)
        pointed[after] = True
        pointed[0] = True
        alive = pointed[place]
        if alive.all():
            break
        place, after = place[alive], after[alive]
    return len(place), int(after[-1])


def _next(line: U8, place: I64) -> I64:
    """Where what follows each candidate would begin."""
    size = np.zeros(len(place), np.int64)
    going = np.ones(len(place), np.bool_)
    at = place + 1
    for nth in range(_MAX_LENGTH_BYTES):
        inside = going & (at < len(line))
        byte = line[np.minimum(at, len(line) - 1)].astype(np.int64)
        size[inside] += (byte[inside] & 0x7F) << (7 * nth)
        at = at + inside
        going = inside & (byte >= 0x80)
        if not going.any():
            break
    return at + size
