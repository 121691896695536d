"""The account gives the recorder what events cost, where undisturbed steps were measured."""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.analysis.overview_page import overview_page
from stepscope.analysis.step_account import StepAccount, step_account
from stepscope.formats.xspace import decode
from stepscope.schema import names
from stepscope.tables.account.correction import evenly_priced
from stepscope.tables.core.profile import Host, Profile
from tests.profiles.model import Event, environment, host, line, space, u

STEPS, STEP_US = 12, 1000
LARGE_US, SMALL_US, SMALL = 300, 4, 100


def profile(undisturbed_ms: float | None) -> Profile:
    """Steps of 1 ms: an op of 0.3 ms, and 100 ops of 4 µs each with 2 µs after it.

    Args:
        undisturbed_ms: The undisturbed step that the recorder states; None if it states none.
    """
    events = []
    for step in range(STEPS):
        begin_us = step * STEP_US
        events.append(Event("train", begin_us, STEP_US, {"step_num": step, "_r": 1}))
        events.append(Event("a/MatMul:MatMul", begin_us + 50, LARGE_US))
        events += [
            Event("b/Add:Add", begin_us + 360 + 6 * number, SMALL_US) for number in range(SMALL)
        ]
    stated: dict[str, object] = {}
    if undisturbed_ms is not None:
        stated = {
            names.UNDISTURBED_STEP: u(int(undisturbed_ms * 1e9)),
            names.RECORDED_STEP: u(STEP_US * 10**6),
            names.UNDISTURBED_STEPS: u(25),
            names.UNDISTURBED_SOURCE: "step markers",
        }
    planes = [host(line("python", *events)), environment(**stated)]  # type: ignore[arg-type]
    return Profile("run", (Host("h", decode(space(*planes))),))


def account(undisturbed_ms: float | None) -> StepAccount:
    return step_account(profile(undisturbed_ms))


def test_breakdown_sums_to_the_recorded_step_and_without_recorder_to_the_undisturbed() -> None:
    before, after = overview_page(profile(None)), overview_page(profile(0.7))
    assert "recorder" not in before.breakdown_ms
    assert sum(after.breakdown_ms.values()) == pytest.approx(after.steps.time_ms.mean)
    assert after.breakdown_ms["recorder"] == pytest.approx(account(0.7).events_ms)
    assert after.steps.undisturbed_ms == pytest.approx(0.7)
    assert after.part_labels["recorder"] == "Recorder"
    whole = after.as_recorded().breakdown_ms
    assert "recorder" not in whole and sum(whole.values()) == pytest.approx(1.0)
    assert whole["host_compute"] * 0.7 == pytest.approx(
        after.breakdown_ms["host_compute"], rel=0.01
    )


@pytest.mark.parametrize("undisturbed_ms", [0.85, 1.05], ids=["little", "longer"])
def test_nothing_is_corrected_where_recording_hardly_shows(undisturbed_ms: float) -> None:
    assert account(undisturbed_ms).events_ms == 0


def test_what_events_do_not_explain_is_taken_from_all_alike() -> None:
    """202 events do not cost 0.6 ms: parts keep their shares, however short the step was."""
    assert account(0.1).events_ms == pytest.approx(0.9)
    large = {wanted: shares(wanted)["MatMul"] for wanted in (0.7, 0.2, 0.1)}
    assert large[0.1] == pytest.approx(large[0.2], rel=1e-3)
    assert large[0.2] > 1.1 * large[0.7]


def shares(undisturbed_ms: float) -> dict[str, float]:
    """Of the parts in the step without its recorder."""
    parts = account(undisturbed_ms).part_list()
    return {part.name: part.time_ms / undisturbed_ms for part in parts if part.kind != "recorder"}


def test_each_event_costs_the_same_but_no_stretch_more_than_it_has() -> None:
    length, events = np.asarray([10, 1000, 500, 70]), np.asarray([1, 2, 0, 1])
    assert evenly_priced(length, events, 170.0).tolist() == [10, 107, 0, 53]
    assert evenly_priced(length, events, 0.0).tolist() == [0, 0, 0, 0]
    assert evenly_priced(length, events * 0, 170.0).tolist() == [0, 0, 0, 0]
