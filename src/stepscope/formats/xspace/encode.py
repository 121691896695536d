"""``Space`` → XSpace bytes, from the columns.

Parsing the output with any protobuf library gives a message equal to parsing the original,
unknown fields included. Bytes may differ: fields come in the canonical order, numbers in their
shortest form.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

import numpy as np

from stepscope.columns.pivot import read_bytes
from stepscope.columns.space import (
    DATA_OCCURRENCES,
    DATA_OFFSET,
    KIND_BYTES,
    KIND_DOUBLE,
    KIND_NONE,
    KIND_REF,
    KIND_STR,
    EventMetadata,
    Line,
    Plane,
    Space,
    StatMetadata,
    Stats,
)
from stepscope.kernels import core
from stepscope.schema.xspace import (
    MapEntry,
    XEvent,
    XEventMetadata,
    XLine,
    XPlane,
    XSpace,
    XStat,
    XStatMetadata,
)
from stepscope.wire import write as wire

_CHUNK_BYTES: Final = 1 << 20
_MASK: Final = (1 << 64) - 1
_MEASURE: Final = np.empty(0, np.uint8).data

Number = TypeVar("Number", bound=np.generic)
Write = Callable[[bytes | memoryview], object]


def encode(space: Space) -> bytes:
    """The whole XSpace as bytes."""
    out = bytearray()
    encode_to(space, out.extend)
    return bytes(out)


def encode_to(space: Space, write: Write) -> None:
    """Write the XSpace piece by piece; a piece is valid only until ``write`` returns.

    Args:
        space: The columns.
        write: Takes each piece, such as the ``write`` of a file.

    Raises:
        ValueError: A row number in the columns is out of range.
    """
    writer = _Writer(space)
    for number, texts in (
        (XSpace.ERRORS, space.errors),
        (XSpace.WARNINGS, space.warnings),
        (XSpace.HOSTNAMES, space.hostnames),
    ):
        for text in texts:
            write(writer.text(number, text, always=True))
    for row in range(len(space.planes)):
        writer.plane(row, write)
    write(writer.kept("space", 0))


class _Writer:
    """The columns as the kernel takes them, and the fields to keep by place."""

    def __init__(self, space: Space) -> None:
        _check_rows(space)
        events, stats = space.events, space.event_stats
        self.space = space
        self.unknown: dict[tuple[str, int], bytes] = {}
        for kept in space.unknown:
            place = kept.level, kept.row
            self.unknown[place] = self.unknown.get(place, b"") + kept.data
        self.by_hand = _unusual_rows(space, self.unknown)
        self.event_id: list[int] = space.event_metadata.id.tolist()
        self.stat_id: list[int] = space.stat_metadata.id.tolist()
        self.event_rows = _rows_by_plane(space, space.event_metadata)
        self.stat_rows = _rows_by_plane(space, space.stat_metadata)
        self.kernel = core.write.LineWriter(
            space.buffer,
            (
                _packed(events.metadata),
                _packed(events.start_ps.view(np.uint64)),
                _packed(events.duration_ps.view(np.uint64)),
                _packed(events.data),
                _packed(events.stat_begin),
            ),
            (_packed(stats.key), _packed(stats.kind), _packed(stats.value)),
            (
                _packed(space.event_metadata.id.view(np.uint64)),
                _packed(space.stat_metadata.id.view(np.uint64)),
            ),
        )

    def text(self, number: int, value: str, *, always: bool = False) -> bytes:
        """A name as the file had it."""
        data = self.space.raw_text.get(value)
        return wire.blob(number, value.encode() if data is None else data, always=always)

    def kept(self, level: str, row: int) -> bytes:
        """Fields of a message that are written as they stood."""
        return self.unknown.get((level, row), b"")

    def plane(self, row: int, write: Write) -> None:
        """Write one plane as a field of the space."""
        plane = self.space.planes[row]
        rows = range(plane.line_begin, plane.line_end)
        heads = [self._line_head(line) for line in rows]
        sizes = [
            len(head) + self._events_size(line) for line, head in zip(rows, heads, strict=True)
        ]
        first = wire.number(XPlane.ID, plane.id) + self.text(XPlane.NAME, plane.name)
        last = b"".join(self._metadata(row)) + b"".join(self._plane_stats(plane))
        last += self.kept("plane", row)
        total = len(first) + len(last)
        total += sum(wire.framed_size(XPlane.LINES, size) for size in sizes)
        write(wire.prefix(XSpace.PLANES, total) + first)
        for line, head, size in zip(rows, heads, sizes, strict=True):
            write(wire.prefix(XPlane.LINES, size) + head)
            self._write_events(line, write)
        write(last)

    def _line_head(self, row: int) -> bytes:
        line = self.space.lines[row]
        return (
            wire.number(XLine.ID, line.id)
            + self.text(XLine.NAME, line.name)
            + wire.number(XLine.TIMESTAMP_NS, line.timestamp_ns)
            + wire.number(XLine.DURATION_PS, line.duration_ps)
            + wire.number(XLine.DISPLAY_ID, line.display_id)
            + self.text(XLine.DISPLAY_NAME, line.display_name)
            + self.kept("line", row)
        )

    def _runs(self, line: Line) -> Iterator[tuple[int, int]]:
        """The rows of a line in runs for the kernel; after each but the last comes one by hand."""
        begin = line.begin
        at = bisect_left(self.by_hand, begin)
        while at < len(self.by_hand) and self.by_hand[at] < line.end:
            yield begin, self.by_hand[at]
            begin = self.by_hand[at] + 1
            at += 1
        yield begin, line.end

    def _measure(self, line: Line, begin: int, end: int) -> int:
        """Bytes that the events ``begin:end`` take."""
        self.kernel.write(begin, end, line.shift_ps & _MASK, _MEASURE)
        return int(self.kernel.at)

    def _events_size(self, row: int) -> int:
        line, size = self.space.lines[row], 0
        for begin, end in self._runs(line):
            size += self._measure(line, begin, end)
            if end < line.end:
                size += len(self._event(line, end))
        return size

    def _write_events(self, row: int, write: Write) -> None:
        line = self.space.lines[row]
        out = np.empty(_CHUNK_BYTES, np.uint8)
        for begin, end in self._runs(line):
            row = begin
            while row < end:
                self.kernel.write(row, end, line.shift_ps & _MASK, out.data)
                if self.kernel.row == row:
                    # One event larger than the piece.
                    out = np.empty(self._measure(line, row, row + 1), np.uint8)
                    continue
                write(out.data[: self.kernel.at])
                row = self.kernel.row
            if end < line.end:
                write(self._event(line, end))

    def _event(self, line: Line, row: int) -> bytes:
        """One event in plain code."""
        events = self.space.events
        data = int(events.data[row])
        body = wire.number(XEvent.METADATA_ID, self.event_id[int(events.metadata[row])])
        if data == DATA_OFFSET:
            offset = int(events.start_ps[row]) - line.shift_ps
            body += wire.number(XEvent.OFFSET_PS, offset, always=True)
        elif data == DATA_OCCURRENCES:
            body += wire.number(XEvent.NUM_OCCURRENCES, events.occurrences[row], always=True)
        body += wire.number(XEvent.DURATION_PS, int(events.duration_ps[row]))
        begin, end = events.stat_begin[row : row + 2].tolist()
        body += b"".join(
            self._stats(XEvent.STATS, self.space.event_stats, "event_stat", begin, end)
        )
        return wire.blob(XLine.EVENTS, body + self.kept("event", row), always=True)

    def _stats(
        self, number: int, stats: Stats, level: str, begin: int, end: int
    ) -> Iterator[bytes]:
        """Stats as fields ``number`` of what holds them."""
        for row in range(begin, end):
            body = wire.number(XStat.METADATA_ID, self.stat_id[int(stats.key[row])])
            body += self._stat_value(int(stats.kind[row]), int(stats.value[row]))
            yield wire.blob(number, body + self.kept(level, row), always=True)

    def _stat_value(self, kind: int, value: int) -> bytes:
        if kind == KIND_NONE:
            return b""
        if kind == KIND_DOUBLE:
            return wire.fixed64(kind, value)
        if kind in (KIND_STR, KIND_BYTES):
            return wire.blob(kind, read_bytes(self.space, value), always=True)
        number = self.stat_id[value] if kind == KIND_REF else value
        return wire.number(kind, number, always=True)

    def _plane_stats(self, plane: Plane) -> Iterator[bytes]:
        return self._stats(
            XPlane.STATS, self.space.plane_stats, "plane_stat", plane.stat_begin, plane.stat_end
        )

    def _metadata(self, plane: int) -> Iterator[bytes]:
        for row in self.event_rows[plane]:
            yield _entry(XPlane.EVENT_METADATA, self.event_id[row], self._event_entry(row))
        table = self.space.stat_metadata
        for row in self.stat_rows[plane]:
            value = (
                wire.number(XStatMetadata.ID, table.own_id.get(row, self.stat_id[row]))
                + self.text(XStatMetadata.NAME, table.name[row])
                + self.text(XStatMetadata.DESCRIPTION, table.description[row])
                + self.kept("stat_metadata", row)
            )
            yield _entry(XPlane.STAT_METADATA, self.stat_id[row], value)

    def _event_entry(self, row: int) -> bytes:
        table = self.space.event_metadata
        begin, end = table.stat_begin[row : row + 2].tolist()
        stats = self._stats(
            XEventMetadata.STATS, self.space.metadata_stats, "metadata_stat", begin, end
        )
        children = b"".join(wire.varint(child) for child in table.child_id.get(row, ()))
        return (
            wire.number(XEventMetadata.ID, table.own_id.get(row, self.event_id[row]))
            + self.text(XEventMetadata.NAME, table.name[row])
            + wire.blob(XEventMetadata.METADATA, table.metadata.get(row, b""))
            + self.text(XEventMetadata.DISPLAY_NAME, table.display_name[row])
            + b"".join(stats)
            + wire.blob(XEventMetadata.CHILD_ID, children)
            + self.kept("event_metadata", row)
        )


def _packed(column: np.ndarray[tuple[int, ...], np.dtype[Number]]) -> memoryview:
    return np.ascontiguousarray(column).data


def _check_rows(space: Space) -> None:
    """The kernel trusts rows and offsets; columns may come from anywhere."""
    events, stats = space.events, space.event_stats
    refs = stats.value[stats.kind == KIND_REF]
    for name, rows, size in (
        ("events.metadata", events.metadata, len(space.event_metadata)),
        ("event_stats.key", stats.key, len(space.stat_metadata)),
        ("event_stats.value", refs, len(space.stat_metadata)),
        ("events.stat_begin", events.stat_begin, len(stats) + 1),
    ):
        if len(rows) and (rows.min() < 0 or rows.max() >= size):
            raise ValueError(f"{name} has rows outside 0..{size - 1}")
    if len(events.stat_begin) != len(events) + 1:
        raise ValueError("events.stat_begin must have one more row than there are events")


def _entry(which: XPlane, key: int, value: bytes) -> bytes:
    body = wire.number(MapEntry.KEY, key, always=True)
    return wire.blob(which, body + wire.blob(MapEntry.VALUE, value, always=True))


def _unusual_rows(space: Space, unknown: dict[tuple[str, int], bytes]) -> list[int]:
    """Rows of events the kernel does not write: aggregated ones, and those with kept fields."""
    rows = {row for level, row in unknown if level == "event"} | space.events.occurrences.keys()
    stats = [row for level, row in unknown if level == "event_stat"]
    if stats:
        owners = np.searchsorted(space.events.stat_begin, stats, "right") - 1
        rows |= set(owners.tolist())
    return sorted(rows)


def _rows_by_plane(space: Space, table: EventMetadata | StatMetadata) -> list[list[int]]:
    """The entries that the file has, by plane."""
    rows: list[list[int]] = [[] for _ in space.planes]
    for row in np.flatnonzero(table.present).tolist():
        rows[int(table.plane[row])].append(row)
    return rows
