"""The undisturbed step that a recording states, and the reason where there is none."""

from __future__ import annotations

import pytest

from stepscope.formats.xspace import decode
from stepscope.schema import names
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.recording.undisturbed import (
    coverage,
    no_undisturbed_step,
    session_undisturbed,
)
from stepscope.tables.steps.session import session_steps
from tests.profiles.model import Event, host, line, plane, space, u
from tests.profiles.model import environment as environment_plane

PS_PER_MS = 10**9


def profile(
    undisturbed_ms: float | None,
    heard_ms: float = 2.0,
    rests: int = 0,
    step_us: int = 2000,
    every_tenth: int = 1,
    count: int = 25,
) -> Profile:
    """Thirty recorded steps, of 2 ms by default.

    Args:
        undisturbed_ms: Median undisturbed step that is stated; None for none.
        heard_ms: Median recorded step that is stated.
        rests: Times without a recording.
        step_us: Length of a step.
        every_tenth: How many times as long every tenth step is.
        count: Undisturbed steps that were timed.
    """
    marks, begin_us = [], 0
    for at in range(30):
        length_us = step_us * (every_tenth if at % 10 == 5 else 1)
        marks.append(Event("train", begin_us, length_us, {"step_num": at, "_r": 1}))
        begin_us += length_us
    stated: dict[str, object] = {}
    if undisturbed_ms is not None:
        stated = {
            names.UNDISTURBED_STEP: u(int(undisturbed_ms * PS_PER_MS)),
            names.RECORDED_STEP: u(int(heard_ms * PS_PER_MS)),
            names.UNDISTURBED_STEPS: u(count),
            names.UNDISTURBED_SOURCE: "step markers",
        }
    gaps = [Event(f"torch {names.GAP_REST}", 60_000 + 10 * at, 5) for at in range(rests)]
    planes = [host(line("python", *marks)), environment_plane(**stated)]  # type: ignore[arg-type]
    planes.append(plane(names.RECORDING_PLANE, line("torch", *gaps)))
    return Profile("run", (Host("h", decode(space(*planes))),))


@pytest.mark.parametrize(
    ("undisturbed_ms", "heard_ms", "step_ms"),
    [(0.5, 2.0, 0.5), (0.25, 1.0, 0.5), (1.0, 4.0, 0.5), (1.0, 1.5, 4 / 3), (2.1, 2.0, 2.1)],
    ids=["same step", "two to a step", "half of one", "three to two steps", "no cost"],
)
def test_undisturbed_step_is_in_the_recording_s_steps(
    undisturbed_ms: float, heard_ms: float, step_ms: float
) -> None:
    found = session_undisturbed(profile(undisturbed_ms, heard_ms))
    assert found is not None
    assert found.step_ps == pytest.approx(step_ms * PS_PER_MS)


def test_undisturbed_step_is_a_mean_where_steps_differ() -> None:
    """Steps that collect data for the others, as in reinforcement learning, are no disturbance."""
    unequal = profile(1.0, every_tenth=31)
    recorded = session_steps(unequal)
    found = session_undisturbed(unequal)
    assert recorded is not None
    assert found is not None
    mean_ps = float(recorded.duration_ps[recorded.kept].mean())
    assert mean_ps > 3 * PS_PER_MS
    assert found.step_ps == pytest.approx(mean_ps / 2)


def test_undisturbed_step_longer_than_recorded_is_left_out_with_the_reason() -> None:
    longer = profile(3.0)
    assert session_undisturbed(longer) is None
    assert "25 steps while nothing recorded took 3 ms, longer" in no_undisturbed_step(longer)


def test_median_of_few_undisturbed_steps_is_none() -> None:
    assert session_undisturbed(profile(1.0, count=19)) is None


def test_recorded_steps_without_length_scale_nothing() -> None:
    assert session_undisturbed(profile(0.5, step_us=0)) is None


@pytest.mark.parametrize(
    ("rests", "reason"),
    [(0, "not measured"), (3, "not measured: too few steps were seen while nothing recorded")],
)
def test_missing_undisturbed_step_has_a_reason(rests: int, reason: str) -> None:
    missing = profile(None, rests=rests)
    assert session_undisturbed(missing) is None
    assert no_undisturbed_step(missing) == reason


def test_coverage_lacks_every_gap_of_the_recording() -> None:
    marks = [Event("train", 1000 * at, 1000, {"step_num": at, "_r": 1}) for at in range(10)]
    gaps = [
        Event(f"torch: {names.GAP_CHUNK}", 1000, 4000),
        Event(f"jax: {names.GAP_CHUNK}", 2000, 3000),
        Event(f"torch: {names.GAP_REST}", 6000, 1000),
        Event(f"torch: {names.GAP_PROBE}", 6200, 100),
        Event(f"torch: {names.GAP_PAUSE}", 8000, 1000),
    ]
    times = environment_plane(profile_start_time=u(0), profile_stop_time=u(10_000_000))
    recording = plane(names.RECORDING_PLANE, line("gaps", *gaps))
    found = coverage(Host("h", decode(space(host(line("python", *marks)), times, recording))))
    assert found == (4 * PS_PER_MS, 10 * PS_PER_MS)
