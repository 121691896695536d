"""How a part's time changes from step to step: whether it grows, and whether it comes in bursts."""

from __future__ import annotations

from math import log, nan

import numpy as np

from stepscope.columns import median
from stepscope.columns.space import I64
from stepscope.records import dataclass
from stepscope.tables.core.thresholds import (
    DOZENS,
    HALF_FRAC,
    LARGE_FRAC,
    MOST_FRAC,
    PART_FRAC,
    SEVERAL,
)


@dataclass(frozen=True, slots=True)
class Series:
    """One number per step, summed up in four.

    Attributes:
        steps_frac: Share of the steps with half of the mean or more.
        growth: Mean of the last third by that of the first, where it goes steadily, and not as the
            rest of the step does; else NaN.
        every: Steps from one burst to the next, where there are bursts; 0 where they have no
            rhythm; NaN without bursts.
        first_frac: Share of all of it in the first step.
    """

    steps_frac: float
    growth: float
    every: float
    first_frac: float


def standard_error_ps(step_ps: I64) -> float:
    """By how much a mean of as many steps usually misses that of many; NaN of a single one."""
    count = len(step_ps)
    return float(step_ps.std(ddof=1)) / count**0.5 if count > 1 else nan


def series(time_ps: I64, step_ps: I64 | None = None) -> Series:
    """Tell a series of times, one of each step; ``step_ps`` if there is more in the steps."""
    count, mean = len(time_ps), float(time_ps.mean()) if len(time_ps) else 0.0
    if not mean > 0:
        return Series(0.0, nan, nan, nan)
    has = time_ps >= HALF_FRAC * mean
    share = float(has.mean())
    every = nan
    if count >= SEVERAL and 0 < share < HALF_FRAC:  # fewer steps show no rhythm
        quiet = float(time_ps[~has].mean())
        if quiet <= LARGE_FRAC * float(time_ps[has].mean()):
            every = _period(np.flatnonzero(has))
    growth = nan
    steady = HALF_FRAC if count >= DOZENS else MOST_FRAC
    if count >= SEVERAL and share >= HALF_FRAC and abs(_steady(time_ps)) >= steady:
        growth = _apart(_growth(time_ps), time_ps, step_ps)
    return Series(share, growth, every, float(time_ps[0] / time_ps.sum()))


def _steady(time_ps: I64) -> float:
    """How close to a line it is: the correlation with the steps' order."""
    if not time_ps.std() > 0:
        return 0.0
    return float(np.corrcoef(np.arange(len(time_ps)), time_ps)[0, 1])


def _growth(time_ps: I64) -> float:
    """Mean of the last third by that of the first."""
    third = max(len(time_ps) // 3, 1)
    first, last = float(time_ps[:third].mean()), float(time_ps[-third:].mean())
    return last / first if first > 0 else nan


def _apart(growth: float, time_ps: I64, step_ps: I64 | None) -> float:
    """The growth, unless a good share of it is that of the rest of the step: of the machine."""
    if step_ps is None or not growth > 0:
        return growth
    rest = np.maximum(step_ps - time_ps, 0)
    if float(rest.mean()) < PART_FRAC * float(step_ps.mean()):
        return growth
    around = _growth(rest)
    # A slow machine makes Python slower than ops: a part of the growth, as a power, is enough.
    is_the_machine = around > 0 and log(around) * log(growth) > LARGE_FRAC * log(growth) ** 2
    return nan if is_the_machine else growth


def _period(at: I64) -> float:
    """Steps between bursts; 0 where they have no rhythm, or only one or two were seen."""
    apart = np.diff(at)
    if len(apart) < 2:
        return 0.0
    middle = median(apart)
    off = np.abs(apart - middle) > max(LARGE_FRAC * middle, 1)
    return middle if off.sum() <= LARGE_FRAC * len(apart) else 0.0
