"""How often a step goes backward for gradients of gradients."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stepscope.advice import RULES, advise
from stepscope.result import Advice
from stepscope.verdicts.needless_gradients import NeedlessGradients
from tests.unit.advice.test_largest_part import account, op

PASSES = NeedlessGradients(
    4.0, 40.0, 15.0, "autograd/MmBackward0", "slope", "heat.py", 41, "", is_higher=True
)


def told(found: NeedlessGradients, rule: str) -> Advice:
    asked = replace(account(op("matmul", 8.0)), repeated_gradients=found)
    return advise({"step_account": asked}, [one for one in RULES if one.id == rule])


def test_the_largest_part_says_how_often_and_what_to_ask_for_once() -> None:
    (found, *_) = told(PASSES, "largest-part").findings
    assert "backward through the same forward ops 15 times, most in slope (heat.py:41)" in (
        found.message
    )
    assert "the gradient of each output once" in found.actions[0]


@pytest.mark.parametrize(
    "found",
    [replace(PASSES, times=3.0), replace(PASSES, time_ms=1.0), replace(PASSES, is_higher=False)],
)
def test_a_penalty_on_gradients_is_not_told(found: NeedlessGradients) -> None:
    (first, *_) = told(found, "largest-part").findings
    assert "gradients of gradients" not in first.message


def test_numbers_of_forward_ops_do_not_tell_what_is_needless() -> None:
    advice = told(PASSES, "repeated-gradients")
    assert not advice.findings
    assert [one.outcome for one in advice.checked] == ["unknown"]
