"""Counters: numbers over time, from counter lines and from what allocators report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import pivot
from stepscope.columns.space import I32, I64
from stepscope.records import dataclass, replace
from stepscope.schema import names
from stepscope.tables.core.planes import LineKind, planes
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.stats import Ints, metadata_texts
from stepscope.tables.device.perf_counters import counter_samples
from stepscope.timeline.model import F64, CounterTrack, Labels, Track

if TYPE_CHECKING:
    from stepscope.timeline.model import Timeline

_VALUE_STATS: Final = (names.COUNTER_VALUE, "value")


@dataclass(frozen=True, eq=False, slots=True)
class CounterCells:
    """What counters show, one entry per bucket with a change, plus the value at the left edge.

    Attributes:
        track: Of each series.
        begin: series+1 offsets over entries.
        x: Begin of the bucket in units of x.
        least, most, last: Of the values in the bucket.
    """

    track: NDArray[np.uint32]
    begin: NDArray[np.uint32]
    x: NDArray[np.uint16]
    least: F64
    most: F64
    last: F64

    def __len__(self) -> int:
        return len(self.x)


def counter_cells(
    timeline: Timeline,
    tracks: Sequence[Track],
    begin_ps: int,
    end_ps: int,
    bucket_ps: int,
    unit_ps: int,
) -> CounterCells:
    """Least, most and last value of each counter in each bucket of the view."""
    parts: list[tuple[I64, F64, F64, F64]] = []
    for track in tracks:
        if track.counter is not None:
            shift = timeline.axis.shift_ps[track.host]
            parts.append(_one(track.counter, begin_ps - shift, end_ps - shift, bucket_ps))
    x, least, most, last = (
        np.concatenate([part[i] for part in parts]) if parts else np.empty(0) for i in range(4)
    )
    return CounterCells(
        track=np.asarray([track.id for track in tracks], dtype=np.uint32),
        begin=np.cumsum([0, *(len(part[0]) for part in parts)], dtype=np.uint32),
        x=(x.astype(np.int64) // unit_ps).astype(np.uint16),
        least=least,
        most=most,
        last=last,
    )


def _one(
    counter: CounterTrack, begin_ps: int, end_ps: int, bucket_ps: int
) -> tuple[I64, F64, F64, F64]:
    """Offset from the view's begin, least, most and last per bucket; on the host's clock."""
    low, high = np.searchsorted(counter.time_ps, [begin_ps, end_ps], side="left").tolist()
    low = max(low - 1, 0)
    if high <= low:
        nothing = np.empty(0)
        return np.empty(0, np.int64), nothing, nothing, nothing
    time, value = counter.time_ps[low:high], counter.value[low:high]
    bucket = np.maximum(time - begin_ps, -1) // bucket_ps
    first = np.flatnonzero(np.diff(bucket, prepend=bucket[0] - 1))
    ends = np.append(first[1:], len(bucket)) - 1
    return (
        np.maximum(bucket[first] * bucket_ps, 0),
        np.minimum.reduceat(value, first),
        np.maximum.reduceat(value, first),
        value[ends],
    )


@dataclass(frozen=True, slots=True)
class CounterTotals:
    """What one counter shows within a range, from its first known value there on.

    Attributes:
        track: Its id.
        unit: Of the values.
        first, last: The value at the range's begin and at its end.
        least, most: Of the values that hold within the range.
        most_at_ps: When ``most`` first holds, on the axis.
        mean: Over time, each value weighed by how long it holds.
        changes: Values that were recorded within the range.
    """

    track: int
    unit: str
    first: float
    last: float
    least: float
    most: float
    most_at_ps: int
    mean: float
    changes: int


def counter_totals(
    timeline: Timeline, tracks: Sequence[Track], begin_ps: int, end_ps: int
) -> list[CounterTotals]:
    """What the counters among the tracks show in ``begin_ps:end_ps``; without a value, none."""
    found = []
    for track in tracks:
        if track.counter is not None:
            shift = timeline.axis.shift_ps[track.host]
            totals = _totals(track.id, track.counter, begin_ps - shift, end_ps - shift)
            if totals is not None:
                found.append(replace(totals, most_at_ps=totals.most_at_ps + shift))
    return found


def _totals(track: int, counter: CounterTrack, begin_ps: int, end_ps: int) -> CounterTotals | None:
    """The same of one counter, on the clock of its host."""
    within = _within(counter, begin_ps, end_ps)
    time, value = within.time_ps, within.value
    if not len(time):
        return None
    held = np.diff(time, append=end_ps)
    changes = np.subtract(*np.searchsorted(counter.time_ps, [end_ps, begin_ps], side="left"))
    peak = int(value.argmax())
    return CounterTotals(
        track=track,
        unit=counter.unit,
        first=float(value[0]),
        last=float(value[-1]),
        least=float(value.min()),
        most=float(value[peak]),
        most_at_ps=int(time[peak]),
        mean=float(np.average(value, weights=held)),
        changes=int(changes),
    )


def _within(counter: CounterTrack, begin_ps: int, end_ps: int) -> CounterTrack:
    """Its values in a range; the one that holds as the range begins stands at its begin."""
    # The last value recorded at the begin itself counts.
    low = max(int(np.searchsorted(counter.time_ps, begin_ps, side="right")) - 1, 0)
    high = int(np.searchsorted(counter.time_ps, end_ps, side="left"))
    time: I64 = np.maximum(counter.time_ps[low:high], begin_ps)
    return replace(counter, time_ps=time, value=counter.value[low:high])


@derived
def counter_tracks(host: Host) -> list[tuple[int, Track]]:
    """A track per counter of the host, each with the row of the plane it belongs to."""
    if host.whole is None or host.span_ps is None:
        return [*_recorded(host), *_allocators(host)]
    found = []
    for plane, track in counter_tracks(host.whole):
        counter = track.counter and _within(track.counter, *host.span_ps)
        if counter is not None and len(counter.time_ps):
            found.append((plane, replace(track, counter=counter)))
    return found


def _recorded(host: Host) -> list[tuple[int, Track]]:
    """Series of the counter lines: one per event name and numeric stat."""
    space, found = host.space, []
    rows = [r for r, kind in enumerate(planes(host).line_kind) if kind is LineKind.COUNTERS]
    if not rows:
        return []
    values, units = _numbers(host, _VALUE_STATS), metadata_texts(host, names.COUNTER_UNIT)
    # Some hardware counters appear under their own name.
    hardware = counter_samples(host)
    values.append((hardware.rows, hardware.readings.floats))
    for row in rows:
        line = space.lines[row]
        mine = np.arange(line.begin, line.end, dtype=np.int64)
        meta = space.events.metadata[line.begin : line.end]
        for code in np.unique(meta).tolist():
            events = mine[meta == code]
            known, value = _values_at(values, events)
            if known.any():
                name = space.event_metadata.name[code] or line.label
                time = space.events.start_ps[events[known]]
                found.append((line.plane, _track(name, time, value[known], units.get(code, ""))))
    return found


def _allocators(host: Host) -> list[tuple[int, Track]]:
    """Bytes in use of each allocator, from the events that allocators write on host threads."""
    space = host.space
    stats = (names.ALLOCATOR_NAME, names.BYTES_ALLOCATED, names.BYTES_RESERVED)
    pivoted = pivot.stats_by_name(space, stats)
    who, heap, stack = pivoted[stats[0]].texts, pivoted[stats[1]], pivoted[stats[2]]
    rows, at, mine = np.intersect1d(heap.rows, who.rows, return_indices=True)
    # The stack is in use too, as in the memory profile.
    in_use = heap.ints[at] + Ints(stack.rows, stack.ints).at(rows, 0)
    value, code = in_use.astype(np.float64), who.codes[mine]
    found = []
    for number in np.unique(code).tolist():
        events = rows[code == number]
        plane = space.lines[int(space.event_line[events[0]])].plane
        name = f"Memory in use: {who.values[number]}"
        track = _track(name, space.events.start_ps[events], value[code == number], "bytes")
        found.append((plane, track))
    return found


def _numbers(host: Host, stats: tuple[str, ...]) -> list[tuple[I64, F64]]:
    pivoted = pivot.stats_by_name(host.space, stats)
    return [(pivoted[name].rows, pivoted[name].floats) for name in stats]


def _values_at(values: list[tuple[I64, F64]], events: I64) -> tuple[NDArray[np.bool_], F64]:
    """The number of each event and whether it has one: NaN and infinity are none."""
    known = np.zeros(len(events), dtype=bool)
    found = np.zeros(len(events))
    for rows, numbers in values:
        place = np.minimum(np.searchsorted(rows, events), max(len(rows) - 1, 0))
        has = (rows[place] == events) & ~known if len(rows) else known & False
        has[has] = np.isfinite(numbers[place[has]])
        found[has], known = numbers[place[has]], known | has
    return known, found


def _track(name: str, time: I64, value: F64, unit: str) -> Track:
    """A counter as a track without events; the session fills in where it belongs."""
    order = np.argsort(time, kind="stable")
    nothing: I64 = np.empty(0, np.int64)
    no_codes: I32 = np.empty(0, np.int32)
    return Track(
        id=-1,
        section=-1,
        host=-1,
        kind="counter",
        name=name,
        line=-1,
        first_event=0,
        start_ps=nothing,
        duration_ps=nothing,
        code=no_codes,
        labels=Labels(no_codes, np.empty(0, np.uint8)),
        counter=CounterTrack(time[order], value[order], unit),
    )
