"""A plane written from arrays: what every recorder of ours makes its XSpace with.

Names and texts are kept once; a line takes its events as NumPy arrays on the wall clock. There is
no Python per event: a million events with two stats take about half a second.

    plane = PlaneWriter("/host:CPU")
    step, op = plane.names(["train", "MatMul"])
    plane.line(tid, "python", metadata=..., start_ns=..., duration_ns=..., stats=[
        Stat("step_num", numbers, rows=where_steps_are),
    ])
    xspace = plane.xspace()        # the bytes of several planes can be put one after the other
    space = space_of([plane])      # or the columns, without the bytes (``written.py``)
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from stepscope.formats.xspace.event_bytes import I64, StatValues, encode_events
from stepscope.limits import MAX_NAME_CHARS, current, cut_name
from stepscope.records import dataclass
from stepscope.schema.xspace import (
    MapEntry,
    XEventMetadata,
    XLine,
    XPlane,
    XSpace,
    XStat,
    XStatMetadata,
)
from stepscope.utf8 import text_of
from stepscope.wire import write as wire

#: What a plane or an event's name may say.
Value = int | float | str
_PS_PER_NS: Final = 1000


@dataclass(frozen=True, slots=True, eq=False)
class Stat:
    """A named value of some events of a line.

    Attributes:
        name: Its name, one of ``schema.names`` where there is one.
        values: Integers, unsigned integers or floats; ids of ``PlaneWriter.text`` for texts.
        rows: Which events have it, as places in the arrays given to ``line`` (None: all), each
            once.
        is_text: Whether ``values`` are ids of texts.
    """

    name: str
    values: NDArray[Any]
    rows: NDArray[np.integer[Any]] | None = None
    is_text: bool = False


class WrittenStat(NamedTuple):
    """A value of a plane or of an event's name; ``bits`` as in ``StatValues``."""

    key: int
    kind: XStat
    bits: int


class WrittenName(NamedTuple):
    """What the events of one id are called, and what they share."""

    name: str
    display: str
    stats: tuple[WrittenStat, ...]


@dataclass(frozen=True, slots=True, eq=False)
class WrittenLine:
    """A line whose events are in order of time, containers before their contents.

    Attributes:
        id, name, display_name: As given.
        timestamp_ns: Start of the first event.
        metadata: Id of each event's name.
        offset_ps: Start of each after ``timestamp_ns``.
        duration_ps: Length of each.
        stats: What else they carry; ``rows`` ascend.
    """

    id: int
    name: str
    display_name: str
    timestamp_ns: int
    metadata: NDArray[np.int32]
    offset_ps: I64
    duration_ps: I64
    stats: tuple[StatValues, ...]

    @property
    def event_count(self) -> int:
        """How many events it has."""
        return len(self.metadata)

    @property
    def stat_count(self) -> int:
        """How many stats they carry."""
        return sum(len(stat.bits) for stat in self.stats)

    def pieces(self) -> Iterator[WrittenLine]:
        """The line itself."""
        yield self


class LineInPieces(Protocol):
    """A line whose events may be made while they are written (``merged_line.py``)."""

    @property
    def id(self) -> int:
        """As for ``PlaneWriter.line``."""

    @property
    def name(self) -> str:
        """As for ``PlaneWriter.line``."""

    @property
    def display_name(self) -> str:
        """As for ``PlaneWriter.line``."""

    @property
    def timestamp_ns(self) -> int:
        """Start of the first event."""

    @property
    def event_count(self) -> int:
        """How many events it has."""

    @property
    def stat_count(self) -> int:
        """How many stats they carry, at most."""

    def pieces(self) -> Iterator[WrittenLine]:
        """The events in order, a block after the other; all of one ``timestamp_ns``."""


class PlaneWriter:
    """One plane on the way to its bytes or its columns.

    Args:
        name: Of the plane, such as ``/host:CPU``.
        id: The plane's number; only devices have one that means something.

    Attributes:
        plane_id, plane_name: As given.
        lines: Written so far.
        named: What ids of events mean, from 1 on.
        stats: Of the plane itself.
        events: Events written so far.
    """

    def __init__(self, name: str, *, id: int = 0) -> None:
        current().spend("tracks", 1)
        self.plane_id, self.plane_name = id, name
        self.lines: list[LineInPieces] = []
        self.named: list[WrittenName] = []
        self.stats: list[WrittenStat] = []
        self.events = 0
        self._event_names: dict[WrittenName, int] = {}
        self._texts: dict[str, int] = {}

    @property
    def stat_texts(self) -> list[str]:
        """What ids of texts mean, from 1 on."""
        return list(self._texts)

    def name(
        self, name: str, *, display: str = "", stats: Mapping[str, Value] | None = None
    ) -> int:
        """The id of an event name, for ``metadata`` of ``line``.

        Args:
            name: What the events are called.
            display: What a viewer shows instead.
            stats: Values that all events of this name share.
        """
        shared = tuple([self._stat(*one) for one in stats.items()]) if stats else ()
        if len(name) > MAX_NAME_CHARS:
            name = text_of(cut_name(_utf8(name)))
        # One object for both: files of samples may have a name for each line of a program.
        named = WrittenName(name, display, shared)
        known = self._event_names.get(named)
        if known is None:
            known = self._event_names[named] = len(self._event_names) + 1
            self.named.append(named)
        return known

    def names(self, names: Iterable[str]) -> I64:
        """The ids of several event names."""
        return np.asarray([self.name(name) for name in names], dtype=np.int64)

    def text(self, text: str) -> int:
        """The id of a text, for stats with ``is_text``."""
        known = self._texts.get(text)
        if known is None:
            known = self._texts[text] = len(self._texts) + 1
            current().spend("text", len(text))
        return known

    def texts(self, texts: Iterable[str]) -> I64:
        """The ids of several texts."""
        return np.asarray([self.text(text) for text in texts], dtype=np.int64)

    def stat(self, name: str, value: Value) -> None:
        """A value of the plane itself, such as a device's memory size."""
        self.stats.append(self._stat(name, value))

    def line(
        self,
        id: int,
        name: str,
        *,
        metadata: NDArray[Any],
        start_ns: NDArray[Any],
        duration_ns: NDArray[Any] | None = None,
        stats: Sequence[Stat] = (),
        display_name: str = "",
        rest_ps: tuple[I64, I64] | None = None,
    ) -> None:
        """A line of events; they are put in order of time, containers before their contents.

        Several lines of one id are one thread to every reader.

        Args:
            id: Thread id, stream or any number that tells lines of the plane apart.
            name: Of the line.
            metadata: Id of each event's name, from ``name``.
            start_ns: Absolute, ``time.time_ns()``.
            duration_ns: Length of each (None: instants). Negative counts as 0.
            stats: What else events carry.
            display_name: What a viewer shows instead of the name.
            rest_ps: What starts and durations have beyond whole ns, each of either sign.

        Raises:
            ValueError: Arrays of different lengths.
        """
        offset_ps = np.array(start_ns, dtype=np.int64)
        metadata = np.asarray(metadata, dtype=np.int32)
        length_ps = np.zeros(len(offset_ps), np.int64)
        if duration_ns is not None:
            length_ps = np.maximum(duration_ns, 0).astype(np.int64)
        if not len(offset_ps) == len(metadata) == len(length_ps):
            raise ValueError("metadata, start_ns and duration_ns must be of one length")
        length_ps *= _PS_PER_NS
        if rest_ps is not None:
            offset_ps -= rest_ps[0] < 0
            length_ps += rest_ps[1]
            np.maximum(length_ps, 0, out=length_ps)
        origin = int(offset_ps.min()) if len(offset_ps) else 0
        offset_ps -= origin
        offset_ps *= _PS_PER_NS
        if rest_ps is not None:
            offset_ps += rest_ps[0] % _PS_PER_NS
        order = in_order(offset_ps, length_ps)
        if order is not None:
            metadata, offset_ps, length_ps = metadata[order], offset_ps[order], length_ps[order]
        line = WrittenLine(
            id,
            name,
            display_name,
            origin,
            metadata,
            offset_ps,
            length_ps,
            self._placed(stats, len(metadata), order),
        )
        self.add(line)

    def add(self, line: LineInPieces) -> None:
        """A line whose events are in order."""
        current().spend("tracks", 1)
        current().spend("objects", line.event_count)
        self.lines.append(line)
        self.events += line.event_count

    def xspace(self, *, hostname: str = "") -> bytes:
        """The plane as a whole XSpace; those of several planes may be concatenated."""
        head = wire.number(XPlane.ID, self.plane_id)
        head += wire.blob(XPlane.NAME, _utf8(self.plane_name))
        parts = [head, *map(_line_field, self.lines)]
        parts += [
            _entry(XPlane.EVENT_METADATA, number, _name_fields(number, named))
            for number, named in enumerate(self.named, 1)
        ]
        for text, number in self._texts.items():
            body = wire.number(XStatMetadata.ID, number)
            body += wire.blob(XStatMetadata.NAME, _utf8(text))
            parts.append(_entry(XPlane.STAT_METADATA, number, body))
        parts += [wire.blob(XPlane.STATS, _stat_fields(stat)) for stat in self.stats]
        host = wire.blob(XSpace.HOSTNAMES, _utf8(hostname))
        return b"".join([host, wire.prefix(XSpace.PLANES, sum(map(len, parts))), *parts])

    def _stat(self, name: str, value: Value) -> WrittenStat:
        key = self.text(name)
        if isinstance(value, str):
            return WrittenStat(key, XStat.REF_VALUE, self.text(value))
        if isinstance(value, float):
            bits = int.from_bytes(struct.pack("<d", value), "little")
            return WrittenStat(key, XStat.DOUBLE_VALUE, bits)
        unsigned = value >= 1 << 63
        kind = XStat.UINT64_VALUE if unsigned else XStat.INT64_VALUE
        return WrittenStat(key, kind, value % (1 << 64))

    def _placed(
        self, stats: Sequence[Stat], count: int, order: I64 | None
    ) -> tuple[StatValues, ...]:
        """The stats with the places their events got; None: those they had."""
        every = place = np.arange(count, dtype=np.int32)
        if order is not None:
            place = np.empty_like(every)
            place[order] = every
        found = []
        for stat in stats:
            kind, bits = stat_bits(stat)
            rows = place if stat.rows is None else stat.rows
            if stat.rows is not None and order is not None:
                rows = place[stat.rows]
            if len(rows) != len(bits):
                raise ValueError(f"stat {stat.name!r} has {len(bits)} values for {len(rows)} rows")
            if (rows[1:] <= rows[:-1]).any():
                by_row = np.argsort(rows, kind="stable")
                rows, bits = rows[by_row], bits[by_row]
                if (rows[1:] == rows[:-1]).any():
                    raise ValueError(f"stat {stat.name!r} has two values for one event")
            found.append(StatValues(self.text(stat.name), kind, rows, bits))
        return tuple(found)


def in_order(offset_ps: I64, length_ps: I64) -> I64 | None:
    """The order by time, containers before their contents; None where it is the one given."""
    before, after = offset_ps[:-1], offset_ps[1:]
    if ((before < after) | ((before == after) & (length_ps[:-1] >= length_ps[1:]))).all():
        return None
    return np.lexsort((-length_ps, offset_ps))


def _line_field(line: LineInPieces) -> bytes:
    head = (
        wire.number(XLine.ID, line.id)
        + wire.blob(XLine.NAME, _utf8(line.name))
        + wire.number(XLine.TIMESTAMP_NS, line.timestamp_ns)
        + wire.blob(XLine.DISPLAY_NAME, _utf8(line.display_name))
    )
    events = chain.from_iterable(
        encode_events(one.metadata, one.offset_ps, one.duration_ps, one.stats)
        for one in line.pieces()
    )
    return wire.blob(XPlane.LINES, b"".join([head, *events]), always=True)


def _name_fields(number: int, named: WrittenName) -> bytes:
    body = (
        wire.number(XEventMetadata.ID, number)
        + wire.blob(XEventMetadata.NAME, _utf8(named.name))
        + wire.blob(XEventMetadata.DISPLAY_NAME, _utf8(named.display))
    )
    return body + b"".join(
        wire.blob(XEventMetadata.STATS, _stat_fields(stat)) for stat in named.stats
    )


def _stat_fields(stat: WrittenStat) -> bytes:
    key = wire.number(XStat.METADATA_ID, stat.key)
    if stat.kind is XStat.DOUBLE_VALUE:
        return key + wire.fixed64(stat.kind, stat.bits)
    return key + wire.number(stat.kind, stat.bits, always=True)


def stat_bits(stat: Stat) -> tuple[XStat, NDArray[Any]]:
    """How the values of a stat are written on the wire; integers stay as narrow as they are."""
    values = np.asarray(stat.values)
    if values.dtype.kind == "f":
        return XStat.DOUBLE_VALUE, values.astype(np.float64).view(np.uint64)
    kind = XStat.UINT64_VALUE if values.dtype.kind == "u" else XStat.INT64_VALUE
    return (XStat.REF_VALUE if stat.is_text else kind), values


def _entry(which: XPlane, key: int, value: bytes) -> bytes:
    body = wire.number(MapEntry.KEY, key, always=True)
    return wire.blob(which, body + wire.blob(MapEntry.VALUE, value, always=True))


def _utf8(text: str) -> bytes:
    """The text as protobuf's strings must be; lone surrogates become question marks."""
    return text.encode("utf-8", "replace")
