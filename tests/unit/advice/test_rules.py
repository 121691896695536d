"""Each rule fires on the profile that has its fault, and not on one that has not."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stepscope.advice import RULES, advise
from stepscope.advice.results import Results
from stepscope.analysis.overview_page import DeviceShare, StepRow, overview_page
from stepscope.formats.xspace import decode
from stepscope.registry import Answer, Silence
from stepscope.result import Finding, Table, columns_of
from stepscope.tables.core.profile import Host, Profile
from tests.labelled.synthetic import GOOD, WAIT
from tests.profiles.model import Event, gpu, host, line, space, stream
from tests.unit.advice.asking import ask


def findings(data: bytes) -> dict[str, Finding]:
    page = overview_page(Profile("s", (Host("h", decode(data)),)))
    return {one.rule: one for one in advise({"overview_page": page}).findings}


def healthy(*, low: bool = True, slow_step: int | None = None, launch: float = 1) -> bytes:
    """Ten steps of 100 µs, a kernel of 95 µs in each (``low``: in 16 bits)."""
    marks, kernels, at = [], [], 0.0
    for i in range(12):
        length = 400.0 if i == slow_step else 100.0
        ids = {"correlation_id": i}
        marks.append(Event("train", at, length, {"step_num": i, "_r": 1}))
        marks.append(Event("cuLaunchKernel", at + 1, launch, ids))
        name = "volta_h884gemm" if low else "sgemm_128x64"
        kernels.append(Event(name, at + 1 + launch, 94 - launch, ids))
        at += length
    return space(host(line("python", *marks)), gpu(0, stream(7, *kernels)))


@pytest.mark.parametrize(("launch", "severity"), [(8.0, "medium"), (20.0, "high")])
def test_a_wait_for_launches_is_as_grave_as_any_of_its_share(launch: float, severity: str) -> None:
    """One of 14 % was "low", and a sum of 4 % "medium"."""
    assert findings(healthy(launch=launch))["launch-bound"].severity == severity


@pytest.mark.parametrize(
    ("launch", "sure", "severity"),
    [(8.0, 0.9, "medium"), (8.0, 0.5, "info"), (20.0, 0.5, "high")],
)
def test_a_short_wait_for_launches_of_steps_that_are_not_sure_is_no_alarm(
    launch: float, sure: float, severity: str
) -> None:
    """A healthy program's loop was taken for its steps, and 8 % of that was an alarm."""
    page = overview_page(Profile("s", (Host("h", decode(healthy(launch=launch))),)))
    unsure = replace(page, steps=replace(page.steps, confidence=sure))
    rule = next(rule for rule in RULES if rule.id == "launch-bound")
    (found,) = advise({"overview_page": unsure}, [rule]).findings
    assert found.severity == severity


@pytest.mark.parametrize(
    ("input_us", "severity"), [(100.0, "medium"), (200.0, "medium"), (300.0, "high")]
)
def test_a_wait_for_input_is_as_grave_as_any_of_its_share(input_us: float, severity: str) -> None:
    """6, 12 and 17 % of the step: the last was "medium"."""
    found = ask(replace(GOOD, input_us=input_us, wait=WAIT)).finding("input-bound")
    assert found.severity == severity


def test_full_precision() -> None:
    assert findings(healthy(low=False))["full-precision"].saving_ms == pytest.approx(0.0465)


@pytest.mark.parametrize(
    "took",
    [
        # Each fourth call of an update ends a round with a rollout: 25 % of them are long.
        [0.5, 0.5, 0.5, 30.0] * 6,
        [10.0] * 99 + [21.0],  # 11 of 1,011 ms
    ],
    ids=["rounds", "cheap"],
)
def test_steps_that_are_usual_or_cheap_are_no_exception(took: list[float]) -> None:
    assert isinstance(_uneven(took, [0.0] * len(took)), Silence)


def _uneven(took: list[float], compiled: list[float], grows: str = "host_compute_ms") -> Answer:
    steps: dict[str, Any] = {name: [0.0] * len(took) for name in columns_of(StepRow)} | {
        "kept": [True] * len(took),
        "step_num": list(range(len(took))),
        "start_ms": np.cumsum(took).tolist(),
        "step_time_ms": took,
        "compilation_ms": compiled,
        grows: [a - b for a, b in zip(took, compiled, strict=True)],
    }
    overview = replace(
        overview_page(Profile("s", (Host("h", decode(healthy())),))),
        step_table=Table(StepRow, steps),
        device=DeviceShare(None, None),
    )
    (rule,) = (one for one in RULES if one.id == "uneven-steps")
    (found,) = rule.check(Results({"overview_page": overview}))
    return found


def test_one_step_that_compiles_does_not_explain_the_other_slow_steps() -> None:
    """Of 8 slow steps on a busy machine one compiled, and "compilation grows most" was an alarm."""
    found = _uneven([10.0] * 20 + [30.0, 30.0, 30.0], [0.0] * 22 + [15.0])
    assert isinstance(found, Finding)
    assert found.severity == "info"


def test_what_grows_is_called_as_the_overview_calls_it() -> None:
    found = _uneven([10.0] * 20 + [30.0] * 3, [0.0] * 23, "device_compute_16_ms")
    assert isinstance(found, Finding)
