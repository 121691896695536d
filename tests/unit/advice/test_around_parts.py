"""What the largest part is made of or lies in: functions, programs, and the runtime around ops."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from stepscope.advice import RULES
from stepscope.advice.evidence.makers import with_maker
from stepscope.advice.merge import merged
from stepscope.advice.results import Results
from stepscope.result import Finding, Place
from tests.unit.advice.made import finding, host_activity
from tests.unit.advice.test_largest_part import account, first, op, part


def test_what_the_runtime_takes_around_ops_is_told_beside_what_they_take_alone() -> None:
    around = op("runtime", 1) | {"kind": "runtime"}
    found = first(account(op("Conv2D", 6), op("Relu", 2), around))
    assert "(68%)" in found.message  # of 10 ms: 6 and three quarters of 1
    assert (
        "Of this the ops themselves are 60% of the step, and 7% the runtime's work around them."
        in found.message
    )
    assert "the ops themselves" not in first(account(op("Conv2D", 6), op("Relu", 2))).message


def test_an_op_is_not_said_to_take_what_is_mostly_the_runtimes() -> None:
    """XLA waits for a free core: of 9 ms the ops have 2."""
    around = part(kind="runtime", name="runtime", function="", time_ms=7.0)
    found = first(account(op("dot_general", 2.0), around))
    assert found.title.startswith("dot_general and the runtime around it take 90%")
    assert "the ops themselves are 20% of the step" in found.message
    assert "around them: waiting for a free core, or starting many small ops." in found.message


@pytest.mark.parametrize(
    ("calls", "says"),
    [
        ({"train": 5.0, "norms": 4.0, "log": 0.2}, "runs train (5 ms, 50%) and norms (4 ms, 40%)"),
        ({"train": 9.0, "norms": 0.5}, ""),  # one function is most of it
        ({"train": 0.3, "norms": 0.2}, ""),  # handed over: what they run takes longer
    ],
)
def test_a_part_of_several_functions_asks_first_which_of_them_is_needed(
    calls: dict[str, float], says: str
) -> None:
    rows = [{"function": one, "time_ms": ms, "calls": 1.0} for one, ms in calls.items()]
    layers = part(kind="op", name="Conv2D", time_ms=8.0, function="", file="", line=None, caller="")
    host = host_activity(*rows)
    one = finding("largest-part", step_account=account(layers), host_activity=host)
    assert (f"Each step {says}." in one.message) == bool(says)
    assert ("Leave one of these functions out" in one.actions[0]) == bool(says)


def test_compiled_functions_without_their_ops_are_named() -> None:
    run = part(kind="program", name="train_step", function="", file="", line=0, time_ms=9.0)
    found = first(account(run))
    assert found.title == "train_step takes 90% of the step"
    assert "Which of its ops take the time was not recorded." in found.message


def test_a_function_stands_for_its_ops_with_their_lines() -> None:
    made_of = "mul 42% (train.py:22), sum 21% (train.py:23)"
    whole = part(
        kind="function", name="chamfer", function="chamfer", line=20, time_ms=6.0, op="aten/mul",
        made_of=made_of,
    )  # fmt: skip
    found = first(account(whole, op("matmul", 3.0)))
    assert found.title == "chamfer (train.py:20) takes 60% of the step"
    assert "that chamfer (train.py:20), called from train.py:40 main runs" in found.message
    assert made_of in found.message
    assert found.place is not None and found.place.op == "aten/mul"


def test_of_a_product_it_is_asked_how_much_is_needed_before_it_is_made_smaller() -> None:
    """Dense experts, a product computed again: the model need not be smaller for either."""
    needed, then, typed = first(account(op("MatMul", 8.0))).actions
    assert needed.startswith("Look at how much of it is needed: what is thrown away")
    assert then.startswith("If all of it is: make one variant with half the size")
    assert typed.startswith("Check the data type of weights and inputs, which was not recorded")
    assert len(first(account(op("MatMul", 8.0, data_type="f32"))).actions) == 2
    assert "half the size" not in "".join(first(account(op("Sort", 8.0))).actions)


@pytest.mark.parametrize(("kind", "is_maker"), [("python", True), ("input", False)])
def test_only_what_makes_batches_is_called_the_inputs_function(kind: str, is_maker: bool) -> None:
    """Of a wait the place is where the loop waits, which may be ``fit``."""
    measured: dict[str, float | str] = {
        "kind": kind,
        "part_ms": 6.0,
        "input_frac": 1.0,
        "worth_ms": 5.0,
    }
    place = Place("collate", "train.py", 12)
    part = Finding("largest-part", "high", 5.0, 0.8, "a part", measured=measured, place=place)
    rule = next(rule for rule in RULES if rule.id == "input-bound")
    starved = Finding(rule.id, "high", 5.0, 0.8, "It waits.", saving_high_ms=6.0)
    (found,) = merged([part, starved], {rule.id: rule})
    assert found.rule == "input-bound"
    assert ("Most of it runs in collate (train.py:12)." in found.message) == is_maker
    assert ("Do less for each element in collate" in " ".join(found.actions)) == is_maker


def test_a_maker_whose_line_is_named_already_is_not_named_twice() -> None:
    place = Place("collate", "train.py", 12)
    starved = Finding("input-bound", "high", 5.0, 0.8, "Most is in collate (train.py:12).")
    told = with_maker(starved, place)
    assert told.message == starved.message
    assert "Do less for each element in collate: cut, resize" in told.actions[-1]


def test_the_names_of_ops_say_whose_they_are_where_the_calls_only_hand_over() -> None:
    """Half of the convolution is of one function, a third of the other; the rest is nameless."""
    listed = account(op("conv_general_dilated", 8.0))
    names = ("jit(evaluate)/conv_general_dilated", "jit(train)/jvp()/conv_general_dilated", "dot.3")
    shares = ((names[0], 3.0), (names[1], 4.0), (names[2], 1.0))
    rows = [SimpleNamespace(kind="op", name=name, family="", time_ms=ms) for name, ms in shares]
    owners = SimpleNamespace(records=lambda: rows)
    rule = next(rule for rule in RULES if rule.id == "largest-part")
    found = replace(listed, owners=owners)  # type: ignore[arg-type]  # of it only the owners are read
    one = next(iter(rule.check(Results({"step_account": found}))))
    assert isinstance(one, Finding)
    assert "Each step runs train (4 ms, 40%) and evaluate (3 ms, 30%)." in one.message


@pytest.mark.parametrize(
    ("waits_for", "said"),
    [
        ("ThunkExecutor::Execute (wait for completion)", "the threads had no free core"),
        ("BlockHostUntilReady", "Read many values at once"),
    ],
)
def test_a_wait_for_xlas_threads_is_none_for_a_value(waits_for: str, said: str) -> None:
    """A program that is run by the thread itself waits for the threads that help it."""
    found = first(account(part(kind="wait", name="", time_ms=6.0) | {"first": waits_for}))
    assert said in " ".join(found.actions)
    assert ("XLA's threads" in found.title) is waits_for.startswith("ThunkExecutor")
