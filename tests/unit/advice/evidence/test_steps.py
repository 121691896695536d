"""Which steps are long, what they cost, and which is the slowest."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from stepscope.advice.evidence.steps import LongSteps, long_steps
from stepscope.registry import Unknown

OUTLIER_MS = 77.0


def overview(*times_ms: float, kept: list[bool] | None = None) -> Any:
    """The overview of steps that follow each other, numbered from 10."""
    ends = np.cumsum(times_ms)
    table = {
        "step_num": np.arange(10, 10 + len(times_ms)),
        "start_ms": ends - times_ms,
        "step_time_ms": np.asarray(times_ms),
        "kept": np.asarray(kept if kept is not None else [True] * len(times_ms)),
        "is_outlier": np.asarray(times_ms) == OUTLIER_MS,
    }
    return SimpleNamespace(step_table=table)


def found(*times_ms: float, kept: list[bool] | None = None) -> LongSteps:
    steps = long_steps(overview(*times_ms, kept=kept))
    assert isinstance(steps, LongSteps)
    return steps


def test_steps_beyond_twice_the_median_are_long() -> None:
    steps = found(10, 10, 10, 20, 10, 50, 25, 10)
    assert steps.median_ms == 10
    assert (steps.count, steps.is_long.nonzero()[0].tolist()) == (2, [5, 6])
    assert steps.excess_ms == 40 + 15
    assert steps.per_step_ms == pytest.approx(55 / 8)
    assert steps.cost_frac == pytest.approx(55 / 145)
    assert not steps.is_cheap


def test_the_slowest_is_told_with_its_place_in_the_timeline() -> None:
    steps = found(10, 10, 10, 20, 10, 50, 25, 10)
    assert steps.measured == {
        "slow_steps": 2, "step_count": 8, "median_ms": 10, "slowest_ms": 50
    }  # fmt: skip
    ref = steps.slowest_ref
    assert (ref.tool, ref.from_ms, ref.to_ms) == ("trace_viewer", 60, 110)


def test_steps_that_do_not_count_are_left_out() -> None:
    steps = found(99, *[10] * 8, 30, kept=[False, *[True] * 9])
    assert len(steps.time_ms) == 9
    assert (steps.slowest, steps.slowest_begin_ms) == (19, 179)


def test_outliers_are_long_although_no_mean_counts_them() -> None:
    steps = found(*[10] * 9, OUTLIER_MS, kept=[*[True] * 9, False])
    assert (steps.count, steps.slowest, steps.excess_ms) == (1, 19, 67)


def test_what_costs_less_than_three_per_cent_is_cheap() -> None:
    # 11 of 1,011 ms, and 40 of 1,030 ms.
    assert found(*[10.0] * 99, 21.0).is_cheap
    assert not found(*[10.0] * 98, 50.0).is_cheap
    even = found(*[10.0] * 8)
    assert (even.count, even.cost_frac, even.is_cheap) == (0, 0.0, True)
    assert found(*[0.0] * 8).cost_frac == 0.0


def test_seven_steps_are_too_few() -> None:
    few = long_steps(overview(*[10.0] * 6, 50.0))
    assert isinstance(few, Unknown)
    assert "7 steps" in few.reason
