"""One list of work, grouped in nine ways: all have the same sum, and the other tools' times."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from stepscope.analysis.framework_op_stats import framework_op_stats
from stepscope.analysis.roofline_model import RooflineRow, roofline_model
from stepscope.analysis.work_table import TOOL, Options, WorkRow, work_table
from stepscope.errors import UsageError
from stepscope.result import Row, columns_of
from stepscope.tables.core.profile import Profile
from stepscope.tables.steps.time_base import with_times_of
from stepscope.tables.sums.work import WorkGroup
from tests.unit.analysis.compiled import check_contract, on_gpu
from tests.unit.analysis.test_module_tree import AUTOGRAD, kernel, module
from tests.unit.formats.kineto.layout import PID, allocation, profile, x


def call(name: str, ts: float, dur: float) -> dict[str, Any]:
    return x("python_function", name, ts, dur, Python_id=int(ts) + 1)


def training(tmp_path: Path, *more: dict[str, Any]) -> Profile:
    """Two layers, each launched by a line; the gradient of the second, on a thread of its own."""
    node = "autograd::engine::evaluate_function: AddmmBackward0"
    events = [
        call("train.py(7): step", 0, 300),
        module("Net_0", 1, 100),
        call("model.py(12): forward", 2, 90),
        module("Linear_0", 10, 30),
        x("cpu_op", "aten::addmm", 15, 10, Sequence_number=3),
        *kernel(1, 18, 5),
        module("Linear_1", 50, 30),
        x("cpu_op", "aten::addmm", 55, 10, Sequence_number=4),
        *kernel(2, 58, 7),
        x("cpu_op", "aten::mse_loss", 110, 5, Sequence_number=6),
        *kernel(3, 111, 1),
        x("cpu_op", node, 200, 20, PID, AUTOGRAD, Sequence_number=4, Fwd_thread_id=1),
        *kernel(4, 205, 11, AUTOGRAD),
        *more,
    ]
    return profile(tmp_path, events)


def times(made: Profile, by: WorkGroup, where: str = "device") -> dict[str, float]:
    rows = work_table(made, Options(group_by=by, where=where)).groups.rows()  # type: ignore[arg-type]
    return {row["name"]: round(row["self_time_us"], 6) for row in rows}


def test_it_answers_on_every_device_and_says_what_is_missing() -> None:
    check_contract(TOOL)


def test_work_goes_to_its_line_layer_and_module_gradients_included(tmp_path: Path) -> None:
    made = training(tmp_path)
    assert times(made, "line") == {"model.py:12 forward": 5 + 7 + 11, "train.py:7 step": 1}
    linear = "Net_0/Linear_"
    of_modules = {f"{linear}1": 18, f"{linear}0": 5, "outside of modules": 1}
    assert times(made, "module") == of_modules
    assert times(made, "layer") == {"Net_*/Linear_*": 23, "outside of layers": 1}
    assert times(made, "kernel") == {"gemm": 24}
    found = work_table(made, Options(group_by="line", where="device"))
    assert found.headline == "model.py:12 forward: 96 % of the 24 µs of work on devices."
    inside = work_table(made, Options("kernel", "device", "module=Net_0/Linear_1"))
    assert [(row["name"], row["runs"], row["share_frac"]) for row in inside.groups.rows()] == [
        ("gemm", 2, 1)
    ]
    outside = work_table(made, Options("line", "device", "module=outside of modules"))
    assert [row["name"] for row in outside.groups.rows()] == ["train.py:7 step"]
    with pytest.raises(UsageError, match="within cannot be 'modul=x'"):
        work_table(made, Options(within="modul=x"))
    # Ops of the host lie in the same lines.
    assert set(times(made, "line", "host")) == {"model.py:12 forward", "train.py:7 step"}


def held(made: Profile, by: WorkGroup, where: str = "device", within: str = "") -> dict[str, float]:
    """Bytes at the peak of each row that holds any."""
    rows = work_table(made, Options(by, where, within)).groups.rows()  # type: ignore[arg-type]
    return {row["name"]: row["peak_bytes"] for row in rows if row["peak_bytes"] > 0}


def test_memory_belongs_to_the_op_line_and_module_that_asked(tmp_path: Path) -> None:
    made = training(
        tmp_path,
        allocation(16, 64, 64, addr=1),
        allocation(57, 16, 80, addr=2),
        allocation(70, -64, 16, addr=1),
        allocation(112, 4, 20, addr=3),
    )
    # Live at the peak, at 57 µs: what both products asked for, not what the loss does later.
    for where in ("device", "host"):
        assert held(made, "op", where) == {"aten/addmm": 80}
        assert held(made, "type", where) == {"addmm": 80}
        assert held(made, "module", where) == {"Net_0/Linear_0": 64, "Net_0/Linear_1": 16}
        assert held(made, "layer", where) == {"Net_*/Linear_*": 80}
        assert held(made, "line", where) == {"model.py:12 forward": 80}
    assert held(made, "op", within="module=Net_0/Linear_1") == {"aten/addmm": 16}
    # Ops that hold nothing are known to; kernels are not known to hold anything.
    of_ops = work_table(made, Options("op", "device")).groups
    assert dict(zip(of_ops["name"], of_ops["peak_bytes"], strict=True))["aten/mse_loss"] == 0
    assert np.isnan(work_table(made, Options("kernel", "device")).groups["peak_bytes"]).all()
    without = work_table(training(tmp_path), Options("op", "device")).groups
    assert np.isnan(without["peak_bytes"]).all()


@pytest.mark.parametrize("base", ["recording", "step"])
def test_every_grouping_has_the_sum_of_the_ops(tmp_path: Path, base: Any) -> None:
    made = with_times_of(training(tmp_path), base)
    ops = framework_op_stats(made)
    for by in get_args(WorkGroup):
        for side, totals in (("device", ops.device), ("host", ops.host)):
            if (by, side) != ("kernel", "host"):
                summed = sum(times(made, by, side).values())
                assert summed == pytest.approx(totals.op_time_us, abs=1e-3), (by, side)
    of_ops = {
        (row["host_or_device"], row["operation"]): row["self_time_us"] for row in ops.ops.rows()
    }
    found = work_table(made, Options(group_by="op")).groups.rows()
    assert {(row["host_or_device"], row["name"]): row["self_time_us"] for row in found} == of_ops


def test_rates_and_the_share_of_the_roof_are_those_of_the_roofline() -> None:
    made = on_gpu()
    rows = {
        row["self_time_us"]: row for row in work_table(made, Options("op", "device")).groups.rows()
    }
    roof = {row["self_time_us"]: row for row in roofline_model(made).ops.rows()}
    assert list(rows) == list(roof) == [20, 10]
    for time, row in roof.items():
        mine = rows[time]
        assert mine["roof_frac"] == pytest.approx(row["roofline_efficiency_frac"])
        assert mine["flop_rate_gflops"] == pytest.approx(row["flop_rate_gflops"])
    (whole,) = work_table(made, Options("device", "device")).groups.rows()
    assert whole["flops"] == pytest.approx(2 * 64**3 + 64 * 64)
    # The mean of both by time: they ran for 10 and 20 µs.
    parts = [row["roof_frac"] * row["self_time_us"] for row in rows.values()]
    assert whole["roof_frac"] == pytest.approx(sum(parts) / whole["self_time_us"])


def test_what_was_not_recorded_is_said(tmp_path: Path) -> None:
    made = on_gpu()
    assert work_table(made, Options("line", "device")).headline.startswith("No line of the program")
    assert len(work_table(made, Options("kernel", "host")).groups) == 0


@pytest.mark.parametrize(
    ("row", "column"),
    [(WorkRow, "roof_frac"), (RooflineRow, "roofline_efficiency_frac")],
)
def test_a_roof_above_one_has_its_reasons_beside_it(row: type[Row], column: str) -> None:
    # Shapes count the FLOPs of a direct convolution: Winograd's on a V100 reach 130 %.
    assert "above 100 % if Winograd" in columns_of(row)[column][1].help
