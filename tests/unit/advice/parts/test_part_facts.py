"""What a part has besides its time: who else has time of its kind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from stepscope.advice.parts.part_facts import one_of_several
from stepscope.analysis.step_account import OuterCallRow, StepAccount
from stepscope.result import Table
from tests.unit.advice.test_largest_part import account, part


def called(function: str, above: int, python_ms: float, **more: Any) -> dict[str, Any]:
    return {
        "function": function, "file": "/home/me/train.py", "line": 30, "caller": "", "above": above,
        "is_loop": False, "time_ms": python_ms, "step_frac": python_ms / 10, "framework_ms": 0.0,
        "python_ms": python_ms, "ops_ms": 0.0,
    } | more  # fmt: skip


def said(*calls: dict[str, Any]) -> str:
    """Of ``flip``, which has 2 of 10 ms, with these calls."""
    found: StepAccount = account(part(function="flip", file="/home/me/train.py", time_ms=2.0))
    rows = {name: [one[name] for one in calls] for name in OuterCallRow.__annotations__}
    (row,) = found.parts.records()
    return one_of_several(row, replace(found, calls=Table(OuterCallRow, rows)))


def test_the_call_with_more_of_its_kind_is_named() -> None:
    loop = called("main", -1, 10.0, is_loop=True)
    assert said(loop, called("batch", 0, 6.0), called("flip", 1, 2.0)) == (
        "Python below batch (train.py:30) takes 60% of the step in all."
    )


def test_a_call_with_little_more_or_that_mostly_runs_ops_is_not() -> None:
    assert said(called("batch", -1, 2.5), called("flip", 0, 2.0)) == ""
    assert said(called("step", -1, 4.0, time_ms=9.0), called("flip", 0, 2.0)) == ""


def test_the_loop_itself_is_none() -> None:
    assert said(called("main", -1, 10.0, is_loop=True), called("flip", 0, 2.0)) == ""
    assert said() == ""
