"""Statistics of a stretch of time: by name, by track, and from launch to kernel."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import cpu_count
from typing import Final

import numpy as np

from stepscope.columns import nest, union_length
from stepscope.columns.space import I32, I64, Bool
from stepscope.tables.sums import sum_by_key
from stepscope.tables.timeline.flows import launches
from stepscope.tables.timeline.model import Timeline, Track

#: Kinds of tracks that tell of time which other tracks have already.
RETOLD: Final = ("steps", "name_scope", "framework_ops", "modules", "source")


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class RangeTotals:
    """Statistics of ``begin_ps:end_ps``.

    Attributes:
        tracks: The tracks asked for that show events.
        names: All names in the range.
        launch_delay_ps: From the begin of each launch in the range to the begin of its kernel,
            sorted.
        launch_gap_ps: From the end of each launch to the begin of its kernel, sorted; negative
            where the kernel began first.
    """

    begin_ps: int
    end_ps: int
    tracks: tuple[TrackTotals, ...]
    names: NameTotals
    launch_delay_ps: I64
    launch_gap_ps: I64


@dataclass(frozen=True, slots=True)
class _Part:
    """The events of one track in the range: names, ids, clipped totals and self times."""

    name: I32
    event: I64
    total_ps: I64
    self_ps: I64
    busy_ps: int


def range_totals(
    timeline: Timeline, begin_ps: int, end_ps: int, tracks: Sequence[int] | None = None
) -> RangeTotals:
    """Statistics of the events that touch ``begin_ps:end_ps``.

    Args:
        timeline: The session.
        begin_ps: On the axis.
        end_ps: Likewise.
        tracks: Which tracks. By default all; names are then counted only where work was
            recorded, because steps, scopes and framework ops tell of the same time again.
    """
    ids = range(len(timeline.tracks)) if tracks is None else tracks
    chosen = [timeline.tracks[i] for i in ids if timeline.tracks[i].counter is None]
    timeline.build_all(chosen)
    with ThreadPoolExecutor(cpu_count() or 1, "stepscope-range") as pool:
        found = pool.map(lambda track: _part(timeline, track, begin_ps, end_ps), chosen)
        parts = list(zip(chosen, found, strict=True))
    used = [(track, part) for track, part in parts if len(part.event)]
    delay, gap = _launches(timeline, [track for track, _ in used], begin_ps, end_ps)
    return RangeTotals(
        begin_ps=begin_ps,
        end_ps=end_ps,
        tracks=tuple(TrackTotals(t.id, len(p.event), p.busy_ps) for t, p in used),
        names=_by_name(
            [part for track, part in used if tracks is not None or track.kind not in RETOLD],
            len(timeline.names),
        ),
        launch_delay_ps=delay,
        launch_gap_ps=gap,
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
    start = track.start_ps[events]
    stop = np.minimum(start + np.maximum(track.duration_ps[events], 0), end_ps - shift)
    start = np.maximum(start, begin_ps - shift)
    nesting = nest(start, stop - start, np.asarray([0, len(events)], np.int64))
    roots: Bool = nesting.parent < 0
    return _Part(
        name=track.labels.name[track.code[events]],
        event=track.first_event + events,
        total_ps=stop - start,
        self_ps=nesting.self_ps,
        busy_ps=union_length(start[roots], stop[roots], begin_ps - shift, end_ps - shift),
    )


def _by_name(parts: list[_Part], names: int) -> NameTotals:
    sums = _Sums(*(np.zeros(names, np.int64) for _ in range(5)))
    waiting: list[_Part] = []
    events = 0
    for part in parts:
        # Every addition passes over all names, so small tracks wait until they are worth it.
        waiting.append(part)
        events += len(part.event)
        if events >= names:
            sums.add(waiting)
            waiting, events = [], 0
    sums.add(waiting)
    used = np.flatnonzero(sums.count)
    used = used[np.lexsort((used, -sums.total_ps[used], -sums.self_ps[used]))]
    return NameTotals(
        used,
        sums.count[used],
        sums.total_ps[used],
        sums.self_ps[used],
        sums.longest_ps[used],
        sums.example[used],
    )


@dataclass(frozen=True, slots=True)
class _Sums:
    """Columns of ``NameTotals`` while they grow, one row per name of the timeline."""

    count: I64
    total_ps: I64
    self_ps: I64
    longest_ps: I64
    example: I64

    def add(self, parts: list[_Part]) -> None:
        """Add the events of some tracks."""
        if not parts:
            return
        name = np.concatenate([part.name for part in parts])
        event = np.concatenate([part.event for part in parts])
        time = np.concatenate([part.total_ps for part in parts])
        size = len(self.count)
        is_new = self.count == 0
        self.count[:] += np.bincount(name, minlength=size)
        self.total_ps[:] += sum_by_key(name, time, size)
        own = np.concatenate([part.self_ps for part in parts])
        self.self_ps[:] += sum_by_key(name, own, size)
        longest = np.zeros(size, np.int64)
        np.maximum.at(longest, name, time)
        at = np.flatnonzero(time == longest[name])[::-1]  # of equals the first is written last
        example = np.zeros(size, np.int64)
        example[name[at]] = event[at]
        seen = np.zeros(size, np.bool_)
        seen[name[at]] = True
        better = seen & (is_new | (longest > self.longest_ps))
        self.longest_ps[better] = longest[better]
        self.example[better] = example[better]


def _launches(
    timeline: Timeline, tracks: list[Track], begin_ps: int, end_ps: int
) -> tuple[I64, I64]:
    """Delay and gap of the launches on these tracks that begin in the range."""
    arrows = launches(timeline.profile)
    delays, gaps = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for track in tracks:
        first, shift = track.first_event, timeline.axis.shift_ps[track.host]
        low, high = np.searchsorted(arrows.source, [first, first + len(track.start_ps)])
        source = arrows.source[low:high] - first
        start = track.start_ps[source]
        inside = (start + shift >= begin_ps) & (start + shift < end_ps)
        target = arrows.target[low:high] - timeline.first_event[track.host]
        kernel = timeline.profile.hosts[track.host].space.events.start_ps[target]
        delays.append((kernel - start)[inside])
        gaps.append((kernel - start - np.maximum(track.duration_ps[source], 0))[inside])
    return np.sort(np.concatenate(delays)), np.sort(np.concatenate(gaps))
