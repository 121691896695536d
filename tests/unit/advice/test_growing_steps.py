"""growing-steps: each step runs more ops than the one before."""

from __future__ import annotations

from dataclasses import replace

from stepscope.advice import RULES, advise
from stepscope.analysis.step_account import OpsGrowth, OwnerRow
from stepscope.result import Advice, Table
from tests.unit.advice.test_largest_part import account, op, part

OWNER = {
    "kind": "op", "name": "aten/mul", "family": "mul", "function": "train_on", "file": "train.py",
    "line": 27, "caller": "train.py:40 main", "within": "", "time_ms": 2.0,
    "step_frac": 0.2, "stretches": 30.0, "on_device": False,
}  # fmt: skip


def told(growth: OpsGrowth | None, steps: int = 8) -> Advice:
    found = account(op("mul", 4.0), part(kind="framework", time_ms=5.0))
    rows = Table(OwnerRow, {name: [value] for name, value in OWNER.items()})
    found = replace(found, growth=growth, step_count=steps, owners=rows)
    rules = [rule for rule in RULES if rule.id in ("growing-steps", "largest-part")]
    return advise({"step_account": found}, rules)


def test_steps_of_the_same_number_of_ops_are_silent() -> None:
    (checked,) = [one for one in told(None).checked if one.rule == "growing-steps"]
    assert checked.outcome == "silent"


def test_three_steps_cannot_tell() -> None:
    (checked,) = [one for one in told(None, steps=3).checked if one.rule == "growing-steps"]
    assert checked.outcome == "unknown"
