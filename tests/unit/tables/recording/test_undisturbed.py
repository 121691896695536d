"""The undisturbed step that a recording states, and the reason where there is none."""

from __future__ import annotations

import pytest

from stepscope.formats.xspace import decode
from stepscope.schema import names
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.recording.undisturbed import no_undisturbed_step, session_undisturbed
from tests.profiles.model import Event, host, line, plane, space, u
from tests.profiles.model import environment as environment_plane

PS_PER_MS = 10**9


def profile(
    undisturbed_ms: float | None, heard_ms: float = 2.0, rests: int = 0, step_us: int = 2000
) -> Profile:
    """Thirty recorded steps, of 2 ms by default."""
    marks = [Event("train", step_us * at, step_us, {"step_num": at, "_r": 1}) for at in range(30)]
    stated: dict[str, object] = {}
    if undisturbed_ms is not None:
        stated = {
            names.UNDISTURBED_STEP: u(int(undisturbed_ms * PS_PER_MS)),
            names.RECORDED_STEP: u(int(heard_ms * PS_PER_MS)),
            names.UNDISTURBED_STEPS: u(25),
            names.UNDISTURBED_SOURCE: "step markers",
        }
    gaps = [Event(f"torch {names.GAP_REST}", 60_000 + 10 * at, 5) for at in range(rests)]
    planes = [host(line("python", *marks)), environment_plane(**stated)]  # type: ignore[arg-type]
    planes.append(plane(names.RECORDING_PLANE, line("torch", *gaps)))
    return Profile("run", (Host("h", decode(space(*planes))),))


@pytest.mark.parametrize(
    ("undisturbed_ms", "heard_ms", "step_ms"),
    [(0.5, 2.0, 0.5), (0.25, 1.0, 0.5), (1.0, 4.0, 0.5), (0.5, 1.4, 0.5), (2.1, 2.0, 2.1)],
    ids=["same step", "two to a step", "half of one", "noisy", "no cost"],
)
def test_undisturbed_step_is_in_the_recording_s_steps(
    undisturbed_ms: float, heard_ms: float, step_ms: float
) -> None:
    found = session_undisturbed(profile(undisturbed_ms, heard_ms))
    assert found is not None
    assert found.step_ps == pytest.approx(step_ms * PS_PER_MS)


def test_undisturbed_step_longer_than_recorded_is_left_out_with_the_reason() -> None:
    longer = profile(3.0)
    assert session_undisturbed(longer) is None
    assert "25 steps while nothing recorded took 3 ms, longer" in no_undisturbed_step(longer)


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
