"""Where recording Python's calls one by one costs much, a diagnostic says so."""

from __future__ import annotations

import pytest

from stepscope.formats.xspace import decode
from stepscope.schema import names
from stepscope.tables.core.profile import Host
from stepscope.tables.recording.completeness import completeness
from stepscope.tables.recording.traced_calls import traced_calls, tracing
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
