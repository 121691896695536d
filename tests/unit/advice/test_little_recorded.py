"""What rules say about recordings that hold little of their program."""

from __future__ import annotations

from pathlib import Path

from stepscope.analysis.overview_page import overview_page
from tests.unit.advice.asking import Asked
from tests.unit.formats.kineto.layout import PID, profile, x


def test_a_wait_alone_says_nothing_about_the_program(tmp_path: Path) -> None:
    """Nothing but questions to the driver and a wait of 190 ms: what for is not recorded."""
    events = [
        x("cuda_runtime", "cudaGetDeviceProperties", 0, 2_000, PID, PID, correlation=1),
        x("cuda_runtime", "cudaDeviceSynchronize", 10_000, 190_000, PID, PID, correlation=2),
    ]
    one = profile(tmp_path, events)
    (_top, *_rest) = Asked(one).advice()
    assert "ops take" not in overview_page(one).headline


def test_kernels_that_were_launched_and_not_recorded_come_first(tmp_path: Path) -> None:
    events = []
    for at in range(40):
        events.append(x("cpu_op", "aten::mm", 100 * at, 90))
        events.append(
            x("cuda_runtime", "cudaLaunchKernel", 100 * at + 10, 6, PID, PID, correlation=at + 1)
        )
    (top, *_) = Asked(profile(tmp_path, events)).advice()
    assert top.rule == "incomplete-profile"


def test_a_range_around_python_is_no_op_that_computes(tmp_path: Path) -> None:
    """Of 10 ms that the program names, ops have 2."""
    events = [
        x("user_annotation", "model_inference", 0, 10_000),
        x("cpu_op", "aten::mm", 1_000, 2_000),
    ]
    said = overview_page(profile(tmp_path, events)).headline
    assert "No op ran in 80 % of the 10 ms recorded" in said
    assert "Ops and the framework take 20 %" in said
