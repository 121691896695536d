"""Tiles: what some tracks show between two times on a number of pixels, in typed arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.pyramid import Cells
from stepscope.columns.space import I32, I64, U8
from stepscope.records import dataclass
from stepscope.timeline.cancellation import CancellationCheck, waits
from stepscope.timeline.counters import CounterCells, counter_cells
from stepscope.timeline.model import Timeline, Track

U16 = NDArray[np.uint16]
U32 = NDArray[np.uint32]

MAX_WIDTH_PX: Final = 16_384
#: Slices in a tile before buckets grow: 16 bytes each, so a screen stays under 400 kB.
MAX_SLICES: Final = 24_000
#: x is counted in this many units at most.
X_UNITS: Final = 65_535
STARTS_BEFORE: Final = 64
ENDS_AFTER: Final = 128


@dataclass(frozen=True, slots=True)
class LaneRange:
    """Lanes ``first_lane:last_lane`` of a track; all below when ``last_lane`` is None."""

    track: int
    first_lane: int = 0
    last_lane: int | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Tile:
    """One answer; ``docs/timeline-format.md`` describes every field.

    Attributes:
        begin_ps, end_ps: The view.
        bucket_ps: Events shorter than this may be merged; a power of two.
        unit_ps: Picoseconds per unit of x; a power of two.
        row_track, row_lane: Of each row that shows anything.
        row_begin: rows+1 offsets over slices.
        names: Ids of the names that occur; ``name`` indexes this list.
        event: The slice's event, or its longest when ``count`` > 1.
        count: Events in the slice.
        name: Index into ``names``.
        x0, x1: Begin and end in units of x from ``begin_ps``, clipped to the view.
        fill: Busy share of the slice, 0–255.
        kind: Category, plus ``STARTS_BEFORE`` and ``ENDS_AFTER`` where it was clipped.
        counters: What the counter tracks show.
    """

    begin_ps: int
    end_ps: int
    bucket_ps: int
    unit_ps: int
    row_track: U32
    row_lane: U32
    row_begin: U32
    names: U32
    event: U32
    count: U32
    name: U16
    x0: U16
    x1: U16
    fill: U8
    kind: U8
    counters: CounterCells


def tile(
    timeline: Timeline,
    wanted: Sequence[LaneRange],
    begin_ps: int,
    end_ps: int,
    width_px: int,
    max_slices: int = MAX_SLICES,
    check: CancellationCheck = waits,
) -> Tile:
    """What the wanted lanes show between two times when drawn ``width_px`` wide.

    Args:
        timeline: The session.
        wanted: Tracks and lanes, in the order of the answer's rows.
        begin_ps: Begin of the view on the axis.
        end_ps: Its end, at least 1 ps later.
        width_px: Buckets are the smallest power of two that is at least a pixel.
        max_slices: Buckets double until no more slices than this are left.
        check: Called between tracks; may raise.

    Raises:
        ValueError: The view is empty or too long, the width out of range, or there are more
            lanes than slices fit in a tile.
    """
    if not 0 < width_px <= MAX_WIDTH_PX:
        raise ValueError(f"width_px must be 1 to {MAX_WIDTH_PX}")
    if not 0 < end_ps - begin_ps < 1 << 62 or abs(begin_ps) >= 1 << 62:
        raise ValueError("end_ps must be after begin_ps, within 2^62 ps")
    chosen = [(timeline.tracks[want.track], want) for want in wanted]
    events = [(track, want) for track, want in chosen if track.counter is None]
    check()
    timeline.build_all(track for track, _want in events)
    bucket_ps = _power_of_two(-(-(end_ps - begin_ps) // width_px))
    most = min(max_slices, X_UNITS)
    while (parts := _cut(timeline, events, begin_ps, end_ps, bucket_ps, most, check)) is None:
        if bucket_ps < 1 << 61:
            bucket_ps *= 2
        elif most < X_UNITS:  # one slice per lane is left, and there are more lanes than that
            most = min(2 * most, X_UNITS)
        else:
            raise ValueError(f"fewer than {X_UNITS} lanes must be asked for at a time")
    counters = [track for track, _want in chosen if track.counter is not None]
    return _assemble(timeline, parts, (begin_ps, end_ps, bucket_ps), counters)


def _power_of_two(at_least: int) -> int:
    return 1 << max(at_least - 1, 0).bit_length()


def _cut(
    timeline: Timeline,
    events: list[tuple[Track, LaneRange]],
    begin_ps: int,
    end_ps: int,
    bucket_ps: int,
    room: int,
    check: CancellationCheck,
) -> list[tuple[Track, Cells]] | None:
    """The cells of each track that has any, on its host's clock; None when they do not fit."""
    parts = []
    for track, want in events:
        check()
        pyramid, shift = timeline.pyramid(track), timeline.axis.shift_ps[track.host]
        last = pyramid.lanes if want.last_lane is None else min(want.last_lane, pyramid.lanes)
        lanes = range(max(min(want.first_lane, last), 0), last)
        cells = pyramid.cells(begin_ps - shift, end_ps - shift, bucket_ps, lanes, room)
        if cells is None:
            return None
        room -= len(cells)
        if len(cells):
            parts.append((track, cells))
    return parts


def _assemble(
    timeline: Timeline,
    parts: list[tuple[Track, Cells]],
    view: tuple[int, int, int],
    counters: list[Track],
) -> Tile:
    begin_ps, end_ps, bucket_ps = view
    unit_ps = _power_of_two(-(-(end_ps - begin_ps) // X_UNITS))
    row_track, row_lane, sizes = _rows(parts)
    blocks = [_slices(timeline, track, cells, view, unit_ps) for track, cells in parts]
    columns = [
        np.concatenate([block[i] for block in blocks]) if blocks else np.empty(0, np.int64)
        for i in range(7)
    ]
    event, count, name_id, x0, x1, fill, kind = columns
    ids, name = np.unique(name_id, return_inverse=True)
    return Tile(
        begin_ps=begin_ps,
        end_ps=end_ps,
        bucket_ps=bucket_ps,
        unit_ps=unit_ps,
        row_track=row_track,
        row_lane=row_lane,
        row_begin=np.cumsum([0, *sizes], dtype=np.uint32),
        names=ids.astype(np.uint32),
        event=event.astype(np.uint32),
        count=count.astype(np.uint32),
        name=name.ravel().astype(np.uint16),
        x0=x0.astype(np.uint16),
        x1=x1.astype(np.uint16),
        fill=fill.astype(np.uint8),
        kind=kind.astype(np.uint8),
        counters=counter_cells(timeline, counters, begin_ps, end_ps, bucket_ps, unit_ps),
    )


def _rows(parts: list[tuple[Track, Cells]]) -> tuple[U32, U32, list[int]]:
    tracks: list[int] = []
    lanes: list[int] = []
    sizes: list[int] = []
    for track, cells in parts:
        first = np.flatnonzero(np.diff(cells.lane, prepend=-1))
        lanes += cells.lane[first].tolist()
        sizes += np.diff(first, append=len(cells)).tolist()
        tracks += [track.id] * len(first)
    return np.asarray(tracks, np.uint32), np.asarray(lanes, np.uint32), sizes


def _slices(
    timeline: Timeline, track: Track, cells: Cells, view: tuple[int, int, int], unit_ps: int
) -> tuple[I64, I32, I32, I64, I64, I64, I64]:
    """The columns of one track's slices: event, count, name, x0, x1, fill, kind."""
    begin_ps, end_ps, _bucket = view
    shift = timeline.axis.shift_ps[track.host]
    begin, end = cells.begin_ps + (shift - begin_ps), cells.end_ps + (shift - begin_ps)
    length = end_ps - begin_ps
    x0 = np.clip(begin, 0, length) // unit_ps
    x1 = -(-np.clip(end, 0, length) // unit_ps)
    span = np.maximum(cells.end_ps - cells.begin_ps, 1)
    fill = np.where(cells.count == 1, 255, np.ceil(255.0 * cells.busy_ps / span)).astype(np.int64)
    code = track.code[cells.event]
    kind = (
        track.labels.category[code].astype(np.int64)
        + STARTS_BEFORE * (begin < 0)
        + ENDS_AFTER * (end > length)
    )
    event = track.first_event + cells.event.astype(np.int64)
    return event, cells.count, track.labels.name[code], x0, x1, np.minimum(fill, 255), kind
