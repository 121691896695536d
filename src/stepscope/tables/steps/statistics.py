"""The statistics of steps: which count, what they take, and whether two runs differ.

Every mean of steps that is shown anywhere is a mean over the same *kept* steps, so that parts sum
to it. Left out are steps that were not recorded whole, those at the start that warm up, and
outliers: steps far beyond the median (``_fence``) and apart from all others, if they are at most a
tenth of ten steps or more. What is more frequent, or the end of a long tail, belongs to the program
and stays. The tail is the mean with the outliers
and the 95th percentile.

**Interval of a mean.** Blocks of consecutive steps are resampled, because neighbouring steps depend
on each other (circular block bootstrap: Politis & Romano 1992; block length: Politis & White 2004
with the correction of Patton, Politis & White 2009). The interval is symmetric on the logarithm,
which keeps it above 0. It is widened by Student's over the normal quantile for the few blocks of a
short recording, and by ``_SHORT_RUN``. Outliers enter it as the
longest kept step, and the spread is divided by the share of kept steps, as for every trimmed mean
(Tukey & McLaughlin 1963).

**Interval of a difference.** The two intervals are combined as Zou & Donner propose ("Construction
of confidence limits about effect measures", Statistics in Medicine 27, 2008). No run can become
shorter than 0. If only one run has too many slow steps to leave them out, either choice may be
chance: the interval then covers that of the mean with outliers too.

**Decision.** A change is claimed if the interval lies beyond 1 % of the baseline on one side. Both
are equal if it lies within 2 % on either side (two one-sided tests: Schuirmann 1987). Otherwise
the recordings cannot tell. Below six steps on either side steps are not tested: chance separates
four from four completely in 2.9 % of all cases, even if no step depends on the one before.
**Parts of the step.** A part changes beyond Student's interval over blocks of steps, at a level
divided by the number of parts (Bonferroni). Of fewer than six steps its occurrences tell: how
those at one place of the step differ from step to step. Then no step of one run may reach into the
range of the other.
"""

from __future__ import annotations

from functools import cached_property
from math import ceil, cos, exp, inf, isfinite, isnan, log10, nan, pi, sin, sqrt
from statistics import NormalDist
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import median, quantile
from stepscope.columns.space import Bool
from stepscope.records import dataclass

F64 = NDArray[np.float64]

CONFIDENCE: Final = 0.99
MIN_EFFECT_FRAC: Final = 0.01  # of the baseline; smaller changes are not worth a verdict
EQUAL_FRAC: Final = 0.02  # of the baseline; runs within it count as equal
FEWEST_STEPS: Final = 6  # a side; fewer are not tested
FEWEST_FOR_TAIL: Final = 20  # steps; the 95th percentile of fewer is their maximum
RESAMPLES: Final = 2000
# An outlier is half the median and ten standard deviations (by the median deviation) beyond it.
_FENCE_FRAC: Final = 0.5
_FENCE_DEVIATIONS: Final = 10 * 1.4826
_GAP_FACTOR: Final = 1.25  # between the longest kept step and the shortest outlier
_OUTLIER_DIVISOR: Final = 10  # at most one step in so many
_WARM_UP_DIVISOR: Final = 4  # at most one step in so many, and one of three
_LEAST_BLOCKS: Final = 5
_FEWEST_FOR_PAIRS: Final = 7  # steps; from here on blocks have two or more
# Few steps understate how much steps vary. The interval is wider by 9 / steps², and by twice that
# if blocks are single steps: about the least at which simulated false alarms stay at 1 %.
_SHORT_RUN: Final = 9
# Below this share of the step a difference of means is only how their sums were rounded.
_ROUNDED_FRAC: Final = 1e-12
_SEED: Final = 20261121
_MANY: Final = 1e6  # degrees of freedom, from which Student's quantile is the normal one
# Degrees of freedom from which occurrences of a part within few steps show how it varies.
_FEWEST_OCCURRENCES: Final = 8

#: What is known of a change: "separated" is a side that lies beyond the other in every step, of too
#: few steps to test it.
ChangeOutcome = Literal["slower", "faster", "equal", "unknown", "separated"]


def student_quantile(freedom: float, confidence: float = CONFIDENCE) -> float:
    """Return Student's quantile of (1 + confidence) / 2.

    G. W. Hill, "Algorithm 396: Student's t-quantiles", Communications of the ACM 13 (1970).
    """
    tails, df = 1 - confidence, freedom
    if df > _MANY:
        return NormalDist().inv_cdf(1 - tails / 2)
    if df < 2:
        return cos(tails * pi / 2) / sin(tails * pi / 2)
    if df < 3:
        return sqrt(2 / (tails * (2 - tails)) - 2)
    a = 1 / (df - 0.5)
    b = 48 / a**2
    c = ((20700 * a / b - 98) * a - 16) * a + 96.36
    d = ((94.5 / (b + c) - 3) / b + 1) * sqrt(a * pi / 2) * df
    x = d * tails
    y = x ** (2 / df)
    if y > 0.05 + a:
        x = NormalDist().inv_cdf(tails / 2)
        y = x * x
        if df < 5:
            c += 0.3 * (df - 4.5) * (x + 0.6)
        c += (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b
        y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x
        y = a * y * y
        y = exp(y) - 1
    else:
        y = (
            (1 / (((df + 6) / (df * y) - 0.089 * d - 0.822) * (df + 2) * 3) + 0.5 / (df + 4)) * y
            - 1
        ) * (df + 1) / (df + 2) + 1 / y
    return sqrt(df * y)


_Z: Final = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


@dataclass(frozen=True, eq=False, slots=True)
class StepChoice:
    """Which steps count.

    Attributes:
        kept: Those that means are over.
        is_warm_up: Those at the start that are left out because they warm up.
        is_outlier: Those left out as outliers.
    """

    kept: Bool
    is_warm_up: Bool
    is_outlier: Bool


# Each try looks at all steps.
_MAX_WARM_UPS_TRIED: Final = 64


def choose_steps(time: NDArray[Any], whole: Bool) -> StepChoice:
    """Choose the steps that count among those recorded whole, in their order.

    Args:
        time: Time of each step.
        whole: Which steps were recorded whole.
    """
    rows = np.flatnonzero(whole)
    times = np.asarray(time, dtype=np.float64)[rows]
    warm_up = _warm_up(times)
    is_warm_up, is_outlier = (np.zeros(len(time), dtype=bool) for _ in range(2))
    is_warm_up[rows[:warm_up]] = True
    is_outlier[rows[warm_up:]] = _outliers(times[warm_up:])
    return StepChoice(whole & ~is_warm_up & ~is_outlier, is_warm_up, is_outlier)


def _warm_up(times: F64) -> int:
    """How many steps at the start are far beyond all that follow, outliers aside."""
    if len(times) < 3:
        return 0
    most = max(len(times) // _WARM_UP_DIVISOR, 1)
    # At least one step of those that always follow is no outlier and as long as this.
    after = times[most:]
    place = max(len(after) - len(times) // _OUTLIER_DIVISOR - 1, 0)
    least = np.partition(after, place)[place]
    firsts = np.minimum.accumulate(times[:most])
    possible: list[int] = (np.flatnonzero(firsts > _GAP_FACTOR * least) + 1).tolist()
    for count in possible[::-1][:_MAX_WARM_UPS_TRIED]:
        first, rest = firsts[count - 1], times[count:]
        fence, longest = _fence(rest), rest[~_outliers(rest)].max()
        if longest <= fence < first and first > _GAP_FACTOR * longest:
            return count
    return 0


def _fence(times: F64) -> float:
    """Return the time beyond which a step is an outlier."""
    typical = median(times)
    deviation = median(np.abs(times - typical))
    return typical + max(_FENCE_FRAC * typical, _FENCE_DEVIATIONS * deviation)


def _outliers(times: F64) -> Bool:
    """Return which steps are outliers: at most a tenth of them, and apart from all others."""
    nothing = np.zeros(len(times), dtype=bool)
    most = len(times) // _OUTLIER_DIVISOR
    if not most:
        return nothing
    beyond = times > _fence(times)
    if not 0 < beyond.sum() <= most:
        return nothing
    return beyond if times[beyond].min() > _GAP_FACTOR * times[~beyond].max() else nothing


@dataclass(frozen=True)
class StepSample:
    """Times of the steps of a run after its warm-up, in their order.

    Attributes:
        times: Kept steps, and outliers.
        is_outlier: Which of them are outliers.
    """

    times: F64
    is_outlier: Bool

    def __len__(self) -> int:
        return len(self.times)

    @classmethod
    def of(cls, times: F64) -> StepSample:
        """Choose among steps that were all recorded whole."""
        choice = choose_steps(times, np.ones(len(times), dtype=bool))
        after = ~choice.is_warm_up
        return cls(times[after], choice.is_outlier[after])

    @property
    def has_slow_mode(self) -> bool:
        """Whether steps that would be outliers are too many to be left out."""
        is_slow = self.times > _fence(self.times)
        return bool(is_slow.any() and not self.is_outlier.any())

    @cached_property
    def mean(self) -> float:
        """Mean of the kept steps."""
        return float(self.times[~self.is_outlier].mean())

    @property
    def tail_mean(self) -> float:
        """Mean of all steps, outliers included."""
        return float(self.times.mean())

    @property
    def p95(self) -> float:
        """95th percentile of all steps; NaN of fewer than ``FEWEST_FOR_TAIL``."""
        return quantile(self.times, 0.95) if len(self) >= FEWEST_FOR_TAIL else nan

    @cached_property
    def interval(self) -> tuple[float, float]:
        """99 % interval of ``mean``; NaN of too few steps."""
        longest = self.times[~self.is_outlier].max()
        share = 1 - float(self.is_outlier.mean())
        return _interval(np.minimum(self.times, longest), self.mean, share)

    @cached_property
    def tail_interval(self) -> tuple[float, float]:
        """99 % interval of ``tail_mean``; NaN of too few steps."""
        return _interval(self.times, self.tail_mean) if self.is_outlier.any() else self.interval


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference of two means.

    Attributes:
        baseline, candidate: The two means.
        low, high: 99 % interval of ``delta``; NaN of too few steps.
        outcome: What is known of the change.
    """

    baseline: float
    candidate: float
    low: float
    high: float
    outcome: ChangeOutcome

    @property
    def delta(self) -> float:
        """The candidate less the baseline; 0 where only sums were rounded."""
        value = self.candidate - self.baseline
        return value if abs(value) > _ROUNDED_FRAC * self.baseline else 0.0

    @property
    def interval(self) -> tuple[float, float] | None:
        """The interval, None without one."""
        return None if isnan(self.low) else (self.low, self.high)

    @property
    def significant(self) -> bool | None:
        """Whether there is a change; None of too few steps to tell."""
        return None if isnan(self.low) else self.outcome in ("slower", "faster")


def difference(baseline: StepSample, candidate: StepSample) -> Difference:
    """Return the difference of the mean kept steps of two runs."""
    means = baseline.mean, candidate.mean
    if min(len(baseline), len(candidate)) < FEWEST_STEPS:
        gap = max(
            candidate.times.min() - baseline.times.max(),
            baseline.times.min() - candidate.times.max(),
        )
        is_separated = min(len(baseline), len(candidate)) > 1 and gap > MIN_EFFECT_FRAC * means[0]
        return Difference(*means, nan, nan, "separated" if is_separated else "unknown")
    found = from_intervals(*means, baseline.interval, candidate.interval)
    if baseline.has_slow_mode == candidate.has_slow_mode:
        return found
    whole = tail_difference(baseline, candidate)
    return judged(*means, min(found.low, whole.low), max(found.high, whole.high))


def tail_difference(baseline: StepSample, candidate: StepSample) -> Difference:
    """Return the difference of the means of all steps, outliers included."""
    return from_intervals(
        baseline.tail_mean, candidate.tail_mean, baseline.tail_interval, candidate.tail_interval
    )


def from_intervals(
    baseline: float,
    candidate: float,
    before: tuple[float, float],
    after: tuple[float, float],
) -> Difference:
    """Combine the means of two independent runs, and their intervals, to their difference."""
    delta = candidate - baseline
    low = delta - sqrt((candidate - after[0]) ** 2 + (before[1] - baseline) ** 2)
    high = delta + sqrt((after[1] - candidate) ** 2 + (baseline - before[0]) ** 2)
    return judged(baseline, candidate, max(low, -baseline), high)


def judged(baseline: float, candidate: float, low: float, high: float) -> Difference:
    """Decide what an interval says; NaN says nothing."""
    rounded = _ROUNDED_FRAC * max(baseline, candidate)
    low, high = (0.0 if abs(value) <= rounded else value for value in (low, high))
    least, equal = MIN_EFFECT_FRAC * baseline, EQUAL_FRAC * baseline
    outcome: ChangeOutcome = "unknown"
    if low > least:
        outcome = "slower"
    elif high < -least:
        outcome = "faster"
    elif -equal <= low and high <= equal:
        outcome = "equal"
    return Difference(baseline, candidate, low, high, outcome)


def _interval(times: F64, mean: float, kept_frac: float = 1.0) -> tuple[float, float]:
    """Interval of a mean of consecutive steps, symmetric on the logarithm.

    Args:
        times: Every step, outliers cut to the longest of the others.
        mean: What the interval is about.
        kept_frac: Share of the steps that are no outliers.
    """
    count = len(times)
    if count < FEWEST_STEPS:
        return nan, nan
    if not mean > 0:  # steps marked as points in time
        return 0.0, 0.0
    length = block_length(times)
    blocks = count / length
    drawn = ceil(blocks)
    begin = np.random.default_rng(_SEED).integers(count, size=(RESAMPLES, drawn))
    total = np.concatenate([[0.0], np.cumsum(np.concatenate([times, times[:length]]))])
    # The last block is cut, so that a resample has as many steps as the recording.
    last = count - (drawn - 1) * length
    sums = (total[begin[:, :-1] + length] - total[begin[:, :-1]]).sum(axis=1)
    sums += total[begin[:, -1] + last] - total[begin[:, -1]]
    moved = np.abs(np.log(sums / (count * times.mean()))) / kept_frac
    # Resampling k blocks spreads by (k-1)/k too little (as a sample's variance without ddof).
    widen = sqrt(blocks / (blocks - 1)) * student_quantile(blocks - 1) / _Z
    half = (
        quantile(moved, CONFIDENCE)
        * widen
        * (1 + _SHORT_RUN * (2 if length == 1 else 1) / count**2)
    )
    return mean * exp(-half), mean * exp(half)


def block_length(times: F64) -> int:
    """Return the length of the blocks to resample, from the autocorrelation of the times.

    Politis & White, "Automatic block-length selection for the dependent bootstrap", Econometric
    Reviews 23 (2004) 53–70, with the correction of Patton, Politis & White (2009), for circular
    blocks: b = (2 G² / D)^(1/3) n^(1/3) with D = 4/3 g(0)².
    """
    count = len(times)
    centred = times - times.mean()
    variance = float(centred @ centred) / count
    longest = max((count + 2) // _LEAST_BLOCKS, 2 if count >= _FEWEST_FOR_PAIRS else 1)
    longest = min(ceil(3 * sqrt(count)), longest)
    if variance <= 0 or longest < 2:
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


@dataclass(frozen=True, eq=False, slots=True)
class PartSample:
    """The time of a part of the step in the kept steps of one run.

    Attributes:
        block_ms: Its means over equally long blocks of consecutive steps.
        variance: Variance of its mean, from how occurrences at one place of the step differ from
            step to step; 0 if nothing shows it.
        freedom: Degrees of freedom of ``variance``.
    """

    block_ms: F64
    variance: float
    freedom: float

    def spread(self, *, is_few: bool) -> tuple[float, float]:
        """Return the variance of the mean and its degrees of freedom; NaN if unknown.

        Args:
            is_few: Whether there are too few steps to tell by themselves.
        """
        blocks = len(self.block_ms)
        by_steps = float(self.block_ms.var(ddof=1)) / blocks if blocks > 1 else nan
        if not is_few:
            return by_steps, blocks - 1
        if self.freedom >= _FEWEST_OCCURRENCES:
            # What changes from step to step shows between steps only, and there by chance.
            return max(self.variance, 0.0 if isnan(by_steps) else by_steps), self.freedom
        return nan, nan


#: Whether a part changed. Of too few steps to test: "separated" if no step of one run reaches into
#: the range of the other, else "unknown".
PartChange = Literal["yes", "no", "separated", "unknown"]


def part_change(
    before: PartSample, after: PartSample, *, is_few: bool, least_ms: float, among: int
) -> tuple[float, PartChange]:
    """Return the half-width of the 99 % interval of a part's change, and whether it changed.

    Args:
        before: The part in the baseline.
        after: The part in the new run.
        is_few: Whether either run has too few steps to test the step itself.
        least_ms: Smaller changes are none.
        among: How many parts are tested together; the level is divided by it (Bonferroni).
    """
    spreads = [side.spread(is_few=is_few) for side in (before, after)]
    delta = float(after.block_ms.mean() - before.block_ms.mean())

    def half_width(confidence: float) -> float:
        return sqrt(
            sum(student_quantile(df, confidence) ** 2 * variance for variance, df in spreads)
        )

    is_known = not any(isnan(variance) for variance, _ in spreads)
    noise = half_width(CONFIDENCE) if is_known else nan
    strict = half_width(1 - (1 - CONFIDENCE) / max(among, 1)) if is_known else inf
    is_beyond = abs(delta) > max(strict, least_ms)
    if not is_few:
        return noise, "yes" if is_beyond else "no"
    gap = max(
        after.block_ms.min() - before.block_ms.max(), before.block_ms.min() - after.block_ms.max()
    )
    if min(len(before.block_ms), len(after.block_ms)) < 2 or gap <= 0 or abs(delta) <= least_ms:
        return noise, "unknown"
    by_occurrences = min(before.freedom, after.freedom) >= _FEWEST_OCCURRENCES
    return noise, "yes" if is_beyond and by_occurrences else "separated"
