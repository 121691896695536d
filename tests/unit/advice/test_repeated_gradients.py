"""repeated-gradients: its range, its place, and when it is silent."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stepscope.advice import RULES, advise
from stepscope.result import Advice
from stepscope.tables.parts.gradients import NeedlessGradients
from tests.unit.advice.test_largest_part import account, op

BY_TASK = NeedlessGradients(
    6.0, 40.0, "autograd/MmBackward0", "by_task", "train.py", 30, "train.py:50 main", times=4.0
)


def told(found: NeedlessGradients | None) -> Advice:
    asked = replace(account(op("conv", 8.0)), repeated_gradients=found)
    return advise({"step_account": asked}, [one for one in RULES if one.id == "repeated-gradients"])


def test_it_says_how_often_and_where_and_saves_no_more_than_it_costs() -> None:
    (found,) = told(BY_TASK).findings
    assert found.saving_low_ms == pytest.approx(3.6)
    assert found.saving_ms == pytest.approx(5.4)
    assert 6.0 <= (found.saving_high_ms or 0.0) <= 10.0  # what goes with it, within the step
    assert found.severity == "high"


def test_without_python_it_names_the_op() -> None:
    (found,) = told(replace(BY_TASK, function="", file="", line=None, caller="")).findings
    assert found.place is None


@pytest.mark.parametrize(
    ("found", "outcome"), [(replace(BY_TASK, time_ms=0.4), "silent"), (None, "unknown")]
)
def test_little_of_it_is_no_finding_and_without_names_nobody_can_tell(
    found: NeedlessGradients | None, outcome: str
) -> None:
    """JAX's ops do not say what they are the gradients of."""
    advice = told(found)
    assert not advice.findings
    assert [one.outcome for one in advice.checked] == [outcome]
