"""The events of a timeline as columns of small numbers, which pack to some 3 bytes an event.

``docs/report.md`` lays the columns down; ``web/src/report/events.ts`` reads them.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.columns.space import I64, U8, U64
from stepscope.records import dataclass
from stepscope.timeline import Timeline, Track
from stepscope.timeline.flows import flows

_BITS: Final = 7
# Numbers of JavaScript are exact up to here.
_LARGEST: Final = (1 << 53) - 1


@dataclass(frozen=True, slots=True)
class Packed:
    """Columns of the events that were kept.

    Attributes:
        data: The member ``timeline/events``.
        counters: The member ``timeline/counters``.
        kept: How many events are inside.
        total: How many the timeline has.
    """

    data: bytes
    counters: bytes
    kept: int
    total: int


def varints(values: I64 | U64) -> bytes:
    """Numbers below 2^63 in LEB128, one after the other."""
    left = np.asarray(values, dtype=np.uint64)
    size = np.ones(len(left), np.int64)
    rest = left >> np.uint64(_BITS)
    while rest.any():
        size += rest > 0
        rest >>= np.uint64(_BITS)
    end = np.cumsum(size)
    out: U8 = np.zeros(int(end[-1]) if len(end) else 0, np.uint8)
    at, going = end - size, np.arange(len(left))
    while len(going):
        more = size[going] > 1
        out[at[going]] = (left[going] & np.uint64(0x7F)).astype(np.uint8) | (
            more.astype(np.uint8) << _BITS
        )
        left, size, at = left >> np.uint64(_BITS), size - 1, at + 1
        going = going[more]
    return out.tobytes()


def folded(values: I64) -> I64:
    """Signed numbers as unsigned ones, small where the number is near 0."""
    wide = np.asarray(values, dtype=np.int64)
    found: I64 = (wide << 1) ^ (wide >> 63)
    return found


def pack_events(timeline: Timeline, spans: list[tuple[int, int]] | None) -> Packed:
    """The events that touch any of ``spans`` (begin, end on the axis); all without spans."""
    tracks = [track for track in timeline.tracks if track.counter is None]
    kept = [_kept(timeline, track, spans) for track in tracks]
    labels, codes = _labels(tracks, kept)
    parts = [varints(np.asarray([len(labels)])), varints(labels[:, 0]), varints(labels[:, 1])]
    for track, rows, code in zip(tracks, kept, codes, strict=True):
        parts.append(_track(timeline, track, rows, code))
    parts.append(_arrows(timeline, tracks, kept))
    counters = b"".join(
        np.asarray([len(series.time_ps)], "<u4").tobytes()
        + np.asarray(series.time_ps, "<f8").tobytes()
        + np.asarray(series.value, "<f8").tobytes()
        for series in (track.counter for track in timeline.tracks)
        if series is not None
    )
    return Packed(
        data=b"".join(parts),
        counters=counters,
        kept=sum(map(len, kept)),
        total=sum(map(len, tracks)),
    )


def _kept(timeline: Timeline, track: Track, spans: list[tuple[int, int]] | None) -> I64:
    """Which events of a track are put in, ascending."""
    rows: I64 = (
        np.arange(len(track.start_ps), dtype=np.int64)
        if track.select is None
        else np.sort(track.select.astype(np.int64))
    )
    # The pages could not tell times apart beyond; no recording is that long.
    end = track.start_ps[rows] + np.maximum(track.duration_ps[rows], 0)
    within = (np.abs(track.start_ps[rows]) <= _LARGEST) & (end <= _LARGEST)
    if spans is not None:
        shift = timeline.axis.shift_ps[track.host]
        touched = np.zeros(len(rows), dtype=bool)
        for begin, stop in spans:
            touched |= (track.start_ps[rows] < stop - shift) & (end > begin - shift)
        within &= touched
    return rows[within]


def _labels(tracks: list[Track], kept: list[I64]) -> tuple[I64, list[I64]]:
    """Pairs of name and category, the most frequent first, and which each event has."""
    pairs = []
    for track, rows in zip(tracks, kept, strict=True):
        code = track.code[rows]
        pairs.append(
            track.labels.name[code].astype(np.int64) << 8
            | track.labels.category[code].astype(np.int64)
        )
    joined = np.concatenate([np.empty(0, np.int64), *pairs])
    distinct, place, count = np.unique(joined, return_inverse=True, return_counts=True)
    order = np.argsort(-count, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    labels = np.stack([distinct[order] >> 8, distinct[order] & 0xFF], axis=1)
    ends = np.cumsum([len(pair) for pair in pairs])
    return labels, np.split(rank[place.ravel()], ends[:-1]) if pairs else []


def _lanes(timeline: Timeline, track: Track) -> I64:
    """The lane of each event of a track, in file order."""
    pyramid = timeline.pyramid(track)
    lane = np.zeros(len(track.start_ps), np.int64)
    sizes = np.diff(pyramid.lane_begin)
    at = pyramid.events(np.arange(len(pyramid), dtype=np.int64))
    lane[at] = np.repeat(np.arange(pyramid.lanes, dtype=np.int64), sizes)
    return lane


def _track(timeline: Timeline, track: Track, rows: I64, code: I64) -> bytes:
    start = track.start_ps[rows]
    length = np.maximum(track.duration_ps[rows], 0)
    # Most recorders count in ns or coarser; what all times are a multiple of is written once.
    unit = int(np.gcd.reduce(np.concatenate([start, length]))) if len(rows) else 1
    unit = max(unit, 1)
    ticks = start // unit
    first = int(ticks[0]) if len(rows) else 0
    head = [track.first_event, len(track.start_ps), len(rows), unit]
    return b"".join(
        [
            varints(np.asarray(head)),
            varints(folded(np.asarray([first]))),
            varints(np.diff(rows, prepend=0)),
            varints(folded(np.diff(ticks, prepend=first))),
            varints(length // unit),
            varints(code),
            varints(_lanes(timeline, track)[rows]),
        ]
    )


def _arrows(timeline: Timeline, tracks: list[Track], kept: list[I64]) -> bytes:
    """The arrows both of whose ends are inside, by source."""
    arrows = flows(timeline.profile)
    inside = np.zeros(timeline.events, dtype=bool)
    for track, rows in zip(tracks, kept, strict=True):
        inside[track.first_event + rows] = True
    both = np.flatnonzero(inside[arrows.source] & inside[arrows.target])
    source, target = arrows.source[both], arrows.target[both]
    return b"".join(
        [
            varints(np.asarray([len(source)])),
            varints(np.diff(source, prepend=0)),
            varints(folded(target - source)),
            varints(arrows.kind[both].astype(np.int64)),
        ]
    )
