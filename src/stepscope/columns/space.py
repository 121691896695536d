"""The columns of one XSpace: flat arrays, one row per event, stat or metadata entry.

``Space`` is the only thing that crosses from ``columns`` to ``tables``. It is lossless:
``encode(decode(data))`` gives an equal XSpace. Hierarchy is kept as CSR offsets (planes →
lines → events → stats), so a line's events are a slice and nothing is a Python object per event.

Strings stay where they are: a ``str``/``bytes`` stat's ``value`` is the byte offset of its
length prefix in ``Space.buffer``, and is read on demand.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.errors import DecodeError
from stepscope.records import dataclass, field

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
U64 = NDArray[np.uint64]
U8 = NDArray[np.uint8]
F64 = NDArray[np.float64]
Bool = NDArray[np.bool_]
#: Events whose times are looked at together.
BLOCK: Final = 4096

# Which member of XStat's `value` oneof is set; the number is the field number in XStat.
KIND_NONE: Final = 0
KIND_DOUBLE: Final = 2
KIND_UINT64: Final = 3
KIND_INT64: Final = 4
KIND_STR: Final = 5
KIND_BYTES: Final = 6
KIND_REF: Final = 7
NUMBER_KINDS: Final = (KIND_DOUBLE, KIND_UINT64, KIND_INT64)

# Which member of XEvent's `data` oneof is set; the number is the field number in XEvent.
DATA_NONE: Final = 0
DATA_OFFSET: Final = 2
DATA_OCCURRENCES: Final = 5


@dataclass(frozen=True, eq=False, slots=True)
class Stats:
    """XStats in long form, in file order.

    Attributes:
        key: Row in ``Space.stat_metadata`` (-1: the id has no metadata entry and none was made).
        kind: ``KIND_*``, the member of the value oneof.
        value: The value's 64 bits: a double's bits, an int64 or uint64 as is; for ``KIND_STR``
            and ``KIND_BYTES`` the byte offset of the length prefix in ``Space.buffer``; for
            ``KIND_REF`` the row in ``Space.stat_metadata`` whose name is the value.
    """

    key: I32
    kind: U8
    value: U64

    def __len__(self) -> int:
        return len(self.key)


@dataclass(frozen=True, eq=False, slots=True)
class Events:
    """XEvents of all lines, line after line, in file order.

    Attributes:
        metadata: Row in ``Space.event_metadata``.
        start_ps: Start relative to ``Space.origin_ns`` (the line's origin is already added).
            For ``DATA_OCCURRENCES`` events it is the line's origin.
        duration_ps: Duration; 0 is an instant. Broken recorders write negative ones, which
            ``Space.length_ps`` takes for instants.
        data: ``DATA_*``, the member of the data oneof.
        stat_begin: n+1 offsets into ``Space.event_stats``.
        occurrences: ``{event row: num_occurrences}`` for the (rare) aggregated events.
    """

    metadata: I32
    start_ps: I64
    duration_ps: I64
    data: U8
    stat_begin: I64
    occurrences: dict[int, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.metadata)


class _Named:
    """Entries of a plane's map with an id and a name."""

    name: list[str]

    @cached_property
    def rows_by_name(self) -> dict[str, list[int]]:
        """The rows of each name: planes give equal names different rows."""
        found: dict[str, list[int]] = {}
        for row, name in enumerate(self.name):
            if name in found:
                found[name].append(row)
            else:
                found[name] = [row]
        return found


@dataclass(frozen=True, eq=False)
class EventMetadata(_Named):
    """XEventMetadata of all planes, plane after plane, in file order.

    Entries that events refer to but the file lacks are added at the end, with ``present`` False.

    Attributes:
        plane: Row in ``Space.planes``.
        id: The id as recorded (unique within a plane).
        name, display_name: Text of each entry.
        stat_begin: n+1 offsets into ``Space.metadata_stats``.
        metadata: ``{row: bytes}`` for entries that carry the opaque ``metadata`` field.
        child_id: ``{row: ids}`` for entries with children.
        present: Whether the file holds the entry.
        own_id: ``{row: id}`` for entries whose own id is not their key in the map.
    """

    plane: I32
    id: I64
    name: list[str]
    display_name: list[str]
    stat_begin: I64
    metadata: dict[int, bytes]
    child_id: dict[int, tuple[int, ...]]
    present: Bool
    own_id: dict[int, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.id)


@dataclass(frozen=True, eq=False)
class StatMetadata(_Named):
    """XStatMetadata of all planes; same conventions as ``EventMetadata``."""

    plane: I32
    id: I64
    name: list[str]
    description: list[str]
    present: Bool
    own_id: dict[int, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.id)


@dataclass(frozen=True, slots=True)
class Line:
    """One XLine (a thread, a stream or a derived track).

    Attributes:
        plane: Row in ``Space.planes``.
        begin, end: Its events are rows ``begin:end`` of ``Space.events``.
        shift_ps: What was added to each event's ``offset_ps`` to get ``start_ps``.
    """

    plane: int
    id: int
    name: str
    display_id: int
    display_name: str
    timestamp_ns: int
    duration_ps: int
    begin: int
    end: int
    shift_ps: int

    @property
    def label(self) -> str:
        """The name a person sees: the display name if there is one."""
        return self.display_name or self.name


@dataclass(frozen=True, slots=True)
class Plane:
    """One XPlane. ``line_begin:line_end`` are its rows in ``Space.lines``.

    ``stat_begin:stat_end`` are its own stats in ``Space.plane_stats``.
    """

    id: int
    name: str
    line_begin: int
    line_end: int
    stat_begin: int
    stat_end: int


@dataclass(frozen=True, slots=True)
class UnknownFields:
    """Bytes of fields this version does not know, kept so that writing loses nothing.

    Attributes:
        level: "space", "plane", "line", "event", "event_stat", "plane_stat", "metadata_stat",
            "event_metadata" or "stat_metadata".
        row: Row within that level.
        data: The fields, tag and all, concatenated in file order.
    """

    level: str
    row: int
    data: bytes


@dataclass(frozen=True)
class Space:
    r"""All columns of one XSpace (several concatenated XSpaces are one: protobuf merges them).

    Attributes:
        buffer: The uncompressed bytes everything was decoded from, where the strings of stats
            are; what lies between them may have been forgotten.
        origin_ns: What ``start_ps`` 0 means, in the file's own clock (ns; a Python int).
        damage: Set when the bytes ended early or broke: everything before is decoded.
        raw_text: Bytes of names that are not UTF-8 or too long, by the text shown, which has
            ``\xff`` in place of such a byte. Every text in the columns can be encoded.
    """

    buffer: memoryview
    planes: tuple[Plane, ...]
    lines: tuple[Line, ...]
    events: Events
    event_stats: Stats
    plane_stats: Stats
    event_metadata: EventMetadata
    metadata_stats: Stats
    stat_metadata: StatMetadata
    errors: tuple[str, ...]
    warnings: tuple[str, ...]
    hostnames: tuple[str, ...]
    origin_ns: int
    unknown: tuple[UnknownFields, ...] = ()
    damage: DecodeError | None = None
    raw_text: dict[str, bytes] = field(default_factory=dict)

    @cached_property
    def line_begin(self) -> I64:
        """CSR of lines over events: len(lines)+1 offsets."""
        ends = [line.end for line in self.lines]
        return np.asarray([0, *ends], dtype=np.int64)

    @cached_property
    def length_ps(self) -> I64:
        """Duration of each event, 0 where one ends before it begins: what times are added up of."""
        duration = self.events.duration_ps
        if duration.min(initial=0) >= 0:
            return duration  # the column itself: there is nothing to fix in a sound recording
        length: I64 = np.maximum(duration, 0)
        return length

    @cached_property
    def block_spans(self) -> tuple[I64, I64]:
        """First begin and last end of each ``BLOCK`` events: a range meets few of the blocks."""
        start = self.events.start_ps
        if not len(start):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        blocks = np.arange(0, len(start), BLOCK)
        ends = np.maximum.reduceat(start + self.length_ps, blocks)
        return np.minimum.reduceat(start, blocks), ends

    @cached_property
    def event_line(self) -> I32:
        """Row in ``lines`` of each event; for a few events ``lines_of`` costs less."""
        return np.repeat(np.arange(len(self.lines), dtype=np.int32), np.diff(self.line_begin))

    def on_lines(self, lines: Iterable[int]) -> Bool:
        """Mask over events: those on these rows of ``lines``."""
        mask = np.zeros(len(self.events), dtype=bool)
        for row in lines:
            mask[self.lines[row].begin : self.lines[row].end] = True
        return mask

    def lines_of(self, rows: I64) -> I64:
        """Row in ``lines`` of each of these events."""
        found: I64 = np.searchsorted(self.line_begin, rows, side="right") - 1
        return found
