"""Times that can be added up: within reach of int64, whatever a file says.

Ends, shifts between clocks and sums of durations are computed all over; none of it looks out for
overflow, because no event leaves here that could cause it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from stepscope.columns.space import I64, Space

#: No event starts further than this from its host's origin, or lasts longer (13 days).
REACH_PS: Final = 1 << 60
_MOST_TOGETHER_PS: Final = 1 << 62


def within_reach(space: Space) -> tuple[Space, int]:
    """The space with impossible times moved to where reckoning ends, and how many events had them.

    A start out of reach becomes the nearest one within. A duration out of reach says nothing: the
    event becomes an instant, as do the longest where all together could not be added up.
    """
    start, duration = space.events.start_ps, space.events.duration_ps
    starts, durations = _tame_starts(start), _tame_durations(duration)
    if starts is start and durations is duration:
        return space, 0
    changed = int(((starts != start) | (durations != duration)).sum())
    events = replace(space.events, start_ps=starts, duration_ps=durations)
    return replace(space, events=events), changed


def _tame_starts(start: I64) -> I64:
    if 0 <= np.bitwise_or.reduce(start) < REACH_PS:  # one pass, and true of nearly every file
        return start
    if start.min() >= -REACH_PS and start.max() <= REACH_PS:
        return start
    tame: I64 = np.clip(start, -REACH_PS, REACH_PS)
    return tame


def _tame_durations(duration: I64) -> I64:
    every = int(np.bitwise_or.reduce(duration))  # has the highest bit of the longest
    if 0 <= every < REACH_PS and (
        every * len(duration) <= _MOST_TOGETHER_PS
        or duration.sum(dtype=np.float64) <= _MOST_TOGETHER_PS
    ):
        return duration
    length = np.abs(duration.astype(np.float64))
    most = float(REACH_PS)
    while length[length <= most].sum() > _MOST_TOGETHER_PS:
        most /= 4
    is_tame = length <= most
    return duration if is_tame.all() else np.where(is_tame, duration, 0)
