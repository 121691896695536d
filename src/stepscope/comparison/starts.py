"""Several starts of a program on each side: what differs from start to start counts as noise.

One recording knows how its own steps vary. What two starts of the same program differ by (clock
speed, placement in memory, neighbours on the machine) shows only between recordings, so the
interval here is Welch's, over the mean step of each start: Welch, "The generalization of
'Student's' problem when several different population variances are involved", Biometrika 34
(1947). Starts taken in turn (A, B, B, A) keep a drift of the machine out of the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import nan, sqrt

import numpy as np

from stepscope.comparison.compare import Side, compare
from stepscope.comparison.comparison import Comparison, StartRow, Starts
from stepscope.comparison.verdict import starts_headline
from stepscope.errors import UsageError
from stepscope.result import Diagnostic, Table
from stepscope.tables.steps.statistics import F64, Difference, judged, student_quantile


def compare_starts(
    baselines: Sequence[Side], candidates: Sequence[Side], notes: Sequence[Diagnostic] = ()
) -> Comparison:
    """Compare starts of one program with starts of another.

    The parts are of the two starts that are in the middle of their sides; the verdict, and
    ``Comparison.starts``, are of all.

    Args:
        baselines: Starts of the baseline.
        candidates: Starts of what is compared with it.
        notes: What else a reader must know.

    Raises:
        UsageError: A side has no start.
    """
    if not baselines or not candidates:
        raise UsageError("A comparison of starts needs one on each side.", hint="Name a run.")
    first, last = _middle(baselines), _middle(candidates)
    others = [one.in_short() for one in (*baselines, *candidates) if one not in (first, last)]
    made = compare([first, *others, last], notes)
    before, after = _means(baselines), _means(candidates)
    change = difference_of_starts(before, after)
    base_ms = change.baseline
    return replace(
        made,
        headline=starts_headline(change, made.parts, (len(before), len(after))),
        outcome=change.outcome,
        starts=Starts(
            runs=_rows(baselines, candidates),
            baseline_ms=base_ms,
            candidate_ms=change.candidate,
            delta_ms=change.delta,
            delta_frac=change.delta / base_ms if base_ms > 0 else nan,
            interval_ms=change.interval,
            significant=change.significant,
            spread_ms=_spread(before, after),
        ),
    )


def difference_of_starts(baseline: F64, candidate: F64) -> Difference:
    """Return the difference of two sides, from the mean step of each of their starts.

    There is no interval where a side has one start.
    """
    means = float(baseline.mean()), float(candidate.mean())
    if min(len(baseline), len(candidate)) < 2:
        return Difference(*means, nan, nan, "unknown")
    parts = [(float(side.var(ddof=1)) / len(side), len(side) - 1) for side in (baseline, candidate)]
    variance = sum(own for own, _ in parts)
    half = 0.0
    if variance > 0:
        freedom = variance**2 / sum(own**2 / df for own, df in parts)
        half = student_quantile(freedom) * sqrt(variance)
    delta = means[1] - means[0]
    return judged(*means, max(delta - half, -means[0]), delta + half)


def _middle(sides: Sequence[Side]) -> Side:
    """The start whose step is in the middle; of an even number, the shorter one."""
    order = np.argsort(_means(sides), kind="stable")
    return sides[int(order[(len(sides) - 1) // 2])]


def _means(sides: Sequence[Side]) -> F64:
    return np.asarray([float(one.parts.step_ms.mean()) for one in sides])


def _spread(*sides: F64) -> float:
    """Standard deviation from start to start within the sides; NaN with one start on each."""
    freedom = sum(len(one) - 1 for one in sides)
    if not freedom:
        return nan
    return sqrt(sum(float(((one - one.mean()) ** 2).sum()) for one in sides) / freedom)


def _rows(baselines: Sequence[Side], candidates: Sequence[Side]) -> Table[StartRow]:
    sides = [("baseline", one) for one in baselines] + [("candidate", one) for one in candidates]
    return Table(
        StartRow,
        {
            "run": [one.name for _, one in sides],
            "side": [side for side, _ in sides],
            "steps": [len(one.parts.step_ms) for _, one in sides],
            "step_time_ms": [float(one.parts.step_ms.mean()) for _, one in sides],
        },
    )
