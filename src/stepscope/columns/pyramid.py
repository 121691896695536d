"""What a stretch of a track shows at a given zoom, without looking at every event in it.

A track's events are laid out in *lanes* so that none overlap within a lane: an event lies below
the one that contains it, as in a flame chart. Over each lane stand blocks of 16, 256, 4096 …
events that know the longest duration in them and the sum, so a picture costs about as much as the
cells it has, however many events are behind them. Nothing is sampled and nothing is dropped: a
cell's count, busy time and longest event are exact.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.columns.space import I32, I64
from stepscope.kernels import core
from stepscope.records import dataclass

_FAN_OUT: Final = 16
_NO_ORDER: Final = np.empty(0, np.int32)


@dataclass(frozen=True, eq=False, slots=True)
class Cells:
    """Slices to draw, lane after lane, by start within a lane.

    Attributes:
        begin_ps, end_ps: First start and last end of the events in the cell (not clipped).
        busy_ps: Sum of their durations.
        count: How many they are; 1 is an event that is drawn as itself.
        event: The longest of them.
        lane: Lane of each cell.
    """

    begin_ps: I64
    end_ps: I64
    busy_ps: I64
    count: I32
    event: I32
    lane: I32

    def __len__(self) -> int:
        return len(self.begin_ps)


@dataclass(frozen=True, slots=True, eq=False)
class Pyramid:
    """The events of one track, ready to be drawn at any zoom.

    Attributes:
        start_ps, duration_ps: Of each event, as given; negative durations count as 0.
        order: Event at each position, lane after lane; empty when event and position are equal.
        lane_begin: lanes+1 offsets over positions.
        level_begin: levels+1 offsets over blocks.
        block_max, block_sum, block_longest: Per block the longest duration, the sum of durations
            and the position of the longest.
    """

    start_ps: I64
    duration_ps: I64
    order: I32
    lane_begin: I64
    level_begin: I64
    block_max: I64
    block_sum: I64
    block_longest: I32

    @property
    def lanes(self) -> int:
        """Number of lanes."""
        return len(self.lane_begin) - 1

    def __len__(self) -> int:
        return int(self.lane_begin[-1])

    def span(self) -> tuple[int, int]:
        """First start and last end, (0, 0) without events."""
        if not len(self):
            return 0, 0
        filled = self.lane_begin[1:] > self.lane_begin[:-1]
        first = self.events(self.lane_begin[:-1][filled])
        last = self.events(self.lane_begin[1:][filled] - 1)
        ends = self.start_ps[last] + np.maximum(self.duration_ps[last], 0)
        return int(self.start_ps[first].min()), int(ends.max())

    def events(self, positions: I64) -> I64:
        """The events at these positions."""
        return positions if not len(self.order) else self.order[positions].astype(np.int64)

    def touching(self, begin_ps: int, end_ps: int, lanes: range | None = None) -> tuple[I64, I64]:
        """Positions ``low:high`` per lane of the events that run or start in ``begin:end``."""
        chosen = range(self.lanes) if lanes is None else lanes
        low, high = np.empty(len(chosen), np.int64), np.empty(len(chosen), np.int64)
        core.pyramid.find_spans(
            self.start_ps,
            self.duration_ps,
            self.order,
            self.lane_begin,
            chosen.start,
            begin_ps,
            end_ps,
            low,
            high,
        )
        return low, high

    def cells(
        self, begin_ps: int, end_ps: int, bucket_ps: int, lanes: range, room: int
    ) -> Cells | None:
        """What ``begin:end`` of these lanes shows when a bucket is about a pixel wide.

        Args:
            begin_ps: Begin of the view; events that only touch it count in full.
            end_ps: Its end.
            bucket_ps: A power of two.
            lanes: Which lanes.
            room: At most this many cells.

        Returns:
            The cells, or None when there are more than ``room``.
        """
        begin, end, busy = (np.empty(room, np.int64) for _ in range(3))
        many, event, lane = (np.empty(room, np.int32) for _ in range(3))
        count = core.pyramid.cut_cells(
            self.start_ps, self.duration_ps, self.order, self.lane_begin, self.level_begin,
            self.block_max, self.block_sum, self.block_longest, lanes.start, lanes.stop,
            begin_ps, end_ps, bucket_ps, begin, end, busy, many, event, lane,
        )  # fmt: skip
        if count < 0:
            return None
        used = slice(0, count)
        return Cells(begin[used], end[used], busy[used], many[used], event[used], lane[used])

    def density(
        self, begin_ps: int, column_ps: int, columns: int, lane: int = 0
    ) -> tuple[I64, I64]:
        """Busy time in ps, and events that start, in each of ``columns`` equal parts of a view."""
        busy, count = np.zeros(columns, np.int64), np.zeros(columns, np.int64)
        if lane < self.lanes:
            core.pyramid.add_density(
                self.start_ps,
                self.duration_ps,
                self.order,
                self.lane_begin,
                self.block_sum,
                lane,
                begin_ps,
                column_ps,
                busy,
                count,
            )
        return busy, count


def build(start_ps: I64, duration_ps: I64, select: I32 | None = None) -> Pyramid:
    """Lay out the events of one track and sum them up.

    Args:
        start_ps: Of each event, in any order; kept, not copied.
        duration_ps: As ``start_ps``.
        select: The events to take; all by default.
    """
    starts, durations = np.ascontiguousarray(start_ps), np.ascontiguousarray(duration_ps)
    count = len(starts) if select is None else len(select)
    lane = np.empty(count, np.int32)
    taken = _NO_ORDER if select is None else _sorted(starts, durations, select)
    lanes = _lay_out(starts, durations, taken, lane) if count else 0
    if lanes < 0:
        taken = _sorted(starts, durations, np.arange(count, dtype=np.int32))
        lanes = _lay_out(starts, durations, taken, lane)
    lane_begin = np.zeros(lanes + 1, np.int64)
    np.cumsum(np.bincount(lane, minlength=lanes)[:lanes], out=lane_begin[1:])
    order = taken
    if lanes > 1:
        order = np.empty(count, np.int32)
        core.pyramid.place_events(taken, lane, lane_begin[:-1].copy(), order)
    del lane
    return _add_blocks(starts, durations, order, lane_begin)


def _lay_out(starts: I64, durations: I64, order: I32, lane: I32) -> int:
    """Fill ``lane``; the number of lanes, or -1 when the events are not in order."""
    ends, state = np.zeros(64, np.int64), np.zeros(3, np.int64)
    while stopped := core.pyramid.lay_out(starts, durations, order, ends, lane, state):
        if stopped == 1:
            return -1
        ends = np.concatenate([ends, np.zeros(7 * len(ends), np.int64)])
    return int(state[2])


def _sorted(starts: I64, durations: I64, events: I32) -> I32:
    """Events by start, longer ones first: what contains comes before what is contained."""
    # Not -durations: that overflows for the smallest int64.
    by_place = np.lexsort((-np.maximum(durations[events], 0), starts[events]))
    return events[by_place].astype(np.int32, copy=False)


def _add_blocks(starts: I64, durations: I64, order: I32, lane_begin: I64) -> Pyramid:
    sizes, count = [0], int(lane_begin[-1])
    below = count
    while below > 1:
        below = -(-below // _FAN_OUT)
        sizes.append(below)
    level_begin = np.cumsum(sizes, dtype=np.int64)
    blocks = int(level_begin[-1])
    most, total = np.empty(blocks, np.int64), np.empty(blocks, np.int64)
    longest = np.empty(blocks, np.int32)
    core.pyramid.sum_blocks(durations, order, count, level_begin, most, total, longest)
    return Pyramid(starts, durations, order, lane_begin, level_begin, most, total, longest)
