"""Sums over the events of some stretches of time, and means of such sums."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np

from stepscope.columns import distinct, union_spans
from stepscope.columns.space import I32, I64, Bool
from stepscope.tables.core.interval_overlap import covered

_Times = TypeVar("_Times", I64, int)


class TimeSpans(NamedTuple):
    """Stretches of a host's clock: disjoint, ascending, half-open; steps, say."""

    start_ps: I64
    end_ps: I64

    def hold(self, at_ps: I64) -> Bool:
        """Which moments lie in one of them."""
        place = np.searchsorted(self.start_ps, at_ps, side="right") - 1
        inside: Bool = (place >= 0) & (at_ps < self.end_ps[np.maximum(place, 0)])
        return inside

    def idle(self, device: I32, start_ps: I64, duration_ps: I64) -> int:
        """Σ over devices that run anything in them of the time in which a device runs nothing."""
        return self.idle_and_wall(device, start_ps, duration_ps)[0]

    def idle_and_wall(self, device: I32, start_ps: I64, duration_ps: I64) -> tuple[int, int]:
        """``idle``, and Σ over the same devices of the spans' length."""
        total, wall, length = 0, 0, int((self.end_ps - self.start_ps).sum())
        for one in distinct(device).tolist():
            own = device == one
            busy = union_spans(start_ps[own], start_ps[own] + duration_ps[own])
            inside = int(covered(*busy, *self).sum())
            total += length - inside if inside else 0
            wall += length if inside else 0
        return total, wall


def mean_ps(time_ps: _Times, steps: int) -> _Times:
    """Times of the mean of so many steps, to the picosecond."""
    return (time_ps + steps // 2) // steps
