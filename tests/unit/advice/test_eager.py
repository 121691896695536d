"""eager-execution: the call that most of what runs op by op is for, and when it is silent."""

from __future__ import annotations

from typing import Any

import pytest

from stepscope.registry import Silence
from tests.profiles.model import EventLike, host, line
from tests.unit.advice.asking import Asked, opened
from tests.unit.advice.made import account, finding, host_activity, part, with_calls

Calls = list[tuple[str, float, float]]


def looped(*calls: tuple[str, float, float]) -> Asked:
    """Four steps of 1 ms with the same calls on the loop's thread (µs from the step's begin)."""
    events: list[EventLike] = []
    for step in range(4):
        begin = step * 1000.0
        events.append(("train", begin, 1000.0, {"step_num": step, "_r": 1}))
        events += [(name, begin + start, length) for name, start, length in calls]
    return opened(host(line("python", *events)))


def place_of(found: Asked) -> tuple[str, str, int | None] | None:
    place = found.finding("eager-execution").place
    return None if place is None else (place.function, place.file, place.line)


def checks(dispatch_us: float, check_us: float = 600.0) -> Calls:
    """A check in 20 functions that dispatch two ops each, and a compiled step."""
    calls = [("$train.py:12 check", 10.0, check_us), ("PjitFunction(train_step)", 900.0, 20.0)]
    for nth in range(20):
        at = 10 + check_us / 20 * nth
        calls.append((f"$net.py:{nth + 5} layer_{nth}", at, check_us / 20))
        calls.append(("PjitFunction(add)", at + 1, dispatch_us))
        calls.append(("PjitFunction(mul)", at + 15, dispatch_us))
    return calls


def words() -> Calls:
    """A function that dispatches within JAX's own, and a small one that does so by itself."""
    calls = [("$text.py:12 words", 10.0, 880.0), ("$train.py:5 report", 900.0, 80.0)]
    calls.append(("PjitFunction(add)", 910.0, 30.0))
    for nth in range(20):
        at = 10.0 + 44 * nth
        jax = f"$/venv/lib/python3.12/site-packages/jax/_src/op_{nth}.py:{nth + 5} call_{nth}"
        calls.append((jax, at, 44.0))
        calls.append(("PjitFunction(not_equal)", at + 1, 18.0))
        calls.append(("PjitFunction(less)", at + 22, 18.0))
    return calls


@pytest.mark.parametrize(
    ("calls", "place"),
    [
        (checks(13.0), ("check", "train.py", 12)),
        (checks(4.0), None),  # it is mostly Python of its own
        # The model's own forward pass is not to be left out, but it may be compiled.
        (checks(19.0, check_us=880.0), ("check", "train.py", 12)),
        (words(), ("words", "text.py", 12)),
    ],
    ids=["a part of the step", "mostly Python", "nearly all of the step", "below a library"],
)
def test_the_call_below_which_a_step_runs_op_by_op_is_named(
    calls: Calls, place: tuple[str, str, int] | None
) -> None:
    assert place_of(looped(*calls)) == place


def test_ten_functions_that_somebody_compiled_are_no_eager_step() -> None:
    layers = [(f"PjitFunction(layer_{at})", 90.0 * at, 80.0) for at in range(10)]
    looped(*layers).reason("eager-execution", Silence)


def test_what_has_no_steps_is_not_called_a_step() -> None:
    events: list[EventLike] = [
        (f"PjitFunction(op_{place})", 3.0 * place * place, 10.0) for place in range(200)
    ]
    asked_of = opened(host(line("python", *events)))
    assert asked_of.result("step_account").is_window
    asked_of.finding("eager-execution")


# ------------------------------------------------------------------ of made accounts


def a_call(function: str, framework_ms: float, above: int = -1, **more: Any) -> dict[str, Any]:
    at = {"function": function, "file": "a.py", "line": 9, "above": above}
    return at | {"framework_ms": framework_ms} | more


VIEWS = a_call("views", 10.0)
SHARED = [
    a_call("main", 16.0, is_loop=True),
    a_call("prepare", 15.0, 0, is_loop=True),
    *(a_call(name, 5.0, 1) for name in ("crop", "jitter", "blur")),
]
LOOP = part(kind="eager", function="view", caller="a.py:7 views", time_ms=8.0)


@pytest.mark.parametrize(
    ("calls", "parts", "function"),
    [
        ([VIEWS], [], "views"),
        # Pictures cut one by one on the host: to compile the call that does so helps little.
        ([VIEWS], [LOOP], ""),
        (SHARED, [], "prepare"),  # their caller in common
        # It has the loop: what hands ops over there is a line of it.
        ([a_call("main", 16.0, caller="train.py:61 <module>")], [], "main"),
        ([], [], ""),
    ],
)
def test_functions_that_hand_ops_over(
    calls: list[dict[str, Any]], parts: list[dict[str, Any]], function: str
) -> None:
    """Of 20 ms steps, 10 in which nothing computes."""
    host = host_activity(eager_ops=100.0, usual_eager_ops=100.0)
    of = with_calls(account(*parts), *calls, step_time_ms=20.0)
    place = finding("eager-execution", host_activity=host, step_account=of).place
    assert (place.function if place else "") == function
