"""Time that climbs and falls back: of work that goes over all that came before in a sequence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.columns.space import F64, I32, I64
from stepscope.tables.account.account import Account
from stepscope.tables.parts.parts import Part

# A climb of fewer steps is chance, and so is one that is less even (correlation) or less steep.
_FEWEST_STEPS, _EVEN, _STEEP = 6, 0.7, 1.15
# What is left when single steps that stand out are smoothed away has this share of the time: bursts
# do not climb, however the steps between them differ.
_SMOOTH_FRAC = 0.5
# The middle of a climb is at least so far from its begin and its end: a jump is none.
_GRADUAL_FRAC = 0.15
# Two climbs are chance where they are less even than this, step by step: a busy machine makes two.
_TWO_EVEN = 0.9
# A fall: what two steps have is so much less than the two before them.
_FALL_FRAC = 0.9
# Lengths of climbs may differ by this share of the longest.
_ALIKE_FRAC = 0.2
# Runs of an op in a step are looked at in so many portions, each of which has several runs: one
# run is of one layer or another. The trend of so few portions is to be steeper.
_PORTIONS, _RUNS_OF_PORTION = 12, 10
_EVEN_WITHIN, _STEEP_WITHIN = 0.95, 1.5


@dataclass(frozen=True, slots=True)
class Climb:
    """A climb.

    Attributes:
        steps: How many steps it goes on for; 0: it is within each step.
        growth: Mean of its last third by that of its first.
    """

    steps: int
    growth: float


def climb_of(found: Account, one: Part) -> Climb | None:
    """How a part's time climbs, over steps or within each; None where it does neither."""
    if over_steps := climb_of_steps(one.time_ps):
        return over_steps
    whole = found.timeline
    own = np.isin(whole.owner, one.first.rows)
    return climb_within(whole.step[whole.stretch[own]], whole.spent_ps[own])


def climb_of_steps(time_ps: I64) -> Climb | None:
    """How a time climbs for some steps and falls back, at least twice; None where it does not.

    Args:
        time_ps: Of each step.
    """
    if len(time_ps) < 2 * _FEWEST_STEPS:
        return None
    smooth = np.median(np.lib.stride_tricks.sliding_window_view(time_ps, 3), axis=1)
    if smooth.sum() < _SMOOTH_FRAC * time_ps[1:-1].sum():
        return None
    falls = _falls(smooth)
    climbs = np.split(smooth, falls)
    # The recording may begin and end within one.
    lengths = np.asarray([len(one) for one in climbs[1:-1] or climbs])
    steps = int(np.median(lengths))
    differ = max(_ALIKE_FRAC * steps, 1)
    if len(climbs) < 2 or max(map(len, climbs)) > steps + differ or min(lengths) < steps - differ:
        return None
    told = [one for one in climbs if len(one) >= _FEWEST_STEPS]
    growths = [_growth(one, _EVEN, _STEEP) for one in told]
    if len(told) == 2:  # what the median of three smooths would look even
        each = np.split(np.asarray(time_ps[1:-1], dtype=np.float64), falls)
        growths += [_growth(one, _TWO_EVEN, _STEEP) for one in each if len(one) >= _FEWEST_STEPS]
    return Climb(steps, float(np.median(growths))) if len(told) > 1 and all(growths) else None


def climb_within(step: I32 | I64, spent_ps: I64 | F64) -> Climb | None:
    """How an op's runs get longer within every step; None where they do not.

    Args:
        step: Which step each run is in, ascending.
        spent_ps: Its time.
    """
    counts = np.bincount(step)
    counts = counts[counts > 0]
    if not len(counts) or counts.min() < _PORTIONS * _RUNS_OF_PORTION:
        return None
    begins = np.cumsum(counts) - counts
    place = np.arange(len(step)) - np.repeat(begins, counts)
    portion = place * _PORTIONS // np.repeat(counts, counts)
    runs = np.bincount(portion, minlength=_PORTIONS)
    mean = np.bincount(portion, weights=spent_ps, minlength=_PORTIONS) / runs
    growth = _growth(mean, _EVEN_WITHIN, _STEEP_WITHIN)
    return Climb(0, growth) if growth else None


def _falls(time_ps: F64) -> I64:
    """Where a climb begins again: the steepest place of each fall."""
    before = (time_ps[:-3] + time_ps[1:-2]) / 2
    after = (time_ps[2:-1] + time_ps[3:]) / 2
    ratio = np.divide(after, before, out=np.ones(len(before)), where=before > 0)
    found: list[int] = []
    for at in np.flatnonzero(ratio < _FALL_FRAC).tolist():
        if found and at - found[-1] < _FEWEST_STEPS // 2:
            found[-1] = at if ratio[at] < ratio[found[-1]] else found[-1]
        else:
            found.append(at)
    return np.asarray(found, dtype=np.int64) + 2


def _growth(time_ps: F64, even: float, steep: float) -> float:
    """Mean of the last third by that of the first; 0 where it is less steep, uneven or a jump."""
    third = max(len(time_ps) // 3, 1)
    first, last = float(time_ps[:third].mean()), float(time_ps[-third:].mean())
    if first <= 0 or last < steep * first:
        return 0.0
    middle = (float(time_ps[third:-third].mean()) - first) / (last - first)
    if not _GRADUAL_FRAC <= middle <= 1 - _GRADUAL_FRAC:
        return 0.0
    return last / first if np.corrcoef(np.arange(len(time_ps)), time_ps)[0, 1] >= even else 0.0
