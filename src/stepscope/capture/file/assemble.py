"""From what recorders give to the planes of one file: one clock, and facts of the host.

A framework's lines count from its own ``profile_start_time``, ours from 1970; in the file all count
from the recording's origin, which its ``Task Environment`` plane states. Only the heads of lines
are rewritten: events keep their offsets and are copied as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from stepscope.capture.file.label_escaping import unescaped
from stepscope.records import dataclass, field
from stepscope.schema import names
from stepscope.schema.xspace import (
    MapEntry,
    Wire,
    XLine,
    XPlane,
    XSpace,
    XStat,
    XStatMetadata,
)
from stepscope.wire import write as wire
from stepscope.wire.read import Field, fields

Pieces = list[bytes | memoryview]
Value = int | str | bytes

# Nanoseconds from 1970 have been more than this since 1973; from a recording's start, never.
_ABSOLUTE_NS: Final = 10**17
# Ids of stats added to a plane that a framework wrote: beyond any it has counted up to.
_FIRST_OWN_STAT: Final = 1 << 40
PROFILE_OPTIONS: Final = "profile_options"


@dataclass(frozen=True, slots=True)
class Clock:
    """What a framework's ``Task Environment`` says: its start, and the options it really used."""

    start_ns: int = 0
    options: bytes = b""


@dataclass(slots=True)
class Assembly:
    """Planes on the way into a file.

    Attributes:
        origin_ns: Where the file's time begins, ``time.time_ns()``.
        suffix: Appended to the names of planes, to distinguish a child process's from its parent's.
        payloads: Plane by plane, name and content.
        messages: Errors and warnings that came with them, as fields of the XSpace.
    """

    origin_ns: int
    suffix: str = ""
    payloads: list[tuple[str, Pieces]] = field(default_factory=list)
    messages: Pieces = field(default_factory=list)

    def add(self, xspace: bytes) -> Clock:
        """Take over one recorder's planes; returns what its ``Task Environment`` said.

        Raises:
            ValueError: The bytes are not an XSpace.
        """
        view = memoryview(xspace)
        top = list(fields(view))
        clock = _clock(view, top)
        for one in top:
            if one.number == XSpace.PLANES and one.wire == Wire.LEN:
                name = _name_of(view, one)
                if name != names.ENVIRONMENT_PLANE:
                    shift = clock.start_ns - self.origin_ns
                    pieces = _rebased(view, one, shift, self.origin_ns)
                    self.payloads.append((name, pieces))
            elif one.number in (XSpace.ERRORS, XSpace.WARNINGS):
                self.messages.append(view[one.begin : one.end])
        return clock

    def add_stats(self, plane: str, stats: Mapping[str, Value]) -> None:
        """Add stats to a plane, which is created if there is none of this name."""
        for name, pieces in self.payloads:
            if name == plane:
                pieces.append(_stats(stats))
                return
        self.payloads.append((plane, [_stats(stats)]))

    @property
    def repeated(self) -> bool:
        """Whether several planes have one name, which only some readers merge."""
        known = [name for name, _ in self.payloads]
        return len(set(known)) < len(known)

    def pieces(self) -> Pieces:
        """The XSpace's bytes, but for its host name."""
        out: Pieces = []
        for name, payload in self.payloads:
            head = wire.text(XPlane.NAME, name + self.suffix)
            size = len(head) + sum(map(len, payload))
            out += [wire.prefix(XSpace.PLANES, size), head, *payload]
        return out + self.messages


def message(kind: XSpace, text: str) -> bytes:
    """An error or a warning of the XSpace."""
    return wire.text(kind, text)


def hostname(name: str) -> bytes:
    """The XSpace's host name."""
    return wire.text(XSpace.HOSTNAMES, name)


def size_of(pieces: Iterable[bytes | memoryview]) -> int:
    """Bytes of all pieces."""
    return sum(map(len, pieces))


def _name_of(view: memoryview, plane: Field) -> str:
    for one in fields(view, plane.payload, plane.end):
        if one.number == XPlane.NAME and one.wire == Wire.LEN:
            return _text(view, one)
    return ""


def _text(view: memoryview, one: Field) -> str:
    return bytes(view[one.payload : one.end]).decode("utf-8", "replace")


def _rebased(view: memoryview, plane: Field, shift_ns: int, origin_ns: int) -> Pieces:
    """The plane's content without its name, lines moved to the file's clock."""
    pieces: Pieces = []
    for one in fields(view, plane.payload, plane.end):
        if one.number == XPlane.NAME:
            continue
        if one.number == XPlane.LINES and one.wire == Wire.LEN:
            pieces += _line(view, one, shift_ns, origin_ns)
        elif one.number in (XPlane.EVENT_METADATA, XPlane.STAT_METADATA):
            pieces.append(unescaped(view[one.begin : one.end]))
        else:
            pieces.append(view[one.begin : one.end])
    return pieces


def _line(view: memoryview, line: Field, shift_ns: int, origin_ns: int) -> Pieces:
    head: Pieces = []
    timestamp_ns, rest = 0, line.end
    for one in fields(view, line.payload, line.end):
        if one.number == XLine.EVENTS:
            rest = one.begin
            break
        if one.number == XLine.TIMESTAMP_NS:
            timestamp_ns = one.value
        else:
            head.append(view[one.begin : one.end])
    is_absolute = timestamp_ns > _ABSOLUTE_NS
    moved = timestamp_ns - origin_ns if is_absolute else timestamp_ns + shift_ns
    head.append(wire.number(XLine.TIMESTAMP_NS, moved))
    events = view[rest : line.end]
    return [wire.prefix(XPlane.LINES, size_of(head) + len(events)), *head, events]


def _clock(view: memoryview, top: list[Field]) -> Clock:
    """The clock in the first ``Task Environment`` plane; an empty one when there is none."""
    for plane in top:
        if plane.number != XSpace.PLANES or _name_of(view, plane) != names.ENVIRONMENT_PLANE:
            continue
        meaning: dict[int, str] = {}
        values: dict[int, int | bytes] = {}
        for one in fields(view, plane.payload, plane.end):
            if one.number == XPlane.STAT_METADATA:
                key, name = _stat_name(view, one)
                meaning[key] = name
            elif one.number == XPlane.STATS:
                key, value = _stat_value(view, one)
                values[key] = value
        named = {meaning.get(key, ""): value for key, value in values.items()}
        start, options = named.get(names.PROFILE_START), named.get(PROFILE_OPTIONS)
        return Clock(
            start if isinstance(start, int) else 0, options if isinstance(options, bytes) else b""
        )
    return Clock()


def _stat_name(view: memoryview, entry: Field) -> tuple[int, str]:
    key, name = 0, ""
    for one in fields(view, entry.payload, entry.end):
        if one.number == MapEntry.KEY:
            key = one.value
        elif one.number == MapEntry.VALUE and one.wire == Wire.LEN:
            for part in fields(view, one.payload, one.end):
                if part.number == XStatMetadata.NAME:
                    name = _text(view, part)
    return key, name


def _stat_value(view: memoryview, stat: Field) -> tuple[int, int | bytes]:
    key = 0
    value: int | bytes = 0
    for one in fields(view, stat.payload, stat.end):
        if one.number == XStat.METADATA_ID:
            key = one.value
        elif one.wire == Wire.LEN:
            value = bytes(view[one.payload : one.end])
        else:
            value = one.value
    return key, value


def _stats(stats: Mapping[str, Value]) -> bytes:
    out = b""
    for key, (name, value) in enumerate(stats.items(), _FIRST_OWN_STAT):
        metadata = wire.number(XStatMetadata.ID, key) + wire.text(XStatMetadata.NAME, name)
        entry = wire.number(MapEntry.KEY, key) + wire.blob(MapEntry.VALUE, metadata)
        out += wire.blob(XPlane.STAT_METADATA, entry)
        stat = wire.number(XStat.METADATA_ID, key)
        if isinstance(value, int):
            stat += wire.number(XStat.UINT64_VALUE, value, always=True)
        elif isinstance(value, bytes):
            stat += wire.blob(XStat.BYTES_VALUE, value, always=True)
        else:
            stat += wire.text(XStat.STR_VALUE, value, always=True)
        out += wire.blob(XPlane.STATS, stat)
    return out
