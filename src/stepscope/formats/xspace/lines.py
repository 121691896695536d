"""The hot part: events of all lines into columns, one thread per line.

Two passes over each line: count, so that every column is allocated once; then fill in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Lock
from typing import Final, TypeVar

import numpy as np

from stepscope.columns.space import (
    I64,
    KIND_BYTES,
    KIND_STR,
    U8,
    Events,
    Stats,
    UnknownFields,
)
from stepscope.columns.texts import ENDS_BYTES
from stepscope.formats.xspace.cold_fields import DamageLog, list_events_aside
from stepscope.formats.xspace.ids import IdRows
from stepscope.kernels import core
from stepscope.kernels.cores import on_cores
from stepscope.records import dataclass, field
from stepscope.schema.xspace import Wire, XLine, tag

DecodeProgress = Callable[[int, int], None]
#: Takes the stretches, begin and end of each, that nobody reads again.
Forget = Callable[[Iterable[tuple[int, int]]], None]
T = TypeVar("T")

CHUNK_BYTES: Final = 4 << 20
_NOTES: Final = 4096
_EVENTS: Final = tag(XLine.EVENTS, Wire.LEN)
_UNKNOWN_EVENT, _UNKNOWN_STAT, _NEW_EVENT_ID, _NEW_STAT_ID, _NEW_REF, _OCCURRENCES = range(6)


@dataclass(slots=True)
class RawLine:
    """Where one line is in the file, and how much is in it.

    Attributes:
        plane: Row of its plane.
        number: Which line of its plane it is.
        begin, end: Its bytes.
        events, stats: How many it holds.
        header: Blocks of its fields that are not events (``cold_fields.in_block``).
        shift_ps: To be added to offsets.
    """

    plane: int
    number: int
    begin: int
    end: int
    events: int = 0
    stats: int = 0
    header: tuple[I64, ...] = ()
    shift_ps: int = 0

    @property
    def path(self) -> str:
        """Message path, for reports."""
        return f"XSpace.planes[{self.plane}].lines[{self.number}]"


@dataclass(slots=True)
class Filled:
    """What filling one line left over for plain code.

    Attributes:
        unknown: ``{(level, row): pieces}`` of fields to keep as they stand.
        occurrences: ``{event row: num_occurrences}``.
        error: (byte offset, path, code) where the line broke, and
        end, events, stats: what comes before that place.
    """

    unknown: dict[tuple[str, int], list[bytes]] = field(default_factory=dict)
    occurrences: dict[int, int] = field(default_factory=dict)
    error: tuple[int, str, int] | None = None
    end: int = 0
    events: int = 0
    stats: int = 0


class Reading:
    """Tells how much of the lines is read, from any thread."""

    def __init__(self, progress: DecodeProgress | None, total_bytes: int) -> None:
        self.progress = progress
        self.total_bytes = total_bytes
        self.done_bytes = 0
        self.lock = Lock()

    def done(self, begin: int, end: int) -> None:
        """Bytes ``begin:end`` are read."""
        if self.progress is not None and end > begin:
            with self.lock:
                self.done_bytes += end - begin
                self.progress(self.done_bytes, self.total_bytes)


def over_lines(work: Callable[[RawLine], T], lines: list[RawLine], threads: int) -> list[T]:
    """``work`` on each line, big lines first, many small lines together; results in line order."""
    order = sorted(range(len(lines)), key=lambda i: lines[i].begin - lines[i].end)
    results: list[T | None] = [None] * len(lines)

    def run(batch: Iterable[int]) -> None:
        for i in batch:
            results[i] = work(lines[i])

    on_cores(run, _batches(order, lines), "stepscope-decode", threads)
    return [result for result in results if result is not None]


def _batches(order: list[int], lines: list[RawLine]) -> list[list[int]]:
    batches: list[list[int]] = []
    room = 0
    for i in order:
        if room <= 0:
            batches.append([])
            room = 1 << 18
        batches[-1].append(i)
        room -= lines[i].end - lines[i].begin + 64
    return batches


def scan(buffer: memoryview, line: RawLine, reading: Reading) -> None:
    """Count the events and stats of a line, and list its other fields."""
    before = line.begin
    listed = list_events_aside(buffer, line.begin, line.end, _EVENTS, CHUNK_BYTES)
    for at, header, line.events, line.stats in listed:
        if header.size:
            line.header += (header,)
        reading.done(before, at)
        before = at


def allocate(events: int, stats: int) -> tuple[Events, Stats]:
    """Empty columns; the offsets end right."""
    stat_begin = np.empty(events + 1, np.int64)
    stat_begin[events] = stats
    return (
        Events(
            metadata=np.empty(events, np.int32),
            start_ps=np.empty(events, np.int64),
            duration_ps=np.empty(events, np.int64),
            data=np.empty(events, np.uint8),
            stat_begin=stat_begin,
        ),
        Stats(
            key=np.empty(stats, np.int32),
            kind=np.empty(stats, np.uint8),
            value=np.empty(stats, np.uint64),
        ),
    )


@dataclass(slots=True)
class Filler:
    """Writes lines into the columns; one instance serves all threads.

    Attributes:
        buffer: The file.
        events, stats: The columns.
        event_ids, stat_ids: Rows of metadata ids, by plane.
        reading: Told about what is read.
        forget: Takes what is read and holds no text, so that columns take its place.
    """

    buffer: memoryview
    events: Events
    stats: Stats
    event_ids: list[IdRows]
    stat_ids: list[IdRows]
    reading: Reading
    forget: Forget | None = None

    def fill(self, line: RawLine, first_event: int, first_stat: int) -> Filled:
        """Write one line: events from row ``first_event`` on, stats from ``first_stat`` on."""
        filled = Filled()
        notes = np.empty(4 * _NOTES, np.uint64)
        events, stats = slice(first_event + line.events), slice(first_stat + line.stats)
        reader = core.read.LineReader(
            self.buffer,
            (
                self.events.metadata[events].data,
                self.events.start_ps[events].view(np.uint64).data,
                self.events.duration_ps[events].view(np.uint64).data,
                self.events.data[events].data,
                self.events.stat_begin[events].data,
            ),
            (self.stats.key[stats].data, self.stats.kind[stats].data, self.stats.value[stats].data),
            line.begin,
            first_event,
            first_stat,
        )
        shift = line.shift_ps & (1 << 64) - 1
        event_ids, stat_ids = self.event_ids[line.plane], self.stat_ids[line.plane]
        while reader.at < line.end and not reader.error:
            before, stat = reader.at, reader.stat
            tables = event_ids.table.data, stat_ids.table.data
            reader.fill(line.end, before + CHUNK_BYTES, shift, *tables, notes.data)
            if reader.full and not reader.noted:
                notes = np.empty(2 * len(notes), np.uint64)
            self._take_notes(notes[: 4 * reader.noted].reshape(-1, 4), line.plane, filled)
            self.reading.done(before, reader.at)
            self._forget(before, reader.at, self.stats.kind[stat : reader.stat])
        filled.end = reader.at
        filled.events = reader.row - first_event
        filled.stats = reader.stat - first_stat
        if reader.error:
            path = f"{line.path}.events[{filled.events}]"
            if reader.error_stat >= 0:
                path += f".stats[{reader.error_stat}]"
            filled.error = reader.error_at, path, reader.error
        return filled

    def _forget(self, begin: int, end: int, kinds: U8) -> None:
        if self.forget is None or ((kinds == KIND_STR) | (kinds == KIND_BYTES)).any():
            return
        begin, end = max(begin, ENDS_BYTES), min(end, len(self.buffer) - ENDS_BYTES)
        if begin < end:
            self.forget([(begin, end)])

    def _take_notes(
        self, notes: np.ndarray[tuple[int, ...], np.dtype[np.uint64]], plane: int, filled: Filled
    ) -> None:
        if not len(notes):
            return
        what, rows = notes[:, 0], notes[:, 1].view(np.int64)
        for kind, ids, column in (
            (_NEW_EVENT_ID, self.event_ids, self.events.metadata),
            (_NEW_STAT_ID, self.stat_ids, self.stats.key),
            (_NEW_REF, self.stat_ids, self.stats.value),
        ):
            mine = what == kind
            if mine.any():
                column[rows[mine]] = ids[plane].resolve(np.ascontiguousarray(notes[mine, 2]))
        for kind, level in ((_UNKNOWN_EVENT, "event"), (_UNKNOWN_STAT, "event_stat")):
            for row, begin, end in notes[what == kind, 1:].tolist():
                filled.unknown.setdefault((level, row), []).append(bytes(self.buffer[begin:end]))
        for row, count, _ in notes[what == _OCCURRENCES, 1:].tolist():
            filled.occurrences[row] = count - (1 << 64) if count >> 63 else count


def fill_all(filler: Filler, lines: list[RawLine], threads: int) -> list[Filled]:
    """Fill all lines into the columns, one after the other by row, in parallel by time."""
    first_event = np.cumsum([0, *(line.events for line in lines)])
    first_stat = np.cumsum([0, *(line.stats for line in lines)])
    place = {id(line): i for i, line in enumerate(lines)}

    def work(line: RawLine) -> Filled:
        i = place[id(line)]
        return filler.fill(line, int(first_event[i]), int(first_stat[i]))

    return over_lines(work, lines, threads)


def trim(lines: list[RawLine], filled: list[Filled], damage: DamageLog) -> bool:
    """Shorten damaged lines to what comes before the damage; whether there were any."""
    trimmed = False
    for line, result in zip(lines, filled, strict=True):
        if result.error is not None:
            offset, path, code = result.error
            damage.add(offset, path, code)
            line.end, line.events, line.stats = result.end, result.events, result.stats
            trimmed = True
        elif (line.events, line.stats) != (result.events, result.stats):
            line.events, line.stats = result.events, result.stats
            trimmed = True
    return trimmed


def leftovers(filled: list[Filled]) -> tuple[list[UnknownFields], dict[int, int]]:
    """Unknown fields and occurrences of all lines, in row order."""
    unknown = [
        UnknownFields(level, row, b"".join(pieces))
        for result in filled
        for (level, row), pieces in result.unknown.items()
    ]
    occurrences = {row: count for result in filled for row, count in result.occurrences.items()}
    return unknown, occurrences


def offsets(counts: Iterable[int]) -> I64:
    """CSR offsets of groups of these sizes."""
    return np.cumsum(np.fromiter((0, *counts), np.int64), dtype=np.int64)
