"""What devices run is located where the program launched it, not where its thread has come to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stepscope.analysis.step_account import AccountPart, StepAccount, step_account
from stepscope.tables.parts.shares import LAUNCHED
from tests.unit.formats.kineto.layout import PID, profile, x

Events = list[dict[str, Any]]
AUTOGRAD = 777
CALL = "torch/nn/modules/module.py(1500): _call_impl"


def call(name: str, ts: float, dur: float) -> dict[str, Any]:
    return x("python_function", name, ts, dur)


def launch(ts: float, number: int, thread: int = PID) -> dict[str, Any]:
    return x("cuda_runtime", "cudaLaunchKernel", ts, 2, PID, thread, correlation=number)


def op(name: str, ts: float, number: int, **args: Any) -> Events:
    """An op that launches a kernel."""
    return [x("cpu_op", name, ts, 6, **args), launch(ts + 2, number)]


def kernel(ts: float, dur: float, number: int, name: str = "gemm") -> dict[str, Any]:
    return x("kernel", name, ts, dur, 0, 7, device=0, stream=7, correlation=number)


def three(*made: Callable[[float, int], Events]) -> Events:
    """Three steps of 1 ms in a function of the program's, each with such events."""
    events = []
    for step in range(3):
        at, number = 1000.0 * step, 10 * (step + 1)
        events.append(x("user_annotation", f"ProfilerStep#{step}", at, 1000))
        events.append(call("train.py(40): train", at, 1000))
        events += [event for make in made for event in make(at, number)]
    return events


def layers(at: float, number: int) -> Events:
    """Two layers launch a product each; both run while the loop waits for them."""
    return [
        call("nn.Module: Encoder_0", at + 10, 30),
        call(CALL, at + 11, 28),
        call("model.py(12): forward", at + 12, 26),
        *op("aten::mm", at + 20, number + 1),
        call("nn.Module: Decoder_0", at + 50, 30),
        call(CALL, at + 51, 28),
        call("model.py(30): forward", at + 52, 26),
        *op("aten::mm", at + 60, number + 2, Sequence_number=number),
        call("torch/cuda/__init__.py(600): synchronize", at + 100, 800),
        x("cuda_runtime", "cudaDeviceSynchronize", at + 105, 790, PID, PID),
        kernel(at + 110, 200, number + 1),
        kernel(at + 310, 600, number + 2),
    ]


def opened(folder: Path, events: Events) -> StepAccount:
    """The account, of which every moment has one owner."""
    found = step_account(profile(folder, events))
    whole = pytest.approx(found.step_time_ms)
    assert sum(one.time_ms for one in found.part_list()) == whole
    assert sum(one.time_ms for one in found.owners.records()) == whole
    return found


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
    found = opened(tmp_path, three(layers))
    part = products(found)
    assert (part.name, part.function, part.file) == ("matmul", "Decoder.forward", "model.py")
    assert part.holds("is_launched")
    launched = [one for one in found.part_list()[0].shares if one.role == LAUNCHED]
    assert [(one.name, one.line, round(100 * one.share_frac)) for one in launched] == [
        ("Decoder.forward", 30, 75),
        ("Encoder.forward", 12, 25),
    ]
    assert on_device(found) == pytest.approx({"Decoder.forward": 0.6, "Encoder.forward": 0.2})


def test_what_launching_ops_take_of_the_thread_is_the_hand_over_and_not_the_ops(
    tmp_path: Path,
) -> None:
    """The device has 20 of each 100 µs; the rest is the way of each op to its kernel."""
    events = [x("user_annotation", f"ProfilerStep#{at}", 1000 * at, 1000) for at in range(3)]
    for number in range(30):
        at = 100 * number
        events.append(x("cpu_op", "aten::conv2d", at, 95))
        events.append(x("cpu_op", "aten::cudnn_convolution", at + 5, 85))
        events.append(x("cuda_runtime", "cudaLaunchKernel", at + 60, 5, correlation=number + 1))
        events.append(kernel(at + 66, 20, number + 1))
    kinds = {one.kind: one.time_ms for one in opened(tmp_path, events).part_list()}
    expected = {"op": 0.2, "framework": 0.7, "launch": 0.05}
    assert {kind: kinds[kind] for kind in expected} == pytest.approx(expected)


def test_a_gradient_is_of_the_line_that_ran_the_op_it_is_of(tmp_path: Path) -> None:
    def backward(at: float, number: int) -> Events:
        node, of = "autograd::engine::evaluate_function: MmBackward0", {"Sequence_number": number}
        return [
            x("cpu_op", node, at + 90, 8, PID, AUTOGRAD, **of, Fwd_thread_id=1),
            launch(at + 92, number + 3, AUTOGRAD),
            kernel(at + 910, 80, number + 3),
        ]

    found = opened(tmp_path, three(layers, backward))
    assert on_device(found)["Decoder.forward"] == pytest.approx(0.6 + 0.08)


def test_what_no_recorded_call_launched_stays_where_the_loop_is(tmp_path: Path) -> None:
    """Of each step's kernels one was launched before the recording."""

    def lost(at: float, number: int) -> Events:
        gone = number + 2
        return [
            one
            for one in layers(at, number)
            if one["cat"] == "kernel" or one.get("args", {}).get("correlation") != gone
        ]

    found = opened(tmp_path, three(lost))
    part = products(found)
    assert (part.function, part.holds("is_launched")) == ("train", False)
    assert on_device(found)["Encoder.forward"] == pytest.approx(0.2)
    assert sum(on_device(found).values()) == pytest.approx(0.8)


def test_what_is_mostly_not_launched_is_where_the_loop_is(tmp_path: Path) -> None:
    """Three products, of which the largest alone has its launch: less than half of the time."""

    def lossy(at: float, number: int) -> Events:
        return [
            call("model.py(12): forward", at + 12, 26),
            *op("aten::mm", at + 20, number),
            call("log.py(5): log", at + 400, 230),
            *(kernel(at + 110, 300, number), kernel(at + 410, 200, number + 1)),
            kernel(at + 640, 200, number + 2),
        ]

    part = products(opened(tmp_path, three(lossy)))
    assert not part.holds("is_launched")
    assert part.function in ("train", "log")


def test_a_compiled_region_is_its_kernels(tmp_path: Path) -> None:
    """PyTorch records a whole region as one op; what it generates is its own code."""

    def compiled(at: float, number: int) -> Events:
        return [
            call(f"/tmp/cache/dn/c{'d' * 51}.py(900): call", at + 10, 60),
            x("cpu_op", "Torch-Compiled Region: 0/0", at + 12, 56),
            *(launch(at + 20, number + 1), launch(at + 40, number + 2)),
            call("torch/cuda/__init__.py(600): synchronize", at + 100, 800),
            kernel(at + 110, 500, number + 1, "Cijk_Ailk_Bjlk"),
            kernel(at + 610, 200, number + 2, "triton_poi_fused_gelu_3"),
        ]

    found = opened(tmp_path, three(compiled))
    made = {one.name: one for one in found.part_list() if one.kind == "op"}
    assert made["matmul"].time_ms == pytest.approx(0.5)
    assert made["triton_poi_fused_gelu"].time_ms == pytest.approx(0.2)
    assert made["matmul"].function == "train"
