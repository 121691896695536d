"""A step that runs op by op below one call of its loop: that call is what costs."""

from __future__ import annotations

from stepscope.registry import Silence
from tests.profiles import space
from tests.profiles.model import EventLike, host, line
from tests.unit.advice.asking import Asked
from tests.unit.advice.test_host_side import asked


def checked(*, dispatch_us: float, check_us: float = 600.0) -> Asked:
    """Steps of 1 ms: 600 µs below ``check``, in 20 functions that dispatch two ops each."""
    events: list[EventLike] = []
    for step in range(4):
        begin = step * 1000.0
        events.append(("train", begin, 1000.0, {"step_num": step, "_r": 1}))
        events.append(("$train.py:12 check", begin + 10, check_us))
        for place in range(20):
            at = begin + 10 + check_us / 20 * place
            events.append((f"$net.py:{place + 5} layer_{place}", at, check_us / 20))
            events.append(("PjitFunction(add)", at + 1, dispatch_us))
            events.append(("PjitFunction(mul)", at + 15, dispatch_us))
        events.append(("PjitFunction(train_step)", begin + 900, 20.0))
    return asked(space(host(line("python", *events))))


def test_the_call_below_which_a_step_runs_op_by_op_is_named() -> None:
    found = checked(dispatch_us=13.0).finding("eager-execution")
    assert found.place is not None
    assert (found.place.function, found.place.file, found.place.line) == ("check", "train.py", 12)


def test_a_call_that_is_mostly_python_of_its_own_is_not_named_for_its_ops() -> None:
    found = checked(dispatch_us=4.0).finding("eager-execution")
    assert found.place is None


def test_a_call_that_is_nearly_all_of_the_step_is_what_the_step_is_for() -> None:
    """The model's own forward pass is not to be left out, but it may be compiled."""
    found = checked(dispatch_us=19.0, check_us=880.0).finding("eager-execution")
    assert found.place is not None and found.place.function == "check"


def test_the_function_that_hands_most_over_is_named_whatever_it_has_of_the_step() -> None:
    events: list[EventLike] = []
    for step in range(4):
        begin = step * 1000.0
        events.append(("train", begin, 1000.0, {"step_num": step, "_r": 1}))
        events.append(("$text.py:12 words", begin + 10, 880.0))
        for row in range(20):
            at = begin + 10 + 44 * row
            jax = f"$/venv/lib/python3.12/site-packages/jax/_src/op_{row}.py:{row + 5} call_{row}"
            events.append((jax, at, 44.0))
            events.append(("PjitFunction(not_equal)", at + 1, 18.0))
            events.append(("PjitFunction(less)", at + 22, 18.0))
        events.append(("$train.py:5 report", begin + 900, 80.0))
        events.append(("PjitFunction(add)", begin + 910, 30.0))
    found = asked(space(host(line("python", *events)))).finding("eager-execution")
    assert found.place is not None and found.place.function == "words"


def few(*names: str) -> Asked:
    """Steps of 1 ms that hand over ten jitted functions of 80 µs, one after the other."""
    events: list[EventLike] = []
    for step in range(4):
        begin = step * 1000.0
        events.append(("train", begin, 1000.0, {"step_num": step, "_r": 1}))
        events += [
            (f"PjitFunction({name})", begin + 90.0 * at, 80.0) for at, name in enumerate(names)
        ]
    return asked(space(host(line("python", *events))))


def test_ten_functions_that_somebody_compiled_are_no_eager_step() -> None:
    few(*(f"layer_{at}" for at in range(10))).reason("eager-execution", Silence)


def test_what_has_no_steps_is_not_called_a_step() -> None:
    events: list[EventLike] = [
        (f"PjitFunction(op_{place})", 3.0 * place * place, 10.0) for place in range(200)
    ]
    asked_of = asked(space(host(line("python", *events))))
    account = asked_of.result("step_account")
    assert account.is_window
    asked_of.finding("eager-execution")
