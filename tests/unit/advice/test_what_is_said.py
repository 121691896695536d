"""What findings say fits what was recorded: no advice for something else, none twice."""

from __future__ import annotations

from math import nan
from types import SimpleNamespace
from typing import Any

import pytest

from stepscope.advice import RULES
from stepscope.advice.results import Results
from stepscope.result import Finding
from tests.unit.advice.test_largest_part import account, first, op, part

GRAPHS = "__inference_train_step_41 50%, __inference_train_step_55 48%, train_step 2%"


def parts_said(made_of: str, *, traces: int, first_call: str = "train_step") -> list[Finding]:
    """Findings about what hands a compiled step over, whose function was traced so often."""
    row = SimpleNamespace(
        function="train_step", calls=1.0, built=0.3, build_ms=4.0, traces=traces, time_ms=8.0
    )
    host = SimpleNamespace(
        after_update_frac=nan,
        turns=None,
        calls=SimpleNamespace(records=lambda: [row]),
        step_count=8,
        eager_ops=0.0,
    )
    handed = part(kind="framework", name="", function="", file="", line=None, caller="")
    handed |= {"made_of": made_of, "first": first_call, "time_ms": 3.0, "step_frac": 0.3}
    rule = next(rule for rule in RULES if rule.id == "largest-part")
    results: Any = {"step_account": account(op("Conv2D", 5.0), handed), "host_activity": host}
    return [one for one in rule.check(Results(results)) if isinstance(one, Finding)]


def test_the_first_runs_of_a_function_that_is_traced_again_are_told_with_its_tracing() -> None:
    """They end with it: doubling the batch would not help."""
    kinds = [one.measured["kind"] for one in parts_said(GRAPHS, traces=5)]
    assert kinds == ["op"]
    kept = [one.measured["kind"] for one in parts_said(GRAPHS, traces=0)]
    assert sorted(map(str, kept)) == ["framework", "op"]


def test_what_runs_outside_of_the_compiled_function_is_told_to_move_into_it() -> None:
    told = parts_said("jax.numpy.eye 38%", traces=0, first_call="jax.numpy.eye")
    outside = next(one for one in told if one.measured["kind"] == "framework")
    assert outside.actions[0].startswith("jax.numpy.eye and its like are called outside")
    usual = parts_said("train_step 90%", traces=0)
    assert any(one.actions[0].startswith("Double the batch") for one in usual)


def test_a_few_reads_are_not_what_a_hand_over_is_about() -> None:
    few = parts_said("train_step 93%, tensorflow.Tensor.__float__ 5%", traces=0)
    assert not any("one by one" in one.actions[0] for one in few)
    many = parts_said("array.__float__ 29%, train_step 19%", traces=0)
    assert any("asks for values one by one" in one.actions[0] for one in many)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (part(), "a tracer of Python's calls slows it down"),
        (part(kind="input", name="input"), "a buffer of the pipeline fills"),
        (part(kind="unrecorded", name="", function=""), "waits there on purpose"),
        (op("MatMul", 5.0), "a model's products"),
    ],
    ids=lambda one: one["kind"] if isinstance(one, dict) else "",
)
def test_a_part_says_when_not_to_believe_what_is_said_of_such_a_part(
    row: dict[str, Any], says: str
) -> None:
    assert says in first(account(row)).wrong_when
