"""A step of two products on an H100: FLOPs, rates, and how much of the peak that is."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from stepscope.analysis import TOOLS
from stepscope.analysis.model_flops import (
    ABOVE_PEAK,
    AT_MOST,
    INPUTS_ONLY,
    LONG_LIST,
    Options,
    model_flops,
)
from stepscope.analysis.roofline_model import Options as RooflineOptions
from stepscope.analysis.roofline_model import roofline_model
from stepscope.errors import UsageError
from stepscope.tables.core.profile import Profile
from tests.unit.formats.kineto.layout import PID, profile, x

H100 = [
    {
        "id": 0,
        "name": "NVIDIA H100 80GB HBM3",
        "computeMajor": 9,
        "computeMinor": 0,
        "numSms": 132,
        "totalGlobalMem": 85 << 30,
    }
]
N = 1024
FLOPS = 2 * N**3


def product(
    number: int,
    ts: float,
    dur: float,
    type_: str = "c10::BFloat16",
    kernel: str = "gemm",
    tid: int = PID,
    **said: Any,
) -> list[dict[str, Any]]:
    """A product of matrices: the op, the call, the kernel and the memset before it."""
    shapes = {
        "Input_Dims": [[N, N], [N, N]],
        "Input_type": [type_] * 2,
        "Concrete_Inputs": ["", ""],
    }
    of_device: dict[str, Any] = {"device": 0, "stream": 7}
    return [
        x("cpu_op", "aten::mm", ts, 10, PID, tid, **shapes, **said),
        x("cuda_runtime", "cudaMemsetAsync", ts + 1, 1, PID, tid, correlation=100 + number),
        x("cuda_runtime", "cudaLaunchKernel", ts + 3, 1, PID, tid, correlation=number),
        x("gpu_memset", "Memset (Device)", ts + 20, 1, 0, 7, correlation=100 + number, **of_device),
        x("kernel", kernel, ts + 21, dur, 0, 7, correlation=number, **of_device),
    ]


def steps(*events: dict[str, Any]) -> list[dict[str, Any]]:
    marks = [x("user_annotation", f"ProfilerStep#{n}", 100.0 * n, 100.0) for n in range(2)]
    return [*marks, *events]


def made(folder: Path, events: list[dict[str, Any]]) -> Profile:
    return profile(folder, events, deviceProperties=H100)


def test_what_an_op_launched_in_one_call_is_one_run_of_it(tmp_path: Path) -> None:
    found = model_flops(made(tmp_path, steps(*product(1, 10, 9), *product(2, 110, 9))))
    (row,) = found.ops.rows()
    assert (row["op"], row["shapes"], row["data_type"]) == (
        "aten::mm",
        "1024×1024, 1024×1024",
        "bf16",
    )
    assert (row["calls"], row["device_time_us"]) == (2, pytest.approx(20))
    assert row["gflop"] == pytest.approx(FLOPS / 1e9)
    assert row["tflops_per_s"] == pytest.approx(FLOPS / 10e-6 / 1e12)
    assert row["moved_bytes"] == 3 * 2 * N * N
    assert row["peak_frac"] == pytest.approx(FLOPS / 10e-6 / 989e12)
    # 342 FLOP/B is above the H100's 295.
    assert row["bound_by"] == "Compute"
    assert row["possible_us"] == pytest.approx(2 * FLOPS / 989e12 * 1e6)


def test_utilisation_is_time_at_the_peak_of_each_type_over_the_steps(tmp_path: Path) -> None:
    fp32 = product(2, 110, 40, "float")
    found = model_flops(made(tmp_path, steps(*product(1, 10, 9), *fp32))).utilisation
    assert found.steps == 2
    ideal_s = FLOPS / 989e12 + FLOPS / 67e12
    assert found.mfu_frac == pytest.approx(ideal_s / (found.step_ms * 2 / 1e3))
    assert found.hfu_frac == found.mfu_frac
    assert found.model_tflop == pytest.approx(FLOPS / 1e12)


def test_32_bits_on_tensor_cores_count_against_their_peak(tmp_path: Path) -> None:
    name = "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n"
    found = model_flops(made(tmp_path, steps(*product(1, 10, 9, "float", name))))
    (row,) = found.ops.rows()
    assert row["data_type"] == "tf32"
    assert row["peak_frac"] == pytest.approx(FLOPS / 10e-6 / 495e12)


def test_what_is_recomputed_counts_for_the_hardware_only(tmp_path: Path) -> None:
    node = x(
        "cpu_op",
        "autograd::engine::evaluate_function: MmBackward0",
        100,
        60,
        PID,
        777,
        Sequence_number=1,
        Fwd_thread_id=1,
    )
    again = product(2, 110, 9, tid=777, Sequence_number=9)
    forward = product(1, 10, 9, Sequence_number=1)
    found = model_flops(made(tmp_path, steps(*forward, node, *again))).utilisation
    assert found.hfu_frac == pytest.approx(2 * found.mfu_frac)


def test_above_the_peak_says_so_instead_of_a_share(tmp_path: Path) -> None:
    found = model_flops(made(tmp_path, steps(*product(1, 10, 0.5))))
    (row,) = found.ops.rows()
    assert row["peak_frac"] is None and ABOVE_PEAK in row["note"]
    assert "above-peak" in {one.slug for one in found.diagnostics}


def test_sizes_on_the_device_are_at_most(tmp_path: Path) -> None:
    events = product(1, 10, 200)
    events[0]["name"] = "aten::_grouped_mm"
    events[0]["args"]["Input Dims"] = [[N, N], [4, N, N]]
    found = model_flops(made(tmp_path, steps(*events)))
    assert next(found.ops.rows())["note"] == AT_MOST
    assert "at-most" in {one.slug for one in found.diagnostics}


def test_lists_of_tensors_have_the_type_that_their_kernels_are_made_for(tmp_path: Path) -> None:
    events = product(1, 10, 200, kernel="multi_tensor_apply_kernel<UnaryOpFunctor<float, 2, 1, 1>>")
    events[0]["name"] = "aten::_foreach_add_"
    events[0]["args"] |= {"Input Dims": [[[N, N], [N]]], "Input type": ["TensorList"]}
    (row,) = model_flops(made(tmp_path, steps(*events))).ops.rows()
    assert (row["moved_bytes"], row["note"]) == (2 * 4 * (N * N + N), "")
    events[0]["args"]["Input Dims"] = [[]]
    (row,) = model_flops(made(tmp_path, steps(*events))).ops.rows()
    assert (row["moved_bytes"], row["note"]) == (None, LONG_LIST)


@pytest.mark.parametrize(("rows", "gbps"), [(N, N * N * 2 / 201e3), (10**9, None)])
def test_an_op_of_another_library_has_what_it_is_given_and_a_note(
    tmp_path: Path, rows: int, gbps: float | None
) -> None:
    """A cache of a terabyte is handed over and not read: no memory is so fast."""
    events = product(1, 10, 200)
    events[0]["name"] = "mine::attention"
    events[0]["args"] |= {"Input Dims": [[rows, N], []], "Input type": ["c10::BFloat16", "Scalar"]}
    found = made(tmp_path, steps(*events))
    (row,) = model_flops(found).ops.rows()
    assert (row["moved_bytes"], row["note"]) == (rows * N * 2, INPUTS_ONLY)
    assert row["memory_gbps"] == (None if gbps is None else pytest.approx(gbps))
    assert (row["bound_by"], row["possible_us"]) == ("", None)
    (roof,) = (one for one in roofline_model(found).ops.rows() if one["rank"])
    assert roof["memory_bw_gbps"] is None


def test_peaks_can_be_given(tmp_path: Path) -> None:
    recorded = made(tmp_path, steps(*product(1, 10, 9)))
    options = Options(peak_tflops="bf16=500, fp4=4", peak_memory_gbps=1000)
    found = model_flops(recorded, options)
    assert next(found.ops.rows())["peak_frac"] == pytest.approx(FLOPS / 10e-6 / 500e12)
    assert found.limits.memory_gbps == 1000 and "by hand" in found.limits.peak_source
    for wrong in ("bf16", "bf16=fast", "=3", "bf16=-1", "bf16=nan"):
        with pytest.raises(UsageError):
            model_flops(recorded, Options(peak_tflops=wrong))


def test_an_unknown_device_has_rates_and_no_shares(tmp_path: Path) -> None:
    found = model_flops(profile(tmp_path, steps(*product(1, 10, 9))))
    (row,) = found.ops.rows()
    assert row["tflops_per_s"] > 0 and row["peak_frac"] is None
    assert math.isnan(found.utilisation.mfu_frac)
    assert "peak-unknown" in {one.slug for one in found.diagnostics}


def test_the_roofline_has_the_same_ops(tmp_path: Path) -> None:
    found = roofline_model(
        made(tmp_path, steps(*product(1, 10, 9), *product(2, 110, 9))), RooflineOptions()
    )
    (row,) = found.ops.rows()
    assert row["operation"] == "aten::mm 1024×1024, 1024×1024"
    assert row["occurrences"] == 2
    assert row["flop_rate_gflops"] == pytest.approx(FLOPS / 10e-6 / 1e9)
    assert row["flop_utilisation_frac"] == pytest.approx(FLOPS / 10e-6 / 989e12)


def test_without_shapes_the_page_says_how_to_record_them(tmp_path: Path) -> None:
    events = product(1, 10, 9)
    del events[0]["args"]["Input Dims"]
    lacking = TOOLS.find("model_flops").available(made(tmp_path, events))
    assert lacking is not None and "record_shapes=True" in lacking.record
