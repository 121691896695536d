"""How a part's time changes from step to step: whether it grows, and whether it comes in bursts."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan

import numpy as np

from stepscope.columns import median
from stepscope.columns.space import I64

# Fewer steps show neither a trend nor a rhythm.
_FEWEST = 5
# A part that half of the steps or more have is not a burst.
_BURST_FRAC = 0.5
# What steps without a burst may have of the part, of the mean of those with it.
_QUIET_FRAC = 0.25
# A trend explains this share of the variance.
_STEADY = 0.6


@dataclass(frozen=True, slots=True)
class Series:
    """One number per step, summed up in four.

    Attributes:
        steps_frac: Share of the steps with half of the mean or more.
        growth: Mean of the last third by that of the first, where it goes steadily; else NaN.
        every: Steps from one burst to the next, where there are bursts; NaN otherwise.
        burst_ps: Mean time in the steps with it.
        first_frac: Share of all of it in the first step.
    """

    steps_frac: float
    growth: float
    every: float
    burst_ps: float
    first_frac: float


def series(time_ps: I64) -> Series:
    """Tell a series of times."""
    count, mean = len(time_ps), float(time_ps.mean()) if len(time_ps) else 0.0
    if not mean > 0:
        return Series(0.0, nan, nan, 0.0, nan)
    has = time_ps >= 0.5 * mean
    burst = float(time_ps[has].mean())
    share = float(has.mean())
    every = nan
    if count >= _FEWEST and 0 < share < _BURST_FRAC:
        quiet = float(time_ps[~has].mean())
        if quiet <= _QUIET_FRAC * burst:
            every = _period(np.flatnonzero(has), count)
    growth = nan
    if count >= _FEWEST and share >= _BURST_FRAC:
        third = max(count // 3, 1)
        first, last = float(time_ps[:third].mean()), float(time_ps[-third:].mean())
        steady = float(np.corrcoef(np.arange(count), time_ps)[0, 1]) if time_ps.std() > 0 else 0.0
        if abs(steady) >= _STEADY and first > 0:
            growth = last / first
    return Series(share, growth, every, burst, float(time_ps[0] / time_ps.sum()))


def _period(at: I64, count: int) -> float:
    """Steps between bursts; the whole where there is one."""
    return median(np.diff(at)) if len(at) > 1 else float(count)
