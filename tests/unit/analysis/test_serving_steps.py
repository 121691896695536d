"""Steps of vLLM and SGLang: kinds, batch sizes, and the device's gaps between them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stepscope.analysis import TOOLS
from stepscope.analysis.serving_steps import steps_of_engines
from stepscope.tables.torch.serving_steps import Batch, batch_of
from tests.unit.formats.kineto.layout import profile, x


@pytest.mark.parametrize(
    ("name", "batch"),
    [
        (
            "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)",
            Batch("decode", 32, 32),
        ),
        (
            "execute_3_context_1(sq512sk512sqsq1sqsk1)_generation_2(sq2sk9sqsq2sqsk9)",
            Batch("mixed", 3, 514),
        ),
        ("execute_context_2(768)_generation_0(0)", Batch("prefill", 2, 768)),
        ("step[DECODE bs=32]", Batch("decode", 32, 32)),
        ("step[EXTEND bs=4 toks=1024]", Batch("prefill", 4, 1024)),
        ("step[TARGET_VERIFY bs=4]", Batch("other", 4, -1)),
        ("step[IDLE]", Batch("other", -1, -1)),
    ],
)
def test_marks_tell_the_batch(name: str, batch: Batch) -> None:
    assert batch_of(name) == batch


@pytest.mark.parametrize("name", ["step", "execute_model", "ProfilerStep#3", "step[", "steps[A]"])
def test_other_names_are_no_steps(name: str) -> None:
    assert batch_of(name) is None


def step(number: int, ts: float, name: str, *kernels: tuple[float, float]) -> list[dict[str, Any]]:
    """A mark of 10 µs that launches kernels, the last by a graph."""
    events = [x("user_annotation", name, ts, 10)]
    for place, (at, dur) in enumerate(kernels):
        call = "cudaGraphLaunch" if place == len(kernels) - 1 else "cudaLaunchKernel"
        launch = 10 * number + place
        events += [
            x("cuda_runtime", call, ts + 2 + place, 1, correlation=launch),
            x("kernel", "k", at, dur, 0, 7, device=0, stream=7, correlation=launch),
        ]
    return events


def server() -> list[dict[str, Any]]:
    return [
        *step(1, 0, "step[EXTEND bs=2 toks=100]", (20, 30), (50, 10)),
        *step(2, 100, "step[DECODE bs=2]", (110, 10), (125, 15)),
        *step(3, 200, "step[DECODE bs=2]", (160, 10), (170, 20)),
        *step(4, 300, "step[DECODE bs=4]", (310, 40)),
    ]


def test_a_step_has_what_it_launched_and_the_gap_before(tmp_path: Path) -> None:
    found = steps_of_engines(profile(tmp_path, server()))
    us = 1000
    rows = [
        (
            row["kind"],
            row["kernels"],
            row["device_ms"] * us,
            (row["gap_ms"] or 0) * us,
            round(row["graph_frac"], 3),
        )
        for row in found.steps.rows()
    ]
    assert rows == [
        ("prefill", 2, pytest.approx(40), 0, 0.25),
        ("decode", 2, pytest.approx(25), pytest.approx(50), 0.6),
        ("decode", 2, pytest.approx(30), pytest.approx(20), 0.667),
        ("decode", 1, pytest.approx(40), pytest.approx(120), 1.0),
    ]
    assert next(found.steps.rows())["gap_ms"] is None


def test_steps_of_a_kind_and_size_are_one_row(tmp_path: Path) -> None:
    found = steps_of_engines(profile(tmp_path, server()))
    rows = {(row["kind"], row["requests"]): row for row in found.batches.rows()}
    assert set(rows) == {("prefill", 2), ("decode", 2), ("decode", 4)}
    two = rows["decode", 2]
    assert (two["steps"], two["tokens_mean"]) == (2, 2)
    assert two["gap_mean_ms"] == pytest.approx(0.035)
    assert two["device_mean_ms"] == pytest.approx(0.0275)
    assert two["idle_mean_ms"] == pytest.approx(0.0025)
    # 4 tokens in 50 + 30 and 20 + 30 µs.
    assert two["tokens_per_s"] == pytest.approx(4 / 130e-6)


def test_marks_inside_of_a_mark_are_the_same_step(tmp_path: Path) -> None:
    events = [*step(1, 0, "step[DECODE bs=2]", (20, 30)), *step(2, 1, "step[DECODE bs=2]")]
    events[-1]["dur"] = 5
    assert len(steps_of_engines(profile(tmp_path, events)).steps) == 1


def test_a_program_that_serves_nothing_has_no_such_page(tmp_path: Path) -> None:
    made = profile(tmp_path, [x("cpu_op", "aten::mm", 0, 10)])
    lacking = TOOLS.find("serving_steps").available(made)
    assert lacking is not None and "vLLM" in lacking.missing
    assert len(steps_of_engines(made).steps) == 0


def test_without_a_device_what_it_would_tell_is_not_known(tmp_path: Path) -> None:
    on_host = [one for one in server() if one["cat"] not in ("kernel", "cuda_runtime")]
    found = steps_of_engines(profile(tmp_path, on_host))
    step, batch = next(found.steps.rows()), next(found.batches.rows())
    assert step["host_ms"] > 0 and batch["host_mean_ms"] > 0
    assert step["device_ms"] is None and step["kernels"] is None and step["graph_frac"] is None
    assert batch["device_ms"] is None and batch["device_mean_ms"] is None
