"""Layers of one pass of a model are not steps, and a recording begins with what was recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host
from stepscope.tables.steps.attribution import HostSteps, steps
from tests.profiles.drawing import draw, event
from tests.profiles.model import space
from tests.unit.formats.kineto.layout import PID, profile, x

US = 1_000_000
BLOCK = ("aten::layer_norm", "aten::linear", "aten::gelu", "aten::add")


def found(folder: Path, events: list[dict[str, Any]]) -> HostSteps:
    told = steps(profile(folder, events).hosts[0])
    assert told is not None
    return told


def blocks(count: int, begin: float = 0.0) -> list[dict[str, Any]]:
    """Blocks of four ops, 100 µs each."""
    return [
        x("cpu_op", op, begin + 100 * at + 25 * place, 24)
        for at in range(count)
        for place, op in enumerate(BLOCK)
    ]


@pytest.mark.parametrize(
    ("name", "is_pass"),
    [("model_inference", True), ("forward", True), ("train_model", False), ("timed", False)],
)
def test_what_recurs_within_one_pass_is_layers(tmp_path: Path, name: str, is_pass: bool) -> None:
    around = x("user_annotation", name, -5, 1020)
    assert found(tmp_path, [around, *blocks(10)]).markers.is_window is is_pass


def test_a_pass_marked_in_each_round_is_a_loop(tmp_path: Path) -> None:
    marks = [x("user_annotation", "forward", 100.0 * at - 0.5, 99) for at in range(10)]
    assert len(found(tmp_path, [*marks, *blocks(10)])) == 10


def test_a_guess_that_is_a_small_part_of_the_recording_is_no_loop(tmp_path: Path) -> None:
    """Three rounds say little: they are steps where they are the recording, not where 5 % of it."""

    def rounds(before: float) -> HostSteps:
        events = [x("cpu_op", "aten::conv1d", -before, before - 10)] if before else []
        for at in range(3):
            events += [
                x("cpu_op", "aten::mm", 100 * at, 80),
                x(
                    "cuda_runtime",
                    "cudaLaunchKernel",
                    100 * at + 5,
                    5,
                    PID,
                    PID,
                    correlation=at + 1,
                ),
                x(
                    "kernel",
                    "gemm",
                    100 * at + 20,
                    70,
                    0,
                    7,
                    device=0,
                    stream=7,
                    correlation=at + 1,
                ),
            ]
        return found(tmp_path, events)

    alone = rounds(0)
    assert (len(alone), alone.markers.certainty) == (3, "uncertain")
    assert rounds(6000).markers.is_window


def test_a_recording_begins_when_what_was_launched_begins_to_run() -> None:
    """The device is at earlier work for 30 of 40 µs, and the host waits for it from the 4th on."""
    whole = steps(
        Host(
            "h",
            decode(
                space(
                    *draw(
                        """
                        /host:CPU
                          python      .L-W------------------------------------
                        /device:GPU:0
                          Stream #7   ..............................K---------
                        """,
                        L=event("cudaLaunchKernel", correlation_id=1),
                        W=event("cudaDeviceSynchronize"),
                        K=event("gemm", correlation_id=1),
                    )
                )
            ),
        )
    )
    assert whole is not None and whole.markers.is_window
    assert whole.start_ps.tolist() == [30 * US]
    assert whole.duration_ps.tolist() == [10 * US]
    assert whole.parts_ps["device_compute_32"].tolist() == [10 * US]


@pytest.mark.parametrize("has_backward", [True, False])
def test_rounds_without_the_backward_pass_that_they_prepare_are_layers(
    tmp_path: Path, has_backward: bool
) -> None:
    """Sharded layers register what follows their gradients, as each step of a training does."""
    events = blocks(10)
    for at in range(10):
        events.append(x("cpu_op", "RegisterPostBackwardFunction", 100 * at + 99, 0.5))
    if has_backward:
        name = "autograd::engine::evaluate_function: MmBackward0"
        events += [x("cpu_op", name, 100.0 * at + 99.6, 0.3) for at in range(10)]
    assert found(tmp_path, events).markers.is_window is not has_backward


@pytest.mark.parametrize(("length_us", "is_one"), [(1000, True), (95, False)])
def test_what_recurs_within_one_call_of_a_module_is_layers(
    tmp_path: Path, length_us: float, is_one: bool
) -> None:
    """One call of the model around ten blocks, or one around each of ten steps."""
    calls = [
        x("python_function", "nn.Module: Net_0", 100.0 * at, length_us, Python_id=at + 1)
        for at in range(1 if is_one else 10)
    ]
    assert found(tmp_path, [*calls, *blocks(10)]).markers.is_window is is_one
