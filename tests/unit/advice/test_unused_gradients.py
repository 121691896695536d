"""unused-gradients: its range, its place, and when it is silent."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stepscope.advice import RULES, advise
from stepscope.result import Advice
from stepscope.tables.parts.gradients import NeedlessGradients
from tests.unit.advice.test_largest_part import account, op

EVALUATE = NeedlessGradients(
    6.0, 40.0, "aten::linear", "evaluate", "train.py", 30, "train.py:50 main"
)


# A backward pass ends in 84 parameters, half of which are updated.
TEACHER = replace(
    EVALUATE, time_ms=3.0, ops=84, updated=42, longest="autograd::engine::evaluate_function: Conv0"
)


def told(
    found: NeedlessGradients | None,
    unclaimed: NeedlessGradients | None = None,
) -> Advice:
    asked = replace(
        account(op("conv", 8.0)),
        unused_gradients=found,
        unclaimed_gradients=unclaimed,
    )
    rules = [rule for rule in RULES if rule.id == "unused-gradients"]
    return advise({"step_account": asked}, rules)


def test_where_nothing_is_trained_large_ops_lose_little() -> None:
    """40 ops that take 6 ms note a gradient each, in 60 µs; 4,000 ops of 1.5 µs do little else."""
    (found,) = told(replace(EVALUATE, is_all=True)).findings
    assert found.saving_low_ms == pytest.approx(0.05 * 40 * 0.06)
    assert found.saving_ms == pytest.approx(0.25 * 40 * 0.06)
    assert found.saving_high_ms == pytest.approx(0.6 * 40 * 0.06)
    (small,) = told(replace(EVALUATE, is_all=True, ops=4_000)).findings
    assert (small.saving_ms, small.saving_high_ms) == pytest.approx((1.5, 3.6))


def test_gradients_that_no_optimizer_takes_are_counted_and_placed() -> None:
    (found,) = told(None, TEACHER).findings
    assert (found.saving_low_ms, found.saving_ms) == pytest.approx((1.2, 2.25))
    assert found.saving_high_ms == pytest.approx(3.3)


def test_few_gradients_that_no_optimizer_takes_are_no_finding() -> None:
    assert not told(None, replace(TEACHER, time_ms=0.9)).findings
