"""Where an event is on the timeline, and what lies above and below it."""

from __future__ import annotations

import numpy as np

from stepscope.columns.space import I64
from stepscope.records import dataclass
from stepscope.timeline.model import Timeline, Track


@dataclass(frozen=True, slots=True)
class EventPlace:
    """One event on the axis.

    Attributes:
        event: Its id.
        track, lane: Where it is drawn; lane -1 when it has no place in time.
        begin_ps, end_ps: On the axis.
        name: Index into ``Timeline.names``.
        category: Index into ``CATEGORIES``.
    """

    event: int
    track: int
    lane: int
    begin_ps: int
    end_ps: int
    name: int
    category: int

    @property
    def duration_ps(self) -> int:
        """Length; 0 for an instant."""
        return self.end_ps - self.begin_ps


def place(timeline: Timeline, event: int) -> EventPlace:
    """Where an event is.

    Raises:
        KeyError: There is no such event on the timeline.
    """
    track, index = timeline.track_of(event)
    return place_in(timeline, track, index)


def place_in(timeline: Timeline, track: Track, index: int) -> EventPlace:
    """Where event ``index`` of a track is."""
    shift = timeline.axis.shift_ps[track.host]
    start = int(track.start_ps[index])
    code = int(track.code[index])
    return EventPlace(
        event=track.first_event + index,
        track=track.id,
        lane=_lane(timeline, track, index),
        begin_ps=start + shift,
        end_ps=start + max(int(track.duration_ps[index]), 0) + shift,
        name=int(track.labels.name[code]),
        category=int(track.labels.category[code]),
    )


def _lane(timeline: Timeline, track: Track, index: int) -> int:
    """The lane of an event: the one that has it among those of its first picosecond."""
    pyramid, start = timeline.pyramid(track), int(track.start_ps[index])
    low, high = pyramid.touching(start, start + 1)
    for lane in np.flatnonzero(high > low).tolist():
        if index in pyramid.events(np.arange(low[lane], high[lane])):
            return int(lane)
    return -1


def parent_of(timeline: Timeline, own: EventPlace) -> EventPlace | None:
    """The innermost event of the same track that contains this one."""
    track = timeline.tracks[own.track]
    pyramid, shift = timeline.pyramid(track), timeline.axis.shift_ps[track.host]
    begin, end = own.begin_ps - shift, own.end_ps - shift
    low, high = pyramid.touching(begin, begin + 1, range(max(own.lane, 0)))
    for lane in np.flatnonzero(high > low)[::-1].tolist():
        index = int(pyramid.events(np.asarray([low[lane]]))[0])
        stop = int(track.start_ps[index] + max(int(track.duration_ps[index]), 0))
        if track.start_ps[index] <= begin and stop >= end:
            return place_in(timeline, track, index)
    return None


def children_of(timeline: Timeline, own: EventPlace) -> I64:
    """Events (of the track, by time) in the lane below that this one contains."""
    track = timeline.tracks[own.track]
    pyramid, shift = timeline.pyramid(track), timeline.axis.shift_ps[track.host]
    lane = own.lane + 1
    if own.lane < 0 or lane >= pyramid.lanes or own.duration_ps == 0:
        return np.empty(0, np.int64)
    begin, end = own.begin_ps - shift, own.end_ps - shift
    low, high = pyramid.touching(begin, end, range(lane, lane + 1))
    events = pyramid.events(np.arange(low[0], high[0], dtype=np.int64))
    stop = track.start_ps[events] + np.maximum(track.duration_ps[events], 0)
    inside: I64 = events[(track.start_ps[events] >= begin) & (stop <= end)]
    return inside
