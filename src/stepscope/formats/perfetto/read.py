"""A Perfetto trace as a ``Space``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields as columns_of
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import by_place
from stepscope.columns.space import I64, Space
from stepscope.errors import FormatError
from stepscope.formats.format import Input
from stepscope.formats.messages import Texts
from stepscope.formats.perfetto.events import (
    INT,
    NO_EVENTS,
    NO_STATS,
    REAL,
    TEXT,
    Rows,
    TrackEvents,
    TrackEventStats,
    paired,
    render_stages,
    track_events,
)
from stepscope.formats.perfetto.gpu_counters import F64, GpuCounters
from stepscope.formats.perfetto.legacy import Kind
from stepscope.formats.perfetto.packets import TITLE, CompressedPackets, States, batches, inflated
from stepscope.formats.perfetto.tracks import DescribedTrack, TrackPlace, Tracks
from stepscope.formats.xspace.cold_fields import DamageLog
from stepscope.formats.xspace.line_parts import LineParts
from stepscope.formats.xspace.plane_writer import PlaneWriter, Stat
from stepscope.formats.xspace.written import space_of
from stepscope.kernels.memory import give_back
from stepscope.records import dataclass, field, replace
from stepscope.schema import names

_LACKS: Final = (
    "Imported from a Perfetto trace. It has slices, counters and arrows of tracks, no programs; "
    "what ran on threads of the host is taken for its ops."
)
_NO_CLOCK: Final = " It does not say when it was recorded: its times are on the machine's clock."
_LARGEST_BYTES: Final = 1 << 32
_REACH_NS: Final = 1 << 51  # 26 days
_IN, _OUT = 1, 2
# Tracks of fewer events than these are read together: a file may have 10,000 of a few events.
_TOGETHER_EVENTS: Final = 1 << 14
T = TypeVar("T", TrackEvents, TrackEventStats)


def open_trace(pieces: Input, *, file: str) -> Space:
    """The recording in a trace.

    Args:
        pieces: The file.
        file: Name for reports.

    Raises:
        FormatError: It has no events.
    """
    data = bytearray()
    for piece in pieces:
        data += piece
        if len(data) > _LARGEST_BYTES:
            raise FormatError(TITLE, f"it is larger than {_LARGEST_BYTES:,} bytes", file=file)
    found = _read(data, file=file)
    # What the file is made of is as large as what it says.
    del data
    if not found.count and not found.gpu_counters:
        raise FormatError(
            TITLE,
            "it has neither track events nor counters of GPUs",
            file=file,
            hint="System traces (ftrace, samples) contain no ops of a program.",
        )
    states, damage, gpu_counters = found.states, found.damage, found.gpu_counters
    planes = _Planes(
        _placed_in_time(_joined(found.events), states), _joined(found.stats), found.tracks, states
    )
    planes.write()
    planes.write_counters(gpu_counters)
    notes = [*planes.warnings(), *_warnings(states, damage)]
    written = list(planes.planes.values())
    del planes, gpu_counters, found
    give_back()
    return space_of(written, warnings=notes)


@dataclass
class _Trace:
    """What the packets of a trace say.

    Attributes:
        count: How many events there are in the parts of ``events``.
    """

    states: States
    tracks: Tracks = field(default_factory=Tracks)
    damage: DamageLog = field(default_factory=DamageLog)
    gpu_counters: GpuCounters = field(default_factory=GpuCounters)
    events: list[TrackEvents] = field(default_factory=list)
    stats: list[TrackEventStats] = field(default_factory=list)
    count: int = 0


def _read(data: bytearray, *, file: str) -> _Trace:
    """All packets, those inside others as well."""
    buffer = memoryview(data)
    found = _Trace(States(Texts(buffer)))
    try:
        _add_packets(buffer, found, is_inflated=False)
    except CompressedPackets:
        found = _Trace(States(Texts(buffer)))
        buffer = memoryview(inflated(data, found.states, file=file))
        found.states.texts = Texts(buffer)
        _add_packets(buffer, found, is_inflated=True)
    found.states.texts.close()
    return found


def _add_packets(buffer: memoryview, found: _Trace, *, is_inflated: bool) -> None:
    states, damage = found.states, found.damage
    for batch in batches(buffer, states, damage, is_inflated=is_inflated):
        found.tracks.add(buffer, batch, states, damage)
        found.gpu_counters.add(buffer, batch, states, damage)
        for events, said in (
            *track_events(buffer, batch, states, found.tracks, damage),
            render_stages(buffer, batch, states, damage),
        ):
            if found.events and not len(events.kind):
                continue
            event = (said.event + found.count).astype(np.int32)
            found.events.append(_slim(events))
            found.stats.append(TrackEventStats(event, said.name, said.kind, said.bits))
            found.count += len(events.kind)


def _joined(parts: list[T]) -> T:
    """All parts as one; what they were goes column by column."""
    kind = type(parts[0])
    columns = [[getattr(one, name.name) for one in parts] for name in columns_of(kind)]
    parts.clear()
    columns.reverse()
    return kind(*(_column(columns.pop()) for _ in range(len(columns))))


def _slim(events: TrackEvents) -> TrackEvents:
    """The same, columns of equal values as one value: most flows and lengths are 0."""
    return TrackEvents(*(_column([getattr(events, one.name)]) for one in columns_of(events)))


def _column(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """One column; where all values are equal, as one value."""
    first = parts[0][:1]
    if len(first) and all((one == first).all() for one in parts):
        return np.broadcast_to(first.copy(), sum(map(len, parts)))
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _placed_in_time(events: TrackEvents, states: States) -> TrackEvents:
    """The events on the wall clock, those with impossible times at the edge of the others."""
    return replace(events, time_ns=_within_reach(events.time_ns + (states.wall_ns or 0)))


def _within_reach(time_ns: I64) -> I64:
    if not len(time_ns):
        return time_ns
    middle = int(np.partition(time_ns, len(time_ns) // 2)[len(time_ns) // 2])
    low = max(middle, -(1 << 61)) - _REACH_NS
    return np.clip(time_ns, low, min(middle, 1 << 61) + _REACH_NS)


def _warnings(states: States, damage: DamageLog) -> Iterator[str]:
    if states.losses:
        yield (
            f"Writers lost packets {states.losses:,} times, for want of room: events are missing."
        )
    for reason, count in states.lost.items():
        yield f"{count:,} packets or values {reason}; they are left out."
    error = damage.first("")
    if error is not None:
        yield f"The trace is broken ({error.reason}): events are missing."


def _begins(event: NDArray[Any], count: int) -> NDArray[np.int32]:
    """Where the stats of each event begin, which come in the order of the events."""
    begin = np.zeros(count + 1, np.int32)
    np.cumsum(np.bincount(event, minlength=count), out=begin[1:])
    return begin


def _directions(events: TrackEvents) -> NDArray[np.int8]:
    """Whether an arrow goes into an event, out of it, or both: by time, among those of its flow."""
    rows = np.flatnonzero(events.flow != 0)
    rows = rows[np.lexsort((events.time_ns[rows], events.flow[rows]))]
    flow, ends = events.flow[rows], events.ends_flow[rows]
    changes = np.diff(flow) != 0
    is_first = np.append(np.ones(1, bool), changes | ends[:-1])[: len(rows)]
    is_last = ends | np.append(changes, np.ones(1, bool))[: len(rows)]
    found = np.zeros(len(events.kind), np.int8)
    found[rows] = np.where(is_first, 0, _IN) | np.where(is_last, 0, _OUT)
    return found


class _Planes:
    """Writes tracks as lines of planes."""

    def __init__(
        self, events: TrackEvents, stats: TrackEventStats, tracks: Tracks, states: States
    ) -> None:
        self._events, self._stats, self._tracks, self._states = events, stats, tracks, states
        self._stat_begin = _begins(stats.event, len(events.kind))
        self._direction = np.zeros(len(events.kind), np.int8)
        if not tracks.is_ours:
            self._direction = _directions(events)
        self._end_ns = int((events.time_ns + events.length_ns).max(initial=0))
        self._lines: dict[tuple[str, str, int], tuple[LineParts, list[I64]]] = {}
        self._counting = np.zeros(0, np.int32)
        self._open = self._alone = self._more_flows = self._nameless = 0
        self.planes: dict[str, PlaneWriter] = {}
        host = self._plane(names.HOST_PLANE)
        host.stat(names.IMPORTED, _LACKS + ("" if states.wall_ns is not None else _NO_CLOCK))

    def _plane(self, name: str) -> PlaneWriter:
        if name not in self.planes:
            number = name.rpartition(":")[2]
            is_device = name.startswith("/device:") and number.isdecimal() and len(number) < 6
            self.planes[name] = PlaneWriter(name, id=int(number) + 1 if is_device else 0)
        return self.planes[name]

    def write(self) -> None:
        """Every track."""
        kind, rows = self._events.kind, np.arange(len(self._events.kind), dtype=np.int32)
        self._counting = rows[kind == Kind.COUNTER]
        for uuid, mine in by_place(self._events.track, self._counting):
            self._counter(
                self._tracks.known.get(uuid, DescribedTrack()), self._tracks.place(uuid), mine
            )
        shown = np.isin(kind, (Kind.BEGIN, Kind.END, Kind.INSTANT, Kind.STATE, Kind.COMPLETE))
        for tracks, owner, mine in _together(by_place(self._events.track, rows[shown])):
            self._slices(tracks, owner, mine)
        for queue, mine in by_place(self._events.track, rows[kind == Kind.RENDER]):
            gpu, number = queue >> 32, queue & 0xFFFFFFFF
            place = TrackPlace(f"{names.GPU_PLANE}{gpu}", f"Stream #{number}", number)
            self._add(place, mine, self._events.length_ns[mine])
        # All that is read of them is in the lines now, which are as large.
        self._events, self._stats = NO_EVENTS, NO_STATS
        for number, ((plane, line, own), (part, _)) in enumerate(self._lines.items(), 1):
            part.write(self._plane(plane), own or (1 << 24) + number, line)

    def _slices(self, tracks: Sequence[int], owner: Rows, rows: Rows) -> None:
        kind = self._events.kind[rows]
        is_pair = (kind == Kind.BEGIN) | (kind == Kind.END)
        pairs, of_pair = rows[is_pair], owner[is_pair]
        slices = paired(self._events, pairs, of_pair, self._end_ns)
        self._open += slices.open_count
        self._alone += slices.alone_count
        states = np.flatnonzero(kind == Kind.STATE)
        states = states[np.lexsort((self._events.time_ns[rows[states]], owner[states]))]
        single = np.flatnonzero((kind == Kind.INSTANT) | (kind == Kind.COMPLETE))
        # By the lines of the tracks: many tracks of a stranger's may have one.
        places = list(map(self._tracks.place, tracks))
        number_of = {place: number for number, place in enumerate(dict.fromkeys(places))}
        listed = list(number_of)
        line = np.asarray([number_of[place] for place in places], np.int32)
        for chosen, of, length in (
            (pairs[slices.row], of_pair[slices.row], slices.length_ns),
            self._lasting(rows[states], owner[states]),
            (rows[single], owner[single], self._events.length_ns[rows[single]]),
        ):
            for number, mine in by_place(line[of], np.arange(len(chosen), dtype=np.int32)):
                self._add(listed[number], chosen[mine], length[mine])

    def _lasting(self, rows: Rows, owner: Rows) -> tuple[Rows, Rows, I64]:
        """States of tracks, which last until the next; one without a name is none."""
        until = np.append(self._events.time_ns[rows], self._end_ns)[1:]
        until[:-1][owner[1:] != owner[:-1]] = self._end_ns
        is_state = self._events.name[rows] >= 0
        length = (until - self._events.time_ns[rows])[is_state]
        return rows[is_state], owner[is_state], length

    def _add(self, place: TrackPlace, rows: Rows, length: I64) -> None:
        """Events on a line."""
        if not len(rows):
            return
        plane, texts = self._plane(place.plane), self._states.texts.list
        code = self._events.name[rows]
        self._nameless += int((code < 0).sum())
        used, inverse = np.unique(code, return_inverse=True)
        ids = plane.names(texts[one] if one >= 0 else "(no name)" for one in used.tolist())
        metadata = ids.astype(np.int32)[inverse]
        del code, inverse
        part, _ = self._lines.setdefault((place.plane, place.line, place.number), (LineParts(), []))
        stats = [*self._stats_of(plane, rows), *self._flows(rows)]
        part.add(metadata, self._events.time_ns[rows], length, stats)

    def _stats_of(self, plane: PlaneWriter, rows: Rows) -> Iterator[Stat]:
        """The stats of events; of two of one name the last."""
        low, high = self._stat_begin[rows], self._stat_begin[rows + 1]
        count = high - low
        total = int(count.sum())
        if not total:
            return
        event = np.repeat(np.arange(len(rows)), count)
        at = np.arange(total) - np.repeat(np.cumsum(count) - count, count) + low[event]
        name, kind, bits = self._stats.name[at], self._stats.kind[at], self._stats.bits[at]
        order = np.lexsort((np.arange(total), event, name))
        is_last = np.append(
            (np.diff(event[order]) != 0) | (np.diff(name[order]) != 0), np.ones(1, bool)
        )
        kept = order[is_last]
        texts = self._states.texts.list
        for key in np.unique(name[kept] * 4 + kind[kept]).tolist():
            mine = kept[(name[kept] == key // 4) & (kind[kept] == key % 4)]
            values = bits[mine]
            if key % 4 == TEXT:
                used, inverse = np.unique(values, return_inverse=True)
                ids = plane.texts(texts[one] for one in used.tolist())[inverse]
                yield Stat(texts[key // 4], ids, event[mine], is_text=True)
            elif key % 4 == REAL:
                yield Stat(texts[key // 4], values.view(np.float64), event[mine])
            else:
                signed = values if key % 4 == INT else values.view(np.uint64)
                yield Stat(texts[key // 4], signed, event[mine])

    def _flows(self, rows: Rows) -> list[Stat]:
        """Arrows; a trace of ours has what they were made of among its stats."""
        chosen = np.flatnonzero(self._direction[rows] > 0)
        if not len(chosen):
            return []
        number = self._events.flow[rows[chosen]] & ((1 << 56) - 1)
        packed = number << 2 | self._direction[rows[chosen]]
        return [Stat(names.FLOW, packed.astype(np.uint64), chosen)]

    def _counter(self, track: DescribedTrack, place: TrackPlace, rows: Rows) -> None:
        plane = self._plane(
            place.plane if place.plane != names.OTHER_EVENTS_PLANE else names.TELEMETRY_PLANE
        )
        rows = rows[np.argsort(self._events.time_ns[rows], kind="stable")]
        code = self._events.name[rows]
        label = track.name or (self._states.texts.list[code[0]] if code[0] >= 0 else "counter")
        said = {"unit": track.unit} if track.unit else None
        values = self._events.value[np.searchsorted(self._counting, rows)] * float(track.scale)
        _write_counter(plane, plane.name(label, stats=said), self._events.time_ns[rows], values)

    def write_counters(self, counters: GpuCounters) -> None:
        """Counters of GPUs, on the planes of theirs."""
        for one in counters.found(self._states.wall_ns or 0):
            plane = self._plane(f"{names.GPU_PLANE}{one.gpu}")
            said = {"unit": one.unit} if one.unit else None
            times = _within_reach(one.time_ns)
            _write_counter(plane, plane.name(one.name, stats=said), times, one.value)

    def warnings(self) -> Iterator[str]:
        """What a reader of numbers must know."""
        for count, text in (
            (self._open, "{} slices never end; they last to the end of the trace."),
            (self._alone, "{} ends of slices lack their begin; they are left out."),
            (self._nameless, "{} events have no name in the file."),
        ):
            if count:
                yield text.format(f"{count:,}")


def _together(
    tracks: Iterable[tuple[int, NDArray[np.int32]]],
) -> Iterator[tuple[list[int], NDArray[np.int32], NDArray[np.int32]]]:
    """Yield the numbers of some tracks, which of them each row is of, and their rows."""
    numbers: list[int] = []
    parts: list[NDArray[np.int32]] = []
    count = 0

    def joined() -> tuple[list[int], NDArray[np.int32], NDArray[np.int32]]:
        owner = np.repeat(np.arange(len(parts), dtype=np.int32), list(map(len, parts)))
        return numbers, owner, parts[0] if len(parts) == 1 else np.concatenate(parts)

    for number, rows in tracks:
        if parts and count + len(rows) > _TOGETHER_EVENTS:
            yield joined()
            numbers, parts, count = [], [], 0
        numbers.append(number)
        parts.append(rows)
        count += len(rows)
    if parts:
        yield joined()


def _write_counter(plane: PlaneWriter, name: int, time_ns: I64, value: F64) -> None:
    """A line of samples."""
    plane.line(
        (1 << 25) + len(plane.lines) + 1,
        names.COUNTER_LINE,
        metadata=np.full(len(time_ns), name),
        start_ns=time_ns,
        stats=[Stat(names.COUNTER_VALUE, value)],
    )
