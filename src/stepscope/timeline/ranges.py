"""Statistics of a stretch of time: by name, by track, and from launch to kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Final, NamedTuple

import numpy as np

from stepscope.columns import nest, sum_by_key, sum_labels, union_spans
from stepscope.columns.space import I32, I64
from stepscope.kernels.cores import on_cores
from stepscope.records import dataclass
from stepscope.timeline.cancellation import CancellationCheck, waits
from stepscope.timeline.counters import CounterTotals, counter_totals
from stepscope.timeline.flows import launches
from stepscope.timeline.model import Timeline, Track

#: Kinds of tracks that tell of time which other tracks have already.
RETOLD: Final = ("steps", "name_scope", "framework_ops", "modules", "source")


@dataclass(frozen=True, eq=False, slots=True)
class NameTotals:
    """Per name: what its events did inside the range, by self time.

    Attributes:
        name: Index into ``Timeline.names``.
        count: Events that touch the range.
        total_ps, self_ps: Clipped to the range; self is without events nested on the track.
        longest_ps: Longest of them, clipped.
        example: Id of the longest.
    """

    name: I64
    count: I64
    total_ps: I64
    self_ps: I64
    longest_ps: I64
    example: I64

    def __len__(self) -> int:
        return len(self.name)


@dataclass(frozen=True, slots=True)
class TrackTotals:
    """One track inside the range: events, and the time in which any of them ran."""

    track: int
    events: int
    busy_ps: int


@dataclass(frozen=True, eq=False, slots=True)
class RangeTotals:
    """Statistics of ``begin_ps:end_ps``.

    Attributes:
        tracks: The tracks asked for that show events.
        names: All names in the range.
        launch_delay_ps: From the begin of each launch in the range to the begin of its kernel,
            sorted.
        launch_gap_ps: From the end of each launch to the begin of its kernel, sorted; negative
            where the kernel began first.
        counters: The counters asked for that have a value in the range.
    """

    begin_ps: int
    end_ps: int
    tracks: tuple[TrackTotals, ...]
    names: NameTotals
    launch_delay_ps: I64
    launch_gap_ps: I64
    counters: tuple[CounterTotals, ...]


@dataclass(frozen=True, slots=True)
class _Part:
    """One track in the range: how many events, how long busy, and its totals by name."""

    events: int
    busy_ps: int
    names: NameTotals


def range_totals(
    timeline: Timeline,
    begin_ps: int,
    end_ps: int,
    tracks: Sequence[int] | None = None,
    check: CancellationCheck = waits,
) -> RangeTotals:
    """Statistics of the events that touch ``begin_ps:end_ps``.

    Args:
        timeline: The session.
        begin_ps: On the axis.
        end_ps: End of the range.
        tracks: Which tracks. By default all; names are then counted only where work was
            recorded, because steps, scopes and framework ops tell of the same time again.
        check: Called before each track, from any thread; may raise.
    """
    ids = range(len(timeline.tracks)) if tracks is None else tracks
    asked = [timeline.tracks[i] for i in ids]
    chosen = [track for track in asked if track.counter is None]
    timeline.build_all(chosen)

    def part(track: Track) -> _Part:
        check()
        return _part(timeline, track, begin_ps, end_ps)

    parts = list(zip(chosen, on_cores(part, chosen, "stepscope-range"), strict=True))
    used = [(track, part) for track, part in parts if part.events]
    delay, gap = _launches(timeline, [track for track, _ in used], begin_ps, end_ps)
    return RangeTotals(
        begin_ps=begin_ps,
        end_ps=end_ps,
        tracks=tuple(TrackTotals(t.id, p.events, p.busy_ps) for t, p in used),
        names=_together(
            [part.names for track, part in used if tracks is not None or track.kind not in RETOLD]
        ),
        launch_delay_ps=delay,
        launch_gap_ps=gap,
        counters=tuple(counter_totals(timeline, asked, begin_ps, end_ps)),
    )


def events_in(timeline: Timeline, track: Track, begin_ps: int, end_ps: int) -> I64:
    """The events of a track (in file order) that touch a range of the axis."""
    shift = timeline.axis.shift_ps[track.host]
    pyramid = timeline.pyramid(track)
    low, high = pyramid.touching(begin_ps - shift, end_ps - shift)
    total = int((high - low).sum())
    if total == len(track.start_ps) == len(pyramid):
        return np.arange(total, dtype=np.int64)
    positions = np.repeat(low - np.cumsum(np.append(0, (high - low)[:-1])), high - low)
    return np.sort(pyramid.events(positions + np.arange(total)))


def _part(timeline: Timeline, track: Track, begin_ps: int, end_ps: int) -> _Part:
    shift = timeline.axis.shift_ps[track.host]
    events = events_in(timeline, track, begin_ps, end_ps)
    start, length = track.start_ps, track.duration_ps
    label = track.code
    if len(events) < len(start):
        start, length, label = start[events], length[events], label[events]
    stop = np.maximum(length, 0)
    stop += start
    np.minimum(stop, end_ps - shift, out=stop)
    start = np.maximum(start, begin_ps - shift)
    length = stop - start
    own = nest(start, length, np.asarray([0, len(events)], np.int64)).self_ps
    busy_begin, busy_end = union_spans(start, stop)
    return _Part(
        events=len(events),
        busy_ps=int((busy_end - busy_begin).sum()),
        names=_label_totals(track, label, _Clipped(track.first_event + events, length, own)),
    )


class _Clipped(NamedTuple):
    """Events in the range: ids, and total and self times inside it."""

    event: I64
    total_ps: I64
    self_ps: I64


def _label_totals(track: Track, label: I32, clipped: _Clipped) -> NameTotals:
    """Totals by name of one track's events, given the row in the track's labels of each."""
    size = len(track.labels.name)
    row = np.arange(size, dtype=np.int32)
    if len(label) < size:  # a short track need not pass over all the names of its host
        row, label = (found.astype(np.int32) for found in np.unique(label, return_inverse=True))
    sums = sum_labels(label, clipped.total_ps, clipped.self_ps, len(row))
    used = np.flatnonzero(sums.count)
    longest = sums.longest[used]
    return NameTotals(
        track.labels.name[row[used]].astype(np.int64),
        sums.count[used],
        sums.total_ps[used],
        sums.self_ps[used],
        clipped.total_ps[longest],
        clipped.event[longest],
    )


def _together(parts: list[NameTotals]) -> NameTotals:
    """Totals of several tracks as one, by self time."""
    empty = np.empty(0, np.int64)
    name, count, total, own, longest, example = (
        np.concatenate([empty, *(getattr(part, f.name) for part in parts)])
        for f in fields(NameTotals)
    )
    used, code = np.unique(name, return_inverse=True)
    size = len(used)
    # Of each name the longest event, and of equals the first.
    order = np.lexsort((np.arange(len(name)), -longest, code))
    first = order[np.flatnonzero(np.diff(code[order], prepend=-1))]
    count, total, own = (sum_by_key(code, values, size) for values in (count, total, own))
    ranked = np.lexsort((used, -total, -own))
    return NameTotals(
        used[ranked],
        count[ranked],
        total[ranked],
        own[ranked],
        longest[first][ranked],
        example[first][ranked],
    )


def _launches(
    timeline: Timeline, tracks: list[Track], begin_ps: int, end_ps: int
) -> tuple[I64, I64]:
    """Delay and gap of the launches on these tracks that begin in the range, as does their work."""
    arrows = launches(timeline.profile)
    delays, gaps = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for track in tracks:
        first, shift = track.first_event, timeline.axis.shift_ps[track.host]
        low, high = np.searchsorted(arrows.source, [first, first + len(track.start_ps)])
        source = arrows.source[low:high] - first
        start = track.start_ps[source]
        target = arrows.target[low:high] - timeline.first_event[track.host]
        kernel = timeline.profile.hosts[track.host].space.events.start_ps[target]
        inside = (start + shift >= begin_ps) & (np.maximum(start, kernel) + shift < end_ps)
        delays.append((kernel - start)[inside])
        gaps.append((kernel - start - np.maximum(track.duration_ps[source], 0))[inside])
    return np.sort(np.concatenate(delays)), np.sort(np.concatenate(gaps))
