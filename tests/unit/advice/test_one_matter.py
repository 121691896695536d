"""What is one matter is one finding, and what few steps have in no rhythm is none."""

from __future__ import annotations

from typing import Any

import pytest

from stepscope.registry import Rule
from stepscope.result import Finding, Place
from tests.unit.advice.test_largest_part import account, first, part, saying, told


def test_a_loop_and_what_dispatching_it_costs_are_one_finding() -> None:
    def check(_results: Any) -> Any:
        yield Finding(
            "eager-execution", "high", 6.0, 0.7, "The step runs op by op", saving_high_ms=8.0,
            measured={"ops_per_step": 1404.0, "idle_ms": 6.5}, code={"jax": "jax.jit(step)"},
        )  # fmt: skip

    rule = Rule("eager-execution", check, parts=("framework", "eager"))
    loop = part(kind="eager", name="fresh_keys", function="fresh_keys", time_ms=5.0, op="split")
    (found,) = told(account(loop), rule).findings
    assert (found.rule, found.severity) == ("eager-execution", "high")
    assert found.saving_high_ms is not None and found.saving_high_ms >= 5.0
    # A loop with little of it is not what that finding is about.
    rest = part(kind="framework", function="main", time_ms=5.0)
    small = part(kind="eager", name="fresh_keys", function="fresh_keys", time_ms=2.0, op="split")
    assert told(account(small, rest), rule).findings


def test_little_python_of_few_steps_in_no_rhythm_is_no_alarm() -> None:
    few: dict[str, Any] = {"every": 0.0, "burst_ms": 3.0, "steps_frac": 0.1}
    assert first(account(part(time_ms=0.7, **few))).severity == "info"
    assert first(account(part(time_ms=0.7))).severity != "info"
    assert first(account(part(time_ms=4.0, **few))).severity != "info"


def test_a_wait_has_the_number_of_what_causes_it() -> None:
    def check(_results: Any) -> Any:
        yield Finding("python-in-pipeline", "high", 5.0, 0.6, "made in Python", saving_high_ms=7.0)

    cause = Rule("python-in-pipeline", check, cause_of=("input-bound",))
    found = told(account(), cause, saying("input-bound", 8.0)).findings
    assert [one.rule for one in found] == ["python-in-pipeline", "input-bound"]
    assert [one.saving_ms for one in found] == [5.0, 5.0]
    assert [one.saving_high_ms for one in found] == [7.0, 7.0]


@pytest.mark.parametrize(("cause", "count"), [("idle-host-waits", 1), ("idle-device", 2)])
def test_a_host_that_waits_while_its_device_idles_is_one_finding(cause: str, count: int) -> None:
    """It had two savings; where the device idles for another reason, the wait is another matter."""

    def check(_results: Any) -> Any:
        yield Finding(
            "idle-device", "high", 8.0, 0.7, "", saving_high_ms=8.0, cause=cause,
            place=Place(call="recv"),
        )  # fmt: skip

    wait = part(kind="wait", name="recv", function="", time_ms=6.0)
    found = told(account(wait), Rule("idle-device", check)).findings
    assert len(found) == count
    (idle,) = (one for one in found if one.rule == "idle-device")
    assert idle.place == Place(call="recv")
