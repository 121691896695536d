"""A loop of the program's that runs the same ops one by one has a place of its own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from stepscope.advice.rules.host.eager_execution import _above_most, _is_top, _outer, _site
from stepscope.analysis.step_account import StepAccount
from stepscope.result import Place
from stepscope.verdicts.outer_calls import CallRow


class Listed(list[Any]):
    """Rows as a table has them."""

    def records(self) -> list[Any]:
        return list(self)


def a_call(function: str, above: int = -1, *, is_loop: bool = False, **spent: float) -> CallRow:
    row = SimpleNamespace(
        function=function, file="a.py", line=9, caller="", above=above, is_loop=is_loop,
        **{f"{kind}_ms": spent.get(kind, 0.0) for kind in ("framework", "python", "ops")},
        eager_ms=sum(spent.values()),
    )  # fmt: skip
    return cast("CallRow", row)


def of_calls(*calls: CallRow, loop: tuple[str, float] | None = None) -> StepAccount:
    """A step of 20 ms with these calls, and perhaps a loop of ops called from there."""
    parts = Listed()
    if loop is not None:
        row = SimpleNamespace(kind="eager", function="view", caller=loop[0], time_ms=loop[1])
        parts.append(row)
    told = {"calls": Listed(calls), "parts": parts}
    return cast("StepAccount", SimpleNamespace(step_time_ms=20.0, **told))


def test_a_loop_of_the_program_says_more_than_the_call_that_runs_it() -> None:
    """Pictures cut one by one on the host: to compile the call that does so helps little."""
    call = a_call("views", framework=10.0)
    assert _outer(of_calls(call, loop=("a.py:7 views", 8.0))) is None
    found = _outer(of_calls(call, loop=("a.py:7 others", 8.0)))
    assert found is not None and found.place.function == "views"


def test_a_call_of_long_ops_is_not_named_for_the_few_it_hands_over() -> None:
    """Copies of a whole table, or a model's convolutions, take what no compiler saves."""
    few = _outer(of_calls(a_call("refresh", framework=2.0, ops=4.0)))
    many = _outer(of_calls(a_call("refresh", framework=2.0, ops=8.0)))
    assert few is not None and few.place.function == "refresh"
    assert many is None


def test_a_call_with_nearly_all_of_the_step_is_the_model_unless_one_is_compiled() -> None:
    """An iterator that prepares pictures op by op, beside an update that is compiled."""
    calls = (
        a_call("main", framework=16.0, is_loop=True),
        a_call("pictures", 0, framework=16.0),
        a_call("prepare", 1, framework=14.0),
    )
    assert _outer(of_calls(*calls)) is None
    found = _outer(of_calls(*calls), beside_compiled=True)
    assert found is not None and found.place.function == "prepare"


def test_functions_that_share_what_is_handed_over_have_a_caller_in_common() -> None:
    calls = (
        a_call("main", framework=16.0, is_loop=True),
        a_call("prepare", 0, framework=15.0, is_loop=True),
        a_call("crop", 1, framework=8.0),
        a_call("jitter", 1, framework=7.0),
    )
    said, place = _above_most(of_calls(*calls))
    assert said == " Most are handed over below prepare (a.py:9)."
    assert place is not None and place.function == "prepare"
    assert _above_most(of_calls()) == ("", None)


@pytest.mark.parametrize(("saving_ms", "function"), [(10.0, ""), (100.0, "prepare")])
def test_a_loop_with_a_good_share_is_the_place_and_not_what_calls_it(
    saving_ms: float, function: str
) -> None:
    """The loop is a part with a place of its own: the two become one finding."""
    account = of_calls(a_call("prepare", framework=15.0), loop=("a.py:7 prepare", 8.0))
    _said, place = _site(account, "JAX", saving_ms, beside_compiled=True)
    assert ("" if place is None else place.function) == function


@pytest.mark.parametrize(
    ("caller", "is_top"), [("train.py:61 <module>", True), ("", False), ("train.py:40 fit", False)]
)
def test_the_outermost_function_is_not_to_be_compiled(caller: str, is_top: bool) -> None:
    """It has the loop: what hands ops over there is a line of it."""
    assert _is_top(Place("main", "train.py", 49, caller)) is is_top
