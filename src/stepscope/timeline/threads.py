"""Tracks as other viewers want them: events that nest, or one thread per lane."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stepscope.columns.pyramid import Pyramid
from stepscope.columns.space import I32, I64
from stepscope.records import dataclass
from stepscope.timeline.flows import Flows, flows
from stepscope.timeline.model import Timeline, Track


@dataclass(frozen=True, eq=False, slots=True)
class Thread:
    """Events that nest properly.

    Attributes:
        track: Where they are from.
        lane: Which lane it is, -1 when it is the whole track.
        event: Ids of the events.
        begin_ps, end_ps: On the axis.
        depth: Lane of each.
        name, category: Indices of each.
    """

    track: Track
    lane: int
    event: I64
    begin_ps: I64
    end_ps: I64
    depth: I32
    name: I32
    category: I32


def threads(timeline: Timeline, begin_ps: int, end_ps: int) -> Iterator[Thread]:
    """All events that touch a range, thread by thread."""
    for track in timeline.tracks:
        if track.counter is not None:
            continue
        pyramid, shift = timeline.pyramid(track), timeline.axis.shift_ps[track.host]
        low, high = pyramid.touching(begin_ps - shift, end_ps - shift)
        lanes = [np.arange(a, b, dtype=np.int64) for a, b in zip(low, high, strict=True) if b > a]
        numbers = np.flatnonzero(high > low).tolist()
        if not lanes:
            continue
        if nests(pyramid):
            yield _thread(timeline, track, lanes, numbers, -1)
        else:
            for lane, number in zip(lanes, numbers, strict=True):
                yield _thread(timeline, track, [lane], [number], number)


def nests(pyramid: Pyramid) -> bool:
    """Whether every event below the first lane is contained in one right above it."""
    for lane in range(1, pyramid.lanes):
        above, own = (
            pyramid.events(np.arange(*pyramid.lane_begin[i : i + 2], dtype=np.int64))
            for i in (lane - 1, lane)
        )
        start = pyramid.start_ps[own]
        at = np.searchsorted(pyramid.start_ps[above], start, side="right") - 1
        if np.any(at < 0):
            return False
        holder = above[at]
        stop = start + np.maximum(pyramid.duration_ps[own], 1)
        if np.any(pyramid.start_ps[holder] + pyramid.duration_ps[holder] < stop):
            return False
    return True


def _thread(
    timeline: Timeline, track: Track, lanes: list[I64], numbers: list[int], lane: int
) -> Thread:
    index = timeline.pyramid(track).events(np.concatenate(lanes))
    begin = track.start_ps[index] + timeline.axis.shift_ps[track.host]
    code = track.code[index]
    return Thread(
        track=track,
        lane=lane,
        event=index + track.first_event,
        begin_ps=begin,
        end_ps=begin + np.maximum(track.duration_ps[index], 0),
        depth=np.repeat(np.asarray(numbers, np.int32), [len(one) for one in lanes]),
        name=track.labels.name[code],
        category=track.labels.category[code].astype(np.int32),
    )


def arrows_between(timeline: Timeline, exported: I64) -> tuple[Flows, I64]:
    """All arrows, and the rows of those with both ends among ``exported`` (sorted ids)."""
    found = flows(timeline.profile)
    rows = np.flatnonzero(_among(found.source, exported) & _among(found.target, exported))
    return found, rows


def _among(events: I64, exported: I64) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    if not len(exported):
        return np.zeros(len(events), dtype=bool)
    at = np.minimum(np.searchsorted(exported, events), len(exported) - 1)
    found: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = exported[at] == events
    return found
