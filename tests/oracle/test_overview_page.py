"""``overview_page`` against the incumbent, step by step, where the incumbent is right.

On a GPU it leaves the host out (reference §12.1), on TPUs of inference it finds no steps, and of
JAX on a CPU it does not see what XLA's threads compute; there the steps themselves must agree.
"""

from __future__ import annotations

import pytest

from stepscope.analysis.overview_page import OverviewPage, overview_page
from tests.oracle.recorded import answer, recording, rows

COLUMNS = {
    "hostComputeTimeMs": "host_compute_ms",
    "infeedTimeMs": "input_ms",
    "otherTimeMs": "other_ms",
    "compileTimeMs": "compilation_ms",
}


def page_and_steps(name: str) -> tuple[OverviewPage, list[dict[str, float]]]:
    page = overview_page(recording(name))
    return page, rows(answer(name, "overview_page")[1])


@pytest.mark.parametrize("name", ["tf-cpu-custom-loop-2M", "tf-cpu-python-tracer", "jax-cpu"])
def test_the_same_steps_are_counted_and_last_as_long(name: str) -> None:
    page, theirs = page_and_steps(name)
    ours = [row for row in page.step_table.rows() if row["kept"]]
    assert page.steps.count == len(theirs) == len(ours)
    assert [row["step_name"] for row in ours] == [row["stepnum"] for row in theirs]
    assert [row["step_time_ms"] for row in ours] == pytest.approx(
        [row["stepTimeMs"] for row in theirs], rel=1e-6
    )


@pytest.mark.parametrize("name", ["tf-cpu-custom-loop-2M", "tf-cpu-python-tracer"])
def test_the_mean_step_divides_alike(name: str) -> None:
    """Within 1 % of the step.

    Single steps may differ: the incumbent leaves out work it could not link to the step through
    its context ids; ours counts what the step's threads did.
    """
    page, theirs = page_and_steps(name)
    for column, own in COLUMNS.items():
        mean = sum(row[column] for row in theirs) / len(theirs)
        assert page.breakdown_ms[own.removesuffix("_ms")] == pytest.approx(
            mean, abs=0.01 * page.steps.time_ms.mean
        )


def test_keras_steps_that_the_incumbent_cannot_find() -> None:
    page, theirs = page_and_steps("tf-cpu-keras")
    assert theirs == []
    assert page.steps.count == 9
    assert page.steps.source == "framework"


def test_the_v100_step_is_as_long_and_its_input_is_seen() -> None:
    page, theirs = page_and_steps("tf-v100-8gpu")
    assert page.steps.time_ms.mean == pytest.approx(theirs[0]["stepTimeMs"], rel=1e-3)
    computed = page.breakdown_ms["device_compute_16"] + page.breakdown_ms["device_compute_32"]
    assert computed == pytest.approx(theirs[0]["deviceComputeTimeMs"], rel=0.05)
    assert page.breakdown_ms["input"] > 1.0
