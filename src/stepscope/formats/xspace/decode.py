"""XSpace bytes → ``Space``.

Protobuf's rules hold throughout: repeated fields append (so concatenated XSpaces are one), the
last of a scalar given twice counts, the last of duplicate map keys replaces the others, fields
that are unknown are kept. What is broken is reported with byte offset and message path; a broken
message keeps what comes before the place, and messages after it are read when the framing
around them still holds.
"""

from __future__ import annotations

import dataclasses
import mmap
from typing import Final

import numpy as np

from stepscope.columns.space import I32, I64, KIND_REF, Events, Plane, Space, Stats, UnknownFields
from stepscope.errors import DecodeError
from stepscope.formats.recognise import looks_like
from stepscope.formats.xspace.cold_fields import DamageLog, Fields, index, joined
from stepscope.formats.xspace.headers import Headers, read_headers, set_origin
from stepscope.formats.xspace.ids import IdRows, MissingIds
from stepscope.formats.xspace.lines import (
    DecodeProgress,
    Filler,
    Forget,
    RawLine,
    Reading,
    allocate,
    fill_all,
    leftovers,
    over_lines,
    scan,
    trim,
)
from stepscope.formats.xspace.metadata import (
    Entries,
    Missing,
    RawStats,
    as_unknown,
    event_metadata_rows,
    read_children,
    read_entries,
    read_stats,
    stat_metadata_rows,
    unknown_fields,
)
from stepscope.formats.xspace.texts import TextReader
from stepscope.kernels.cores import cores
from stepscope.limits import current
from stepscope.records import dataclass
from stepscope.schema.xspace import Wire, XEventMetadata, XPlane, XSpace

_SPACE_FIELDS: Final = tuple((number, Wire.LEN) for number in XSpace)
_PLANE_FIELDS: Final = (
    (XPlane.ID, Wire.VARINT),
    *((number, Wire.LEN) for number in XPlane if number is not XPlane.ID),
)


class BytesGone(Exception):
    """Lines turned out to be damaged after their bytes were given back: read the file again."""


def decode(
    buffer: bytes | bytearray | memoryview | mmap.mmap,
    *,
    file: str = "",
    threads: int | None = None,
    progress: DecodeProgress | None = None,
    strict: bool = False,
    forget: Forget | None = None,
) -> Space:
    """Decode one XSpace (or several, concatenated).

    Args:
        buffer: Uncompressed bytes, which nobody may change or cut while the columns are in use.
        file: Name for reports.
        threads: At most this many lines at a time; the cores this process may use by default.
        progress: Called with (bytes done, bytes to do) now and then, from worker threads.
        strict: Raise what would be ``Space.damage``.
        forget: Called with stretches of the buffer, from worker threads, once they are in columns
            and nobody reads them again; not where the file is seen to be damaged before that.

    Raises:
        BytesGone: Damage was found when bytes were already given back by ``forget``.
        DecodeError: Nothing in the bytes is readable as an XSpace, or ``strict`` and damage.
        LimitError: It has more planes and lines than any recording.
    """
    view = memoryview(buffer).cast("B")
    damage = DamageLog()
    whole = np.array([0], np.int64), np.array([len(view)], np.int64)
    top = index(view, *whole, XSpace, lambda _: "XSpace", damage, containers=(XSpace.PLANES,))
    recognised = len(top) - len(top.other_than(_SPACE_FIELDS))
    _check_kind(view, damage, recognised > 0, file)
    damage.missing_bytes = _missing_bytes(view, top)
    planes = top.of(XSpace.PLANES, Wire.LEN)
    # Each takes about 1 kB, from two bytes.
    budget = current()
    budget.spend("tracks", len(planes))
    reader = _Reader(view, damage, planes, threads or cores(), forget)
    budget.spend("tracks", len(reader.fields.of(XPlane.LINES, Wire.LEN)))
    space = reader.read(top, progress, file)
    _check_kind(view, damage, recognised > 0, file)
    if strict and space.damage is not None:
        raise space.damage
    return space


def _check_kind(view: memoryview, damage: DamageLog, recognised: bool, file: str) -> None:
    """Raise if the bytes are of another kind, which damage is the sign of."""
    wrong = looks_like(view, damaged=bool(damage), recognised=recognised)
    if wrong is not None:
        error = damage.first(file)
        raise DecodeError(
            wrong.reason,
            offset_bytes=error.offset_bytes if error else 0,
            path=error.path if error else "XSpace",
            file=file,
            hint=wrong.hint,
        )


def _missing_bytes(view: memoryview, top: Fields) -> int:
    """How many bytes the last field of the space has less than it says."""
    if not len(top) or int(top.tag[-1]) & 7 != Wire.LEN:
        return 0
    size = shift = 0
    for byte in view[int(top.prefix[-1]) : int(top.payload[-1])]:
        size |= (byte & 0x7F) << shift
        shift += 7
    return size - (int(top.end[-1]) - int(top.payload[-1]))


def _path(plane: int) -> str:
    return f"XSpace.planes[{plane}]"


@dataclass(slots=True)
class _Reader:
    """The state of one decode.

    Attributes:
        view: The file.
        damage: What is broken so far.
        planes: The fields that hold the planes.
        fields: The fields of all planes.
        texts: Reads the names.
        threads: How many lines at a time.
        forget: Takes bytes that nobody reads again.
    """

    view: memoryview
    damage: DamageLog
    planes: Fields
    threads: int
    forget: Forget | None
    fields: Fields = dataclasses.field(init=False)
    texts: TextReader = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        self.texts = TextReader(self.view)
        self.fields = index(
            self.view,
            self.planes.payload,
            self.planes.end,
            XPlane,
            _path,
            self.damage,
            containers=(XPlane.LINES, XPlane.EVENT_METADATA, XPlane.STAT_METADATA, XPlane.STATS),
        )

    def read(self, top: Fields, progress: DecodeProgress | None, file: str) -> Space:
        """Everything, coldest first: what ids mean is known before events are filled."""
        view, damage, count = self.view, self.damage, len(self.planes)
        event_entries = read_entries(self.texts, self.fields, XPlane.EVENT_METADATA, damage, _path)
        stat_entries = read_entries(self.texts, self.fields, XPlane.STAT_METADATA, damage, _path)
        ids = _Ids.of(event_entries, stat_entries, count)
        plane_stats, plane_stat_begin = self._plane_stats()
        metadata_stats, metadata_stat_begin = self._metadata_stats(event_entries)
        resolved_plane_stats = plane_stats.resolve(ids.stats)
        resolved_metadata_stats = metadata_stats.resolve(ids.stats)
        lines = self._lines()
        reading = Reading(progress, 2 * sum(line.end - line.begin for line in lines))
        over_lines(lambda line: scan(view, line, reading), lines, self.threads)
        headers = read_headers(self.texts, lines)
        origin_ns, events, stats, unknown = self._fill(lines, headers, ids, reading)
        children = read_children(view, event_entries, damage)
        missing_events, missing_stats = ids.settle(
            events, (stats, resolved_plane_stats, resolved_metadata_stats)
        )
        space = Space(
            buffer=view,
            planes=self._plane_rows(plane_stat_begin),
            lines=headers.lines(lines),
            events=events,
            event_stats=stats,
            plane_stats=resolved_plane_stats,
            event_metadata=event_metadata_rows(
                view, event_entries, missing_events, metadata_stat_begin, children
            ),
            metadata_stats=resolved_metadata_stats,
            stat_metadata=stat_metadata_rows(stat_entries, missing_stats),
            errors=self._texts(top, XSpace.ERRORS),
            warnings=self._texts(top, XSpace.WARNINGS),
            hostnames=self._texts(top, XSpace.HOSTNAMES),
            origin_ns=origin_ns,
            unknown=(
                *as_unknown("space", unknown_fields(view, top.other_than(_SPACE_FIELDS))),
                *as_unknown("plane", self._unknown_of_planes(event_entries.odd, stat_entries.odd)),
                *as_unknown("line", headers.unknown),
                *unknown,
                *as_unknown("plane_stat", plane_stats.unknown),
                *as_unknown("metadata_stat", metadata_stats.unknown),
                *as_unknown("event_metadata", event_entries.unknown),
                *as_unknown("stat_metadata", stat_entries.unknown),
            ),
            damage=damage.first(file),
            raw_text=self.texts.raw,
        )
        return space

    def _lines(self) -> list[RawLine]:
        fields = self.fields.of(XPlane.LINES, Wire.LEN)
        first = np.searchsorted(fields.parent, fields.parent)
        return [
            RawLine(plane, i - i0, begin, end)
            for i, (plane, i0, begin, end) in enumerate(
                zip(
                    fields.parent.tolist(),
                    first.tolist(),
                    fields.payload.tolist(),
                    fields.end.tolist(),
                    strict=True,
                )
            )
        ]

    def _fill(
        self, lines: list[RawLine], headers: Headers, ids: _Ids, reading: Reading
    ) -> tuple[int, Events, Stats, list[UnknownFields]]:
        """The events. Where lines are damaged, a second time, with room for what stands."""
        forget = None if self.damage else self.forget
        while True:
            origin_ns = set_origin(lines, headers.timestamp_ns)
            events, stats = allocate(
                sum(line.events for line in lines), sum(line.stats for line in lines)
            )
            filler = Filler(self.view, events, stats, ids.events, ids.stats, reading, forget)
            filled = fill_all(filler, lines, self.threads)
            if not trim(lines, filled, self.damage):
                break
            if forget is not None:
                raise BytesGone
        unknown, occurrences = leftovers(filled)
        events.occurrences.update(occurrences)
        return origin_ns, events, stats, unknown

    def _plane_stats(self) -> tuple[RawStats, I64]:
        fields = self.fields.of(XPlane.STATS, Wire.LEN)

        def path(stat: int) -> str:
            plane = int(fields.parent[stat])
            return f"{_path(plane)}.stats[{stat - int(np.searchsorted(fields.parent, plane))}]"

        begin = np.searchsorted(fields.parent, np.arange(len(self.planes) + 1)).astype(np.int64)
        return read_stats(self.view, fields, fields.parent, self.damage, path), begin

    def _metadata_stats(self, entries: Entries) -> tuple[RawStats, I64]:
        fields = entries.fields.of(XEventMetadata.STATS, Wire.LEN)

        def path(stat: int) -> str:
            row = int(fields.parent[stat])
            nth = stat - int(np.searchsorted(fields.parent, row))
            return f"{entries.path(row)}.stats[{nth}]"

        begin = np.searchsorted(fields.parent, np.arange(len(entries.id) + 1)).astype(np.int64)
        plane = entries.plane[fields.parent].astype(np.int64)
        return read_stats(self.view, fields, plane, self.damage, path), begin

    def _plane_rows(self, stat_begin: I64) -> tuple[Plane, ...]:
        count = len(self.planes)
        ids, names = [0] * count, [""] * count
        given = self.fields.of(XPlane.ID, Wire.VARINT)
        for plane, number in zip(
            given.parent.tolist(), given.value.view(np.int64).tolist(), strict=True
        ):
            ids[plane] = number
        given = self.fields.of(XPlane.NAME, Wire.LEN)
        for plane, begin, end in zip(
            given.parent.tolist(), given.payload.tolist(), given.end.tolist(), strict=True
        ):
            names[plane] = self.texts.read(begin, end)
        lines = self.fields.of(XPlane.LINES, Wire.LEN)
        line_begin = np.searchsorted(lines.parent, np.arange(count + 1)).tolist()
        stats = stat_begin.tolist()
        return tuple(
            Plane(ids[i], names[i], line_begin[i], line_begin[i + 1], stats[i], stats[i + 1])
            for i in range(count)
        )

    def _unknown_of_planes(self, *odd_entries: Fields) -> list[tuple[int, bytes]]:
        fields = self.fields.other_than(_PLANE_FIELDS)
        if not self.damage:
            # Nothing has looked inside these; in a damaged file they could be broken themselves.
            fields = joined([fields, *odd_entries])
        return unknown_fields(self.view, fields[np.argsort(fields.begin)])

    def _texts(self, top: Fields, number: XSpace) -> tuple[str, ...]:
        fields = top.of(number, Wire.LEN)
        spans = zip(fields.payload.tolist(), fields.end.tolist(), strict=True)
        return tuple(self.texts.read(begin, end) for begin, end in spans)


@dataclass(slots=True)
class _Ids:
    """What the ids of each plane mean, and the ids that mean nothing."""

    events: list[IdRows]
    stats: list[IdRows]
    missing_events: MissingIds
    missing_stats: MissingIds

    @classmethod
    def of(cls, event_entries: Entries, stat_entries: Entries, planes: int) -> _Ids:
        missing_events = MissingIds(len(event_entries.id))
        missing_stats = MissingIds(len(stat_entries.id))
        return cls(
            event_entries.rows_of(planes, missing_events),
            stat_entries.rows_of(planes, missing_stats),
            missing_events,
            missing_stats,
        )

    def settle(self, events: Events, stats: tuple[Stats, ...]) -> tuple[Missing, Missing]:
        """Give the rows of missing ids their final order, and return (plane, id) of each."""
        missing_events, final = self.missing_events.sorted()
        _renumber(events.metadata, self.missing_events.first_row, final)
        missing_stats, final = self.missing_stats.sorted()
        for columns in stats:
            _renumber(columns.key, self.missing_stats.first_row, final)
            if len(final):
                refs = np.flatnonzero(columns.kind == KIND_REF)
                value = columns.value[refs].astype(np.int64)
                _renumber(value, self.missing_stats.first_row, final)
                columns.value[refs] = value.astype(np.uint64)
        return missing_events, missing_stats


def _renumber(rows: I32 | I64, first: int, final: I32) -> None:
    if len(final):
        late = np.flatnonzero(rows >= first)
        rows[late] = final[rows[late] - first]
