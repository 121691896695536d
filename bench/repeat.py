"""A recording repeated in time: the same events again and again, each copy after the last.

What ties events together stays tied within a copy and only there: step numbers go on counting,
and ids that link producers to consumers or launches to kernels are made distinct per copy.

    python -m bench.repeat SOURCE TARGET TIMES

Lines are written piece by piece, so the memory it takes is the source's, however long the target.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np

from stepscope.columns import Events, Line, Plane, Space, Stats, UnknownFields
from stepscope.columns.space import DATA_OCCURRENCES, I32, I64, KIND_INT64, KIND_UINT64, Bool
from stepscope.formats.xspace import decode
from stepscope.formats.xspace.encode import encode
from stepscope.schema.xspace import Wire, XPlane, XSpace, tag
from stepscope.wire.read import values

# Stats that must differ between copies; those of one group name the same ids.
_LINKS: Final = (
    ("step_num",),
    ("group_id",),
    ("run_id",),
    ("element_id",),
    ("correlation_id",),
    ("_p", "_c"),
)
_GAP_PS: Final = 1_000_000
_COUNTER_LIMIT: Final = 1 << 40  # ids below are counters and go on; others are hashes and are mixed
_PIECE_EVENTS: Final = 1 << 20
_LENGTH_BYTES: Final = 5  # a padded varint: room for 32 GB, and every protobuf parser reads it


def repeat_in_time(data: bytes, times: int) -> bytes:
    """The XSpace with every line's events ``times`` times, one copy after the other."""
    target = BytesIO()
    repeat_into(target, data, times)
    return target.getvalue()


def repeat_into(target: BinaryIO, data: bytes, times: int) -> None:
    """Write the repeated XSpace to a seekable file.

    Raises:
        ValueError: There are unknown fields inside event stats; nothing says what they link.
    """
    space = decode(data, strict=True)
    if any(unknown.level == "event_stat" for unknown in space.unknown):
        raise ValueError("unknown fields inside event stats cannot be repeated")
    repeater = _Repeater.of(space, times)
    target.write(_without_planes(space))
    for plane, head in zip(space.planes, _plane_heads(space), strict=True):
        with _Framed(target, XSpace.PLANES):
            target.write(head)
            for row in range(plane.line_begin, plane.line_end):
                with _Framed(target, XPlane.LINES):
                    target.write(_line_head(space, row))
                    for piece in repeater.events_of(space.lines[row]):
                        target.write(piece)


class _Framed:
    """A message written before its length is known: the length is filled in at the end."""

    def __init__(self, target: BinaryIO, field: int) -> None:
        self.target = target
        target.write(bytes([tag(field, Wire.LEN)]) + bytes(_LENGTH_BYTES))
        self.begin = target.tell()

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        end = self.target.tell()
        parts = [(end - self.begin) >> 7 * i & 0x7F for i in range(_LENGTH_BYTES)]
        self.target.seek(self.begin - _LENGTH_BYTES)
        self.target.write(bytes([*(part | 0x80 for part in parts[:-1]), parts[-1]]))
        self.target.seek(end)


@dataclass(frozen=True)
class _Repeater:
    """Makes the copies of a line's events.

    Attributes:
        period_ps: From one copy to the next.
        links: Per group of linking stats the rows of their names, and the largest id.
    """

    space: Space
    times: int
    period_ps: int
    links: tuple[tuple[I32, int], ...]

    @classmethod
    def of(cls, space: Space, times: int) -> _Repeater:
        """What the copies have in common."""
        events, stats = space.events, space.event_stats
        timed = events.data != DATA_OCCURRENCES
        starts, ends = events.start_ps[timed], (events.start_ps + events.duration_ps)[timed]
        period_ps = int(ends.max() - starts.min()) + _GAP_PS if timed.any() else 0
        names, links = np.asarray(space.stat_metadata.name, dtype=object), []
        for group in _LINKS:
            keys = np.flatnonzero(np.isin(names, group)).astype(np.int32)
            ids = stats.value[_integers(stats) & np.isin(stats.key, keys)]
            if len(ids):
                links.append((keys, int(ids.max())))
        return cls(space, times, period_ps, tuple(links))

    def events_of(self, line: Line) -> Iterator[bytes]:
        """The bytes of the line's events, all copies, some copies at a time."""
        count = line.end - line.begin
        step = max(1, _PIECE_EVENTS // max(count, 1))
        for first in range(0, self.times, step):
            copies = np.arange(first, min(first + step, self.times))
            part = self._copied(line, copies)
            moved = replace(_NO_LINE, end=count * len(copies), shift_ps=line.shift_ps)
            yield _inner(replace(part, planes=(_ONE_PLANE,), lines=(moved,)))

    def _copied(self, line: Line, copies: I64) -> Space:
        """A space with nothing but these copies of the line's events."""
        old, rows, many = self.space.events, slice(line.begin, line.end), len(copies)
        first, last = old.stat_begin[[line.begin, line.end]].tolist()
        copy = np.repeat(copies, line.end - line.begin)
        data = np.tile(old.data[rows], many)
        moved = np.where(data != DATA_OCCURRENCES, copy * self.period_ps, 0)
        sizes = np.tile(np.diff(old.stat_begin[line.begin : line.end + 1]), many)
        events = Events(
            metadata=np.tile(old.metadata[rows], many),
            start_ps=np.tile(old.start_ps[rows], many) + moved,
            duration_ps=np.tile(old.duration_ps[rows], many),
            data=data,
            stat_begin=np.concatenate([[0], np.cumsum(sizes)]),
            occurrences={
                row: number
                for old_row, number in old.occurrences.items()
                for row in _copies_of(old_row, line, many)
            },
        )
        kept, part = self.space.event_stats, slice(first, last)
        stats = Stats(
            key=np.tile(kept.key[part], many),
            kind=np.tile(kept.kind[part], many),
            value=np.tile(kept.value[part], many),
        )
        self._relink(stats, np.repeat(copies, last - first))
        unknown = tuple(
            replace(one, row=row)
            for one in self.space.unknown
            if one.level == "event"
            for row in _copies_of(one.row, line, many)
        )
        return replace(_nameless(self.space), events=events, event_stats=stats, unknown=unknown)

    def _relink(self, stats: Stats, copy: I64) -> None:
        """Make every linking id distinct per copy."""
        for keys, largest in self.links:
            rows = np.flatnonzero(_integers(stats) & np.isin(stats.key, keys))
            times = copy[rows].astype(np.uint64)
            if largest < _COUNTER_LIMIT:
                stats.value[rows] += times * np.uint64(largest + 1)
            else:
                # Bits in the middle: neither the sign nor the size of the number changes.
                stats.value[rows] ^= times << np.uint64(40)


_ONE_PLANE: Final = Plane(0, "", 0, 1, 0, 0)
_NO_LINE: Final = Line(0, 0, "", 0, "", 0, 0, 0, 0, 0)


def _integers(stats: Stats) -> Bool:
    chosen: Bool = (stats.kind == KIND_INT64) | (stats.kind == KIND_UINT64)
    return chosen


def _copies_of(row: int, line: Line, copies: int) -> range:
    """Where the copies of an event are in a piece; nowhere if it is another line's."""
    count = line.end - line.begin
    return (
        range(row - line.begin, count * copies, count) if line.begin <= row < line.end else range(0)
    )


def _inner(space: Space) -> bytes:
    """The payload of the only line of the only plane."""
    ((_, plane),) = values(encode(space))
    assert isinstance(plane, bytes)
    ((_, line),) = values(plane)
    assert isinstance(line, bytes)
    return line


def _nameless(space: Space) -> Space:
    """The space without its names, texts and lines: only their rows still have a meaning."""
    return replace(
        space,
        planes=(),
        lines=(),
        events=_NO_EVENTS,
        event_metadata=replace(
            space.event_metadata, present=np.zeros(len(space.event_metadata), dtype=bool)
        ),
        stat_metadata=replace(
            space.stat_metadata, present=np.zeros(len(space.stat_metadata), dtype=bool)
        ),
        errors=(),
        warnings=(),
        hostnames=(),
        unknown=(),
    )


_NO_EVENTS: Final = Events(
    np.empty(0, np.int32),
    np.empty(0, np.int64),
    np.empty(0, np.int64),
    np.empty(0, np.uint8),
    np.zeros(1, np.int64),
)


def _without_planes(space: Space) -> bytes:
    return encode(
        replace(
            _nameless(space),
            errors=space.errors,
            warnings=space.warnings,
            hostnames=space.hostnames,
            unknown=_unknown(space, "space"),
        )
    )


def _plane_heads(space: Space) -> Iterator[bytes]:
    """What each plane holds besides its lines."""
    bare = replace(
        space,
        planes=tuple(replace(plane, line_begin=0, line_end=0) for plane in space.planes),
        lines=(),
        events=_NO_EVENTS,
        errors=(),
        warnings=(),
        hostnames=(),
        unknown=tuple(one for one in space.unknown if one.level not in ("space", "line", "event")),
    )
    for _number, body in values(encode(bare)):
        assert isinstance(body, bytes)
        yield body


def _line_head(space: Space, row: int) -> bytes:
    """What a line holds besides its events."""
    line = replace(space.lines[row], plane=0, begin=0, end=0)
    unknown = tuple(replace(one, row=0) for one in _unknown(space, "line") if one.row == row)
    return _inner(replace(_nameless(space), planes=(_ONE_PLANE,), lines=(line,), unknown=unknown))


def _unknown(space: Space, level: str) -> tuple[UnknownFields, ...]:
    return tuple(one for one in space.unknown if one.level == level)


def main() -> None:
    """Repeat a file from the command line."""
    source, target, times = sys.argv[1:]
    with Path(target).open("wb") as sink:
        repeat_into(sink, Path(source).read_bytes(), int(times))


if __name__ == "__main__":
    main()
