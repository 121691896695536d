"""growing-steps: each step runs more ops than the one before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stepscope.advice import RULES, advise
from stepscope.analysis.step_account import OpsGrowth, OwnerRow
from stepscope.result import Advice, Table
from tests.unit.advice.test_largest_part import account, op, part

OWNER = {
    "kind": "op", "name": "aten/mul", "family": "mul", "function": "train_on", "file": "train.py",
    "line": 27, "caller": "train.py:40 main", "between": "", "time_ms": 2.0,
    "step_frac": 0.2, "stretches": 30.0, "on_device": False,
}  # fmt: skip


def told(growth: OpsGrowth | None, steps: int = 8) -> Advice:
    found = account(op("mul", 4.0), part(kind="framework", time_ms=5.0))
    rows = Table(OwnerRow, {name: [value] for name, value in OWNER.items()})
    found = replace(found, growth=growth, step_count=steps, owners=rows)
    rules = [rule for rule in RULES if rule.id in ("growing-steps", "largest-part")]
    return advise({"step_account": found}, rules)


def test_it_says_how_many_more_which_and_where_and_comes_first() -> None:
    found = told(OpsGrowth(800, 1311, 1055.5, "aten/mul")).findings[0]
    assert found.rule == "growing-steps"
    assert "73 ops more than the one before: 800 in the first, 1311 in the last of 8" in (
        found.message
    )
    assert "aten/mul above all for train_on (train.py:27)" in found.message
    assert found.place is not None and found.place.line == 27
    # At least what grew while it was recorded; at most all but what no step added.
    assert found.saving_low_ms == pytest.approx(10.0 * (1 - 800 / 1055.5))
    assert found.saving_high_ms == pytest.approx(10.0 * (1 - (800 % 73) / 1055.5))


def test_steps_of_the_same_number_of_ops_are_silent() -> None:
    (checked,) = [one for one in told(None).checked if one.rule == "growing-steps"]
    assert checked.outcome == "silent"


def test_three_steps_cannot_tell() -> None:
    (checked,) = [one for one in told(None, steps=3).checked if one.rule == "growing-steps"]
    assert checked.outcome == "unknown"
