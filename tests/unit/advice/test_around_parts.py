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


def test_a_function_stands_for_its_ops_with_their_lines() -> None:
    made_of = "mul 42% (train.py:22), sum 21% (train.py:23)"
    whole = part(
        kind="function", name="chamfer", function="chamfer", line=20, time_ms=6.0, op="aten/mul",
        made_of=made_of,
    )  # fmt: skip
    found = first(account(whole, op("matmul", 3.0)))
    assert found.place is not None and found.place.op == "aten/mul"


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
