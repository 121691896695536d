"""Which steps a training hook records."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stepscope.capture.hooks import window as module
from stepscope.capture.hooks.window import StepsLike, StepWindow, parse_steps
from stepscope.errors import UsageError


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    found = Clock()
    monkeypatch.setattr(module, "time", found)
    yield found


def run(window: StepWindow, clock: Clock, seconds: list[float]) -> tuple[int | None, int | None]:
    """Before which step (from 1) recording begins, and after which it ends."""
    begun = ended = None
    for number, took in enumerate(seconds, 1):
        if begun is None and window.begins():
            begun = number
        clock.now += took
        window.step_done()
        if begun is not None and ended is None and window.ends():
            ended = number
    return begun, ended


@pytest.mark.parametrize(
    ("given", "steps"),
    [
        ("10,15", (10, 15)),
        ("7", (7, 7)),
        (7, (7, 7)),
        ((2, 4), (2, 4)),
        ([2, 4], (2, 4)),
        (None, None),
    ],
)
def test_steps_are_said_as_tensorflow_says_them(
    given: StepsLike, steps: tuple[int, int] | None
) -> None:
    assert parse_steps(given) == steps


@pytest.mark.parametrize("given", ["", "a,b", "5,3", "0,4", "1,2,3", 0, -1, (1, 2, 3), []])
def test_what_says_no_steps_is_refused(given: StepsLike) -> None:
    with pytest.raises(UsageError):
        parse_steps(given)


def test_named_steps_are_recorded_the_last_included(clock: Clock) -> None:
    assert run(StepWindow((10, 15)), clock, [1.0] * 30) == (10, 15)
    assert run(StepWindow((1, 1)), clock, [1.0] * 3) == (1, 1)


def test_steady_steps_begin_after_five_that_took_alike(clock: Clock) -> None:
    # Step 1 compiles, 2 and 3 warm up; 4 … 8 are alike, so 9 … 18 are recorded.
    seconds = [30.0, 3.0, 2.0] + [1.0] * 30
    assert run(StepWindow(count=10), clock, seconds) == (9, 18)


def test_steps_that_never_become_steady_are_recorded_in_the_end(clock: Clock) -> None:
    begun, ended = run(StepWindow(count=10), clock, [1.0, 9.0] * 50)
    assert (begun, ended) == (51, 60)


def test_a_short_training_is_recorded_while_it_lasts(clock: Clock) -> None:
    window = StepWindow(count=10)
    window.total = 8
    assert run(window, clock, [1.0, 9.0] * 4)[0] == 3
    window = StepWindow(count=10)
    window.total = 1
    assert run(window, clock, [1.0])[0] is None  # nothing is left once it has begun


def test_a_pause_between_epochs_is_no_step_time(clock: Clock) -> None:
    window = StepWindow(count=2)
    for took in [1.0] * 4:
        clock.now += took
        window.step_done()
    window.pause()
    assert not window.begins()
    for took in [1.0] * 6:
        clock.now += took
        window.step_done()
    assert window.begins()


def test_a_call_that_does_several_steps_counts_them(clock: Clock) -> None:
    window = StepWindow((10, 15))
    for _ in range(3):
        window.step_done(4)
    assert window.done == 12
    assert window.begins()
