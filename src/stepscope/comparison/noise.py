"""How much of a difference is noise: a block bootstrap over the times of single steps.

Steps follow each other, so their times are not independent: a slow spell covers several of them.
Blocks of consecutive steps are resampled instead of single steps (circular block bootstrap,
Politis & Romano 1992), with the block length that Politis & White (2004, corrected 2009) derive
from the autocorrelation. Short recordings have few blocks; the interval is widened by the ratio
of Student's to the normal quantile, which keeps its coverage there.

The interval knows the spread *within* the recordings only. What differs between two starts of a
program (clock speed, placement in memory, neighbours on the machine) shows in no single one, so
only a difference that is certainly larger than ``MIN_EFFECT_FRAC`` of the step is significant.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isfinite, log10, nan, pi, sqrt, tan
from typing import Final

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]

CONFIDENCE: Final = 0.99
# Differences smaller than this share of the baseline's step are not worth a verdict.
MIN_EFFECT_FRAC: Final = 0.01
RESAMPLES: Final = 2000
# Fewer blocks than this tell nothing of a mean's spread; a short recording has shorter ones.
_LEAST_BLOCKS: Final = 5
# Below this share of the step a difference of means is only how their sums were rounded.
_ROUNDED_FRAC: Final = 1e-12
_SEED: Final = 20261121
# Normal quantile of (1 + CONFIDENCE) / 2.
_Z: Final = 2.5758293035489004


@dataclass(frozen=True, slots=True)
class Noise:
    """A difference of means with its interval.

    Attributes:
        delta: Mean of the second run less mean of the first.
        low, high: Interval at ``CONFIDENCE``; NaN when a run has too few steps to tell.
        significant: Whether the interval lies wholly beyond ``MIN_EFFECT_FRAC`` of the baseline,
            above or below; None when there is no interval.
    """

    delta: float
    low: float
    high: float
    significant: bool | None


def difference(baseline: F64, candidate: F64) -> Noise:
    """The difference of the mean step times of two runs, in their unit."""
    rounded = _ROUNDED_FRAC * float(max(candidate.mean(), baseline.mean()))
    delta = _beyond(float(candidate.mean() - baseline.mean()), rounded)
    first, second = _mean_spread(baseline, stream=1), _mean_spread(candidate, stream=2)
    if first is None or second is None:
        return Noise(delta, nan, nan, None)
    # Both means vary independently: the resampled differences are all differences of the two.
    moved = second.deviations - first.deviations
    low, high = np.quantile(moved, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    widen = _student_factor(first, second)
    # The bootstrap's upper deviation limits the true mean from below, and the other way round.
    interval = (
        _beyond(delta - float(high) * widen, rounded),
        _beyond(delta - float(low) * widen, rounded),
    )
    least = MIN_EFFECT_FRAC * float(baseline.mean())
    return Noise(delta, *interval, significant=interval[0] > least or interval[1] < -least)


def _beyond(value: float, rounded: float) -> float:
    return value if abs(value) > rounded else 0.0


def mean_interval(times: F64) -> tuple[float, float]:
    """The interval of one run's mean at ``CONFIDENCE``; NaN with too few steps."""
    spread = _mean_spread(times, stream=1)
    if spread is None:
        return nan, nan
    low, high = np.quantile(spread.deviations, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    widen = student_quantile(spread.blocks - 1) / _Z
    mean = float(times.mean())
    return mean - float(high) * widen, mean - float(low) * widen


@dataclass(frozen=True, eq=False, slots=True)
class _Spread:
    """Resampled means less the mean, their variance, and from how many blocks they come."""

    deviations: F64
    variance: float
    blocks: float


def _mean_spread(times: F64, *, stream: int) -> _Spread | None:
    """Resample the mean; equal streams draw the same steps, so two runs need two."""
    count = len(times)
    if count < 3:
        return None
    length = block_length(times)
    blocks = count / length
    drawn = ceil(blocks)
    chance = np.random.default_rng((_SEED, stream))
    begin = chance.integers(count, size=(RESAMPLES, drawn))
    total = np.concatenate([[0.0], np.cumsum(np.concatenate([times, times[:length]]))])
    # The last block is cut, so that a resample has as many steps as the recording.
    last = count - (drawn - 1) * length
    sums = (total[begin[:, :-1] + length] - total[begin[:, :-1]]).sum(axis=1)
    sums += total[begin[:, -1] + last] - total[begin[:, -1]]
    # Resampling k blocks spreads by (k-1)/k too little (as a sample's variance without ddof).
    grow = sqrt(blocks / (blocks - 1)) if blocks > 1 else 1.0
    deviations = (sums / count - times.mean()) * grow
    return _Spread(deviations, float(deviations.var()), blocks)


def block_length(times: F64) -> int:
    """Length of the blocks to resample, from the autocorrelation of the times.

    Politis & White, "Automatic block-length selection for the dependent bootstrap", Econometric
    Reviews 23 (2004) 53–70, with the correction of Patton, Politis & White (2009), for circular
    blocks: b = (2 G² / D)^(1/3) n^(1/3) with D = 4/3 g(0)².
    """
    count = len(times)
    centred = times - times.mean()
    variance = float(centred @ centred) / count
    longest = max(1, min(ceil(3 * sqrt(count)), count // _LEAST_BLOCKS))
    if variance <= 0 or count < 9:
        return 1
    lags = min(ceil(sqrt(count)) + 5, count - 1)
    correlation = np.asarray(
        [float(centred[lag:] @ centred[: count - lag]) for lag in range(lags + 1)]
    ) / (count * variance)
    small = np.abs(correlation[1:]) < 2 * sqrt(log10(count) / count)
    row = 5
    quiet = [m for m in range(len(small) - row + 1) if small[m : m + row].all()]
    reach = min(2 * max(quiet[0] if quiet else lags, 1), lags)
    lag = np.arange(1, reach + 1)
    weight = np.minimum(1.0, 2 * (1 - lag / reach))
    smooth = 2 * float((weight * lag * correlation[1 : reach + 1]).sum())
    level = 1 + 2 * float((weight * correlation[1 : reach + 1]).sum())
    if level == 0:
        return longest
    ideal = (2 * smooth**2 / (4 / 3 * level**2)) ** (1 / 3) * count ** (1 / 3)
    # Few steps do not show their autocorrelation: then blocks are as long as theory's rate.
    least = min(ceil(1.5 * count ** (1 / 3)), longest)
    return int(min(max(round(ideal), least), longest)) if isfinite(ideal) else longest


def _student_factor(first: _Spread, second: _Spread) -> float:
    """Student's quantile over the normal one, at Welch's degrees of freedom."""
    parts = [(one.variance, max(one.blocks - 1, 0.5)) for one in (first, second)]
    whole = sum(variance for variance, _ in parts)
    if whole == 0:
        return 1.0
    freedom = whole**2 / sum(variance**2 / df for variance, df in parts)
    return student_quantile(freedom) / _Z


def student_quantile(freedom: float) -> float:
    """Student's quantile of (1 + CONFIDENCE) / 2.

    Exact for one and two degrees of freedom, else the expansion of Cornish and Fisher in 1/df
    (Abramowitz & Stegun 26.7.5), which is within 2 % from three on.
    """
    tail = (1 + CONFIDENCE) / 2
    if freedom <= 1:
        return tan(pi * (tail - 0.5))
    if freedom <= 2:
        return _two_degrees(tail)
    z, df = _Z, freedom
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / df ** (power + 1) for power, term in enumerate(terms))


def _two_degrees(tail: float) -> float:
    centred = 2 * tail - 1
    return centred * sqrt(2 / (1 - centred**2))


def block_noise(means: F64) -> F64:
    """Half-width of the interval of each row's mean over equally long blocks of steps (columns).

    The blocks are long enough to be nearly independent, so this is Student's interval of their
    mean. NaN with fewer than three blocks.
    """
    blocks = means.shape[1]
    if blocks < 3:
        return np.full(len(means), nan)
    half: F64 = student_quantile(blocks - 1) * means.std(axis=1, ddof=1) / sqrt(blocks)
    return half
