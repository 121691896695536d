"""A model of two layers: what each costs forward, backward, and computed once more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stepscope.analysis import TOOLS
from stepscope.analysis.module_tree import modules
from tests.unit.formats.kineto.layout import PID, profile, x

AUTOGRAD = 777


def kernel(number: int, ts: float, dur: float, tid: int = PID) -> list[dict[str, Any]]:
    """A launch, and the kernel that it starts much later."""
    return [
        x("cuda_runtime", "cudaLaunchKernel", ts, 1, PID, tid, correlation=number),
        x("kernel", "gemm", 1000 + 100 * number, dur, 0, 7, device=0, stream=7, correlation=number),
    ]


def module(name: str, ts: float, dur: float) -> dict[str, Any]:
    return x("python_function", f"nn.Module: {name}", ts, dur, Python_id=int(ts) + 1)


def program() -> list[dict[str, Any]]:
    forward = [
        module("Net_0", 0, 100),
        module("Linear_0", 10, 30),
        x("cpu_op", "aten::addmm", 15, 10, Sequence_number=3),
        *kernel(1, 18, 5),
        module("Linear_1", 50, 30),
        x("cpu_op", "aten::addmm", 55, 10, Sequence_number=4),
        *kernel(2, 58, 7),
        x("cpu_op", "aten::relu", 90, 5, Sequence_number=5),
        *kernel(3, 91, 2),
        x("cpu_op", "aten::mse_loss", 110, 5, Sequence_number=6),
        *kernel(4, 111, 1),
    ]
    node = "autograd::engine::evaluate_function: AddmmBackward0"
    backward = [
        x("cpu_op", node, 200, 20, PID, AUTOGRAD, Sequence_number=4, Fwd_thread_id=1),
        *kernel(5, 205, 11, AUTOGRAD),
        x("cpu_op", node, 230, 20, PID, AUTOGRAD, Sequence_number=3, Fwd_thread_id=1),
        x("cpu_op", "aten::addmm", 232, 5, PID, AUTOGRAD, Sequence_number=9),
        *kernel(6, 233, 4, AUTOGRAD),
        *kernel(7, 240, 13, AUTOGRAD),
    ]
    return [*forward, *backward]


def test_time_goes_to_the_module_that_launched_it(tmp_path: Path) -> None:
    found = modules(profile(tmp_path, program()))
    rows = {row["path"]: row for row in found.modules.rows()}
    assert list(rows) == ["Net_0", "Net_0/Linear_0", "Net_0/Linear_1"]
    parts = ("forward_ms", "backward_ms", "recomputed_ms", "self_ms", "kernels")
    us = {
        path: [row[part] * (1 if part == "kernels" else 1000) for part in parts]
        for path, row in rows.items()
    }
    assert us["Net_0/Linear_0"] == pytest.approx([5, 13, 4, 22, 3])
    assert us["Net_0/Linear_1"] == pytest.approx([7, 11, 0, 18, 2])
    assert us["Net_0"] == pytest.approx([5 + 7 + 2, 24, 4, 2, 6])
    assert found.outside_ms == pytest.approx(0.001)
    assert rows["Net_0"]["device_frac"] == pytest.approx(42 / 43)
    assert rows["Net_0"]["host_ms"] == pytest.approx(0.1)


def test_a_module_that_is_called_twice_is_one_row(tmp_path: Path) -> None:
    again = [{**one, "ts": one["ts"] + 500} for one in program() if one["cat"] == "python_function"]
    rows = list(modules(profile(tmp_path, [*program(), *again])).modules.rows())
    assert [(row["depth"], row["calls"]) for row in rows] == [(0, 2), (1, 2), (1, 2)]


def test_a_module_that_backward_calls_again_stays_at_its_place(tmp_path: Path) -> None:
    node = "autograd::engine::evaluate_function: ReluBackward0"
    again = [
        x("cpu_op", node, 300, 50, PID, AUTOGRAD, Sequence_number=5, Fwd_thread_id=1),
        x("python_function", "nn.Module: Linear_1", 305, 20, PID, AUTOGRAD),
        x("cpu_op", "aten::addmm", 306, 5, PID, AUTOGRAD, Sequence_number=20),
        *kernel(8, 307, 6, AUTOGRAD),
    ]
    rows = {
        row["path"]: row for row in modules(profile(tmp_path, program() + again)).modules.rows()
    }
    assert list(rows) == ["Net_0", "Net_0/Linear_0", "Net_0/Linear_1"]
    assert rows["Net_0/Linear_1"]["recomputed_ms"] == pytest.approx(0.006)
    assert rows["Net_0/Linear_1"]["calls"] == 2


def test_without_stacks_the_page_says_how_to_record_them(tmp_path: Path) -> None:
    made = profile(tmp_path, [one for one in program() if one["cat"] != "python_function"])
    lacking = TOOLS.find("module_tree").available(made)
    assert lacking is not None and "with_stack=True" in lacking.record
    assert len(modules(made).modules) == 0


def test_without_a_device_what_it_would_tell_is_not_known(tmp_path: Path) -> None:
    on_host = [one for one in program() if one["cat"] in ("python_function", "cpu_op")]
    found = modules(profile(tmp_path, on_host))
    row = next(found.modules.rows())
    assert row["host_ms"] == pytest.approx(0.1)
    assert row["device_ms"] is None and row["device_frac"] is None and row["kernels"] is None
    assert found.to_dict()["outside_ms"] is None
