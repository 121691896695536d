"""What devices run is located where the program launched it, not where its thread has come to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stepscope.analysis.step_account import AccountPart, StepAccount, step_account
from stepscope.tables.parts.shares import LAUNCHED
from tests.unit.formats.kineto.layout import PID, profile, x

AUTOGRAD = 777


def call(name: str, ts: float, dur: float) -> dict[str, Any]:
    return x("python_function", name, ts, dur)


def op(name: str, ts: float, number: int, **args: Any) -> list[dict[str, Any]]:
    """An op that launches a kernel."""
    return [
        x("cpu_op", name, ts, 6, **args),
        x("cuda_runtime", "cudaLaunchKernel", ts + 2, 2, PID, PID, correlation=number),
    ]


def kernel(ts: float, dur: float, number: int) -> dict[str, Any]:
    return x("kernel", "gemm", ts, dur, 0, 7, device=0, stream=7, correlation=number)


def step(at: float, number: int) -> list[dict[str, Any]]:
    """Two layers launch a product each; both run while the loop waits for them."""
    return [
        x("user_annotation", f"ProfilerStep#{number}", at, 1000),
        call("train.py(40): train", at, 1000),
        call("nn.Module: Encoder_0", at + 10, 30),
        call("torch/nn/modules/module.py(1500): _call_impl", at + 11, 28),
        call("model.py(12): forward", at + 12, 26),
        *op("aten::mm", at + 20, 10 * number + 1),
        call("nn.Module: Decoder_0", at + 50, 30),
        call("torch/nn/modules/module.py(1500): _call_impl", at + 51, 28),
        call("model.py(30): forward", at + 52, 26),
        *op("aten::mm", at + 60, 10 * number + 2, Sequence_number=10 * number),
        call("torch/cuda/__init__.py(600): synchronize", at + 100, 800),
        x("cuda_runtime", "cudaDeviceSynchronize", at + 105, 790, PID, PID),
        kernel(at + 110, 200, 10 * number + 1),
        kernel(at + 310, 600, 10 * number + 2),
    ]


def opened(folder: Path, events: list[dict[str, Any]]) -> StepAccount:
    return step_account(profile(folder, events))


def products(found: StepAccount) -> AccountPart:
    return next(one for one in found.part_list() if one.kind in ("op", "function"))


def on_device(found: StepAccount) -> dict[str, float]:
    """Time of the kernels by the function they are of: an op's own time is but a few µs."""
    total: dict[str, float] = {}
    for one in found.owners.records():
        if one.kind == "op" and one.time_ms > 0.05:
            total[one.function] = total.get(one.function, 0.0) + one.time_ms
    return total


def test_a_kernel_is_of_the_line_that_launched_it(tmp_path: Path) -> None:
    found = opened(tmp_path, [*step(0, 1), *step(1000, 2), *step(2000, 3)])
    part = products(found)
    assert part.name == "matmul"
    assert (part.function, part.file) == ("Decoder.forward", "model.py")
    assert part.holds("is_launched")
    launched = [one for one in found.part_list()[0].shares if one.role == LAUNCHED]
    assert [(one.name, one.line, round(100 * one.share_frac)) for one in launched] == [
        ("Decoder.forward", 30, 75),
        ("Encoder.forward", 12, 25),
    ]
    # Every moment keeps one owner.
    whole = pytest.approx(found.step_time_ms)
    assert sum(one.time_ms for one in found.part_list()) == whole
    assert sum(one.time_ms for one in found.owners.records()) == whole
    assert on_device(found) == {
        "Decoder.forward": pytest.approx(0.6),
        "Encoder.forward": pytest.approx(0.2),
    }


def test_what_launching_ops_take_of_the_thread_is_the_hand_over_and_not_the_ops(
    tmp_path: Path,
) -> None:
    """The device has 20 of each 100 µs; the rest is the way of each op to its kernel."""

    def layer(at: float, number: int) -> list[dict[str, Any]]:
        return [
            x("cpu_op", "aten::conv2d", at, 95),
            x("cpu_op", "aten::cudnn_convolution", at + 5, 85),
            x("cuda_runtime", "cudaLaunchKernel", at + 60, 5, PID, PID, correlation=number),
            kernel(at + 66, 20, number),
        ]

    marks = [x("user_annotation", f"ProfilerStep#{at}", 1000 * at, 1000) for at in range(3)]
    events = [one for at in range(30) for one in layer(100 * at, at + 1)]
    found = opened(tmp_path, [*marks, *events])
    kinds = {one.kind: one.time_ms for one in found.part_list()}
    assert kinds["op"] == pytest.approx(0.2)
    assert kinds["framework"] == pytest.approx(0.7)
    assert kinds["launch"] == pytest.approx(0.05)


def test_a_gradient_is_of_the_line_that_ran_the_op_it_is_of(tmp_path: Path) -> None:
    node = "autograd::engine::evaluate_function: MmBackward0"

    def backward(at: float, number: int) -> list[dict[str, Any]]:
        return [
            x("cpu_op", node, at + 90, 8, PID, AUTOGRAD, Sequence_number=10 * number,
              Fwd_thread_id=1),
            x("cuda_runtime", "cudaLaunchKernel", at + 92, 2, PID, AUTOGRAD,
              correlation=10 * number + 3),
            kernel(at + 910, 80, 10 * number + 3),
        ]  # fmt: skip

    steps = [step(1000 * at, at + 1) + backward(1000 * at, at + 1) for at in range(3)]
    found = opened(tmp_path, [one for events in steps for one in events])
    assert on_device(found)["Decoder.forward"] == pytest.approx(0.6 + 0.08)


def test_what_no_recorded_call_launched_stays_where_the_loop_is(tmp_path: Path) -> None:
    """Of each step's kernels one was launched before the recording."""
    events = [*step(0, 1), *step(1000, 2), *step(2000, 3)]
    gone = [one for one in events if one.get("args", {}).get("correlation") in (12, 22, 32)]
    lost = [one for one in events if one not in gone or one["cat"] == "kernel"]
    found = opened(tmp_path, lost)
    part = products(found)
    assert (part.function, part.holds("is_launched")) == ("train", False)
    assert on_device(found)["Encoder.forward"] == pytest.approx(0.2)
    assert sum(on_device(found).values()) == pytest.approx(0.8)
    total = sum(one.time_ms for one in found.owners.records())
    assert total == pytest.approx(found.step_time_ms)


def test_a_compiled_region_is_its_kernels(tmp_path: Path) -> None:
    """PyTorch records a whole region as one op; what it generates is its own code."""
    generated = f"/tmp/cache/dn/c{'d' * 51}.py(900): call"

    def compiled(at: float, number: int) -> list[dict[str, Any]]:
        launches = [(20, 1), (40, 2)]
        return [
            x("user_annotation", f"ProfilerStep#{number}", at, 1000),
            call("train.py(40): train", at, 1000),
            call(generated, at + 10, 60),
            x("cpu_op", "Torch-Compiled Region: 0/0", at + 12, 56),
            *[
                x("cuda_runtime", "cudaLaunchKernel", at + begin, 2, PID, PID,
                  correlation=10 * number + one)
                for begin, one in launches
            ],
            call("torch/cuda/__init__.py(600): synchronize", at + 100, 800),
            x("kernel", "Cijk_Ailk_Bjlk", at + 110, 500, 0, 7, device=0, stream=7,
              correlation=10 * number + 1),
            x("kernel", "triton_poi_fused_gelu_3", at + 610, 200, 0, 7, device=0, stream=7,
              correlation=10 * number + 2),
        ]  # fmt: skip

    found = opened(tmp_path, [*compiled(0, 1), *compiled(1000, 2), *compiled(2000, 3)])
    made = {one.name: one for one in found.part_list() if one.kind == "op"}
    assert made["matmul"].time_ms == pytest.approx(0.5)
    assert made["triton_poi_fused_gelu"].time_ms == pytest.approx(0.2)
    assert made["matmul"].function == "train"


def test_what_is_mostly_not_launched_is_where_the_loop_is(tmp_path: Path) -> None:
    """Three products, of which the largest alone has its launch: less than half of the time."""

    def lossy(at: float, number: int) -> list[dict[str, Any]]:
        launched, lost, after = (10 * number + one for one in range(3))
        return [
            x("user_annotation", f"ProfilerStep#{number}", at, 1000),
            call("train.py(40): train", at, 1000),
            call("model.py(12): forward", at + 12, 26),
            *op("aten::mm", at + 20, launched),
            call("log.py(5): log", at + 400, 230),
            kernel(at + 110, 300, launched),
            kernel(at + 410, 200, lost),
            kernel(at + 640, 200, after),
        ]

    found = opened(tmp_path, [*lossy(0, 1), *lossy(1000, 2), *lossy(2000, 3)])
    part = products(found)
    assert not part.holds("is_launched")
    assert part.function in ("train", "log")
