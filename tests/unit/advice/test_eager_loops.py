"""A loop of the program's that runs the same ops one by one has a place of its own."""

from __future__ import annotations

from typing import Any

import pytest

from stepscope.result import Finding
from tests.unit.advice.made import finding, host_activity, with_calls
from tests.unit.advice.test_largest_part import account, part

COMPILED = {"function": "train_step", "calls": 1.0}


def a_call(function: str, above: int = -1, **changes: Any) -> dict[str, Any]:
    return {"function": function, "file": "a.py", "line": 9, "above": above} | changes


def eager(
    *calls: dict[str, Any], loop: tuple[str, float] | None = None, compiled: bool = False
) -> Finding:
    """What the rule says of 20 ms steps with these calls, and perhaps a loop of ops called there.

    Of each nothing computes for 10 ms; ``compiled``: beside a function that each step calls once.
    """
    parts = []
    if loop is not None:
        caller, time_ms = loop
        parts = [part(kind="eager", function="view", caller=caller, time_ms=time_ms)]
    host = host_activity(*([COMPILED] if compiled else []), eager_ops=100.0, usual_eager_ops=100.0)
    told = with_calls(account(*parts), *calls, step_time_ms=20.0)
    return finding("eager-execution", host_activity=host, step_account=told)


def function_of(found: Finding) -> str:
    return "" if found.place is None else found.place.function


def test_a_loop_of_the_program_says_more_than_the_call_that_runs_it() -> None:
    """Pictures cut one by one on the host: to compile the call that does so helps little."""
    call = a_call("views", framework_ms=10.0)
    assert function_of(eager(call, loop=("a.py:7 views", 8.0))) == ""
    assert function_of(eager(call)) == "views"


def test_functions_that_share_what_is_handed_over_have_a_caller_in_common() -> None:
    calls = (
        a_call("main", framework_ms=16.0, is_loop=True),
        a_call("prepare", 0, framework_ms=15.0, is_loop=True),
        *(a_call(name, 1, framework_ms=5.0) for name in ("crop", "jitter", "blur")),
    )
    found = eager(*calls)
    assert function_of(found) == "prepare"
    assert eager().place is None


@pytest.mark.parametrize(
    ("caller", "is_top"), [("train.py:61 <module>", True), ("", False), ("train.py:40 fit", False)]
)
def test_the_outermost_function_is_not_to_be_compiled(caller: str, is_top: bool) -> None:
    """It has the loop: what hands ops over there is a line of it."""
    found = eager(a_call("main", framework_ms=16.0, caller=caller), compiled=True)
    assert function_of(found) == "main"
