"""What one run of an op costs where its calls do not cost the same."""

from __future__ import annotations

import math

import pytest

from stepscope.analysis.roofline_model import roofline_model
from stepscope.formats.kineto.planes import to_xspace
from stepscope.formats.kineto.reading.read import read_pieces
from stepscope.formats.kineto.steps import StepCount
from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.ops.run_cost import RunCost, mean_cost
from tests.profiles.torch_loop import V100
from tests.unit.formats.kineto.layout import text, x


def test_the_mean_counts_each_cost_as_often_as_it_ran() -> None:
    found = mean_cost([(3, RunCost(bytes=8.0, flops=2.0)), (1, RunCost(bytes=16.0))])
    assert found.bytes == 10.0
    assert math.isnan(found.flops)


@pytest.mark.parametrize("wide_first", [True, False])
def test_copies_of_one_shape_and_several_types_move_what_all_of_them_do(wide_first: bool) -> None:
    """Three of float32 and one of int8, of 1,024 elements each: read once, written once."""
    events = []
    types = ["float"] * 3 + ["signed char"]
    for number, type_ in enumerate(types if wide_first else types[::-1], 1):
        at = 100.0 * number
        said = {"Input_Dims": [[1024], [1024]], "Input_type": [type_] * 2}
        events += [
            x("cpu_op", "aten::copy_", at, 8, **said),
            x("cuda_runtime", "cudaLaunchKernel", at + 1, 2, correlation=number),
            x("kernel", "copy", at + 5, 10, 0, 7, device=0, stream=7, correlation=number),
        ]
    data = to_xspace(
        read_pieces([text(events, {"deviceProperties": [V100]}).encode()]), count=StepCount()
    )[0]
    rows = roofline_model(Profile("s", (Host("h", decode(data)),))).ops.rows()
    (row,) = [one for one in rows if one["operation"].startswith("aten::copy_")]
    moved_bytes = 3 * 2 * 4096 + 2 * 1024
    assert row["hbm_bw_gbps"] == pytest.approx(moved_bytes / 40e-6 / 1e9)


@pytest.mark.parametrize(
    ("kernel", "is_fp32"), [("volta_sgemm", True), ("ampere_s1688gemm_tf32", False)]
)
def test_a_product_in_float32_is_held_against_the_peak_of_float32(
    kernel: str, is_fp32: bool
) -> None:
    said = {"Input_Dims": [[4096, 4096], [4096, 4096]], "Input_type": ["float"] * 2}
    events = [
        x("cpu_op", "aten::mm", 100, 8, **said),
        x("cuda_runtime", "cudaLaunchKernel", 101, 2, correlation=1),
        x("kernel", kernel, 105, 20_000, 0, 7, device=0, stream=7, correlation=1),
    ]
    data = to_xspace(
        read_pieces([text(events, {"deviceProperties": [V100]}).encode()]), count=StepCount()
    )[0]
    found = roofline_model(Profile("s", (Host("h", decode(data)),)))
    (row,) = [one for one in found.ops.rows() if one["operation"].startswith("aten::mm")]
    rate = 2 * 4096**3 / 20e-3
    assert row["bound_by"] == "Compute"
    peaks = {one["data_type"]: one["flop_rate_gflops"] for one in found.flop_peaks.rows()}
    peak = peaks["fp32"] * 1e9 if is_fp32 else found.device.peak_gflops * 1e9
    assert row["roofline_efficiency_frac"] == pytest.approx(rate / peak)
    assert row["flop_utilisation_frac"] == pytest.approx(rate / (found.device.peak_gflops * 1e9))
