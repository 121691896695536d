"""Where recording costs much, of Python's calls or of very many events, a diagnostic says so."""

from __future__ import annotations

import pytest

from stepscope.formats.xspace import decode
from stepscope.schema import names
from stepscope.tables.core.profile import Host
from stepscope.tables.recording.completeness import completeness
from stepscope.tables.recording.recorder_costs import (
    input_cost_ps,
    recorded_events,
    recording_costs,
    traced_calls,
    tracing,
)
from tests.profiles.model import Event, host, line, plane, space


def recorded(calls: int, on: str = names.PYTHON_CALLS_PLANE) -> Host:
    """Four steps of 1 ms, each with so many calls."""
    marks = [Event("train", 1000 * at, 1000, {"step_num": at}) for at in range(4)]
    apart = 900 / calls
    made = [
        Event("$train.py:9 step", 1000 * at + apart * call, apart / 2)
        for at in range(4)
        for call in range(calls)
    ]
    return Host("h", decode(space(host(line("python", *marks)), plane(on, line("python", *made)))))


def test_many_calls_are_said_to_make_python_dear() -> None:
    (found,) = traced_calls(recorded(1000))
    # 1,000 calls of 0.3 µs in each step of 1 ms.
    assert "1,000 of them. At some 0.3 µs each that is 0.3 of its 1 ms (30%)" in found.message
    assert found in completeness(recorded(1000)).diagnostics


@pytest.mark.parametrize(
    "quiet", [recorded(100), recorded(1000, names.PYTHON_SAMPLES_PLANE)], ids=["few", "samples"]
)
def test_few_calls_and_samples_are_not(quiet: Host) -> None:
    assert traced_calls(quiet) == ()


def test_no_cost_is_told_that_the_step_cannot_hold() -> None:
    """6,000 calls would take 1.8 ms of a step of 1 ms."""
    (told,) = traced_calls(recorded(6000))
    assert "would be most of its 1 ms" in told.message and "%" not in told.message
    found = tracing(recorded(6000))
    assert found is not None and found.cost_ps == pytest.approx(0.8e9)


INPUT = "tf_data_iterator_get_next"


def with_events(events: int, thread: str = INPUT, steps: bool = True) -> Host:
    """Four steps of 1 ms, with so many events in each on a thread beside the loop's."""
    marks = [Event("train", 1000 * at, 1000, {"step_num": at}) for at in range(4)]
    apart = 900 / events
    made = [
        Event("Iterator::Window", 1000 * at + apart * one, apart / 2)
        for at in range(4)
        for one in range(events)
    ]
    return Host("h", decode(space(host(line("python", *marks * steps), line(thread, *made)))))


def test_many_events_are_said_to_make_steps_longer() -> None:
    one = with_events(1000)
    (found,) = recording_costs(one)
    # 1,000 events of 0.4 µs in each step of 1 ms.
    assert "1,000 events in each step. At some 0.4 µs each that is 0.4 of its 1 ms (40%)" in (
        found.message
    )
    assert found in completeness(one).diagnostics
    assert input_cost_ps(one) == pytest.approx(0.4e9)


def test_events_of_a_twentieth_of_the_step_are_reported_and_no_saving_allows_for_them() -> None:
    one = with_events(200)
    (found,) = recording_costs(one)
    assert "(8%)" in found.message
    assert not input_cost_ps(one) > 0


def test_what_the_step_does_not_wait_for_as_for_input_is_not_its_cost() -> None:
    one = with_events(1000, "tf_Compute")
    assert recording_costs(one)
    assert not input_cost_ps(one) > 0


@pytest.mark.parametrize(
    "quiet", [with_events(100), with_events(1000, steps=False)], ids=["few", "none"]
)
def test_few_events_and_those_without_steps_are_not(quiet: Host) -> None:
    assert recording_costs(quiet) == ()


def test_no_cost_is_more_than_the_step_can_hold() -> None:
    """4,000 events would take 1.6 ms of a step of 1 ms."""
    found = recorded_events(with_events(4000))
    assert found is not None and found.cost_ps == pytest.approx(0.8e9)
