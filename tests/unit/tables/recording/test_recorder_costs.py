"""Where recording costs much, of Python's calls or of very many events, a diagnostic says so."""

from __future__ import annotations

import pytest

from stepscope.analysis.overview_page import overview_page
from stepscope.formats.xspace import decode
from stepscope.schema import names
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.recording.completeness import completeness
from stepscope.tables.recording.recorder_costs import (
    call_cost,
    costs_of_recording,
    estimated_frac,
    event_cost,
    input_cost_ps,
)
from tests.profiles.model import Event, gpu, host, line, plane, space, stream


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
    (found,) = costs_of_recording(recorded(1000))
    # 1,000 calls of 0.25 to 0.37 µs in each step of 1 ms.
    assert "25–37 % of the 1 ms step: 1,000 Python calls on thread python" in found.message
    assert found in completeness(recorded(1000)).diagnostics


@pytest.mark.parametrize(
    "quiet", [recorded(100), recorded(1000, names.PYTHON_SAMPLES_PLANE)], ids=["few", "samples"]
)
def test_few_calls_and_samples_are_not(quiet: Host) -> None:
    assert costs_of_recording(quiet) == ()


def test_no_cost_is_told_that_the_step_cannot_hold() -> None:
    """6,000 calls would take 1.5 to 2.2 ms of a step of 1 ms."""
    (told,) = costs_of_recording(recorded(6000))
    assert "80 % of the 1 ms step" in told.message
    found = call_cost(recorded(6000))
    assert found is not None and found.cost_ps == pytest.approx(0.8e9)


INPUT = "tf_data_iterator_get_next"


def with_events(
    events: int, thread: str = INPUT, steps: bool = True, name: str = "Iterator::Window"
) -> Host:
    """Four steps of 1 ms, with so many events in each on a thread beside the loop's."""
    marks = [Event("train", 1000 * at, 1000, {"step_num": at}) for at in range(4)]
    apart = 900 / events
    made = [
        Event(name, 1000 * at + apart * one, apart / 2) for at in range(4) for one in range(events)
    ]
    return Host("h", decode(space(host(line("python", *marks * steps), line(thread, *made)))))


@pytest.mark.parametrize(
    ("name", "share"),
    [("Iterator::Window", "12–60 %"), ("PjitFunction(f)", "15–30 %"), ("aten::mul", "20–60 %")],
)
def test_an_event_has_the_price_of_its_framework(name: str, share: str) -> None:
    one = with_events(500, name=name)
    (found,) = costs_of_recording(one)
    assert f"{share} of the 1 ms step: 500 events on thread {INPUT}" in found.message
    assert found in completeness(one).diagnostics


def test_savings_of_input_allow_for_what_its_events_cost() -> None:
    assert input_cost_ps(with_events(500)) == pytest.approx(0.2e9)


def test_events_of_a_twentieth_of_the_step_are_reported_and_no_saving_allows_for_them() -> None:
    one = with_events(200)
    (found,) = costs_of_recording(one)
    assert "5–24 %" in found.message
    assert not input_cost_ps(one) > 0


def test_what_the_step_does_not_wait_for_as_for_input_is_not_its_cost() -> None:
    one = with_events(1000, "tf_Compute")
    assert costs_of_recording(one)
    assert not input_cost_ps(one) > 0


@pytest.mark.parametrize(
    "quiet", [with_events(100), with_events(1000, steps=False)], ids=["few", "none"]
)
def test_few_events_and_those_without_steps_are_not(quiet: Host) -> None:
    assert costs_of_recording(quiet) == ()


def test_no_cost_is_more_than_the_step_can_hold() -> None:
    """4,000 events would take 0.9 to 4.8 ms of a step of 1 ms."""
    found = event_cost(with_events(4000))
    assert found is not None and found.cost_ps == pytest.approx(0.8e9)


@pytest.mark.parametrize(("length", "told"), [(900, True), (990, False)])
def test_time_between_the_steps_of_a_profiler_is_its_own(length: int, told: bool) -> None:
    marks = [Event(f"ProfilerStep#{at}", 1000 * at, length) for at in range(6)]
    found = costs_of_recording(Host("h", decode(space(host(line("python", *marks))))))
    assert [one.message for one in found] == [
        "torch.profiler's step() takes 100 µs between two steps, 10 % of the loop. No step "
        "contains it."
    ] * told


def test_a_device_may_hide_the_cost_and_the_overview_states_the_range() -> None:
    alone = with_events(500)
    assert estimated_frac(alone) == pytest.approx((0.115, 0.6))
    beside = decode(
        space(
            host(
                line(
                    "python", *[Event("train", 1000 * n, 1000, {"step_num": n}) for n in range(4)]
                ),
                line(INPUT, *[Event("Iterator::Window", 2 * n, 1) for n in range(2000)]),
            ),
            gpu(0, stream(7, Event("kernel", 10, 3900))),
        )
    )
    assert estimated_frac(Host("h", beside)) == pytest.approx((0, 0.6))
    found = overview_page(Profile("", (alone,))).steps
    assert found.undisturbed_ms is None
    assert (found.recorder_low_frac, found.recorder_high_frac) == pytest.approx((0.115, 0.6))
