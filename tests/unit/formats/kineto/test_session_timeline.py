"""Timelines of TensorFlow 1: ops on their lanes, kernels on their device, each with its node."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import stepscope

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
GPU = "/job:localhost/replica:0/task:0/device:GPU:0"
PROCESSES = {
    0: "Allocators",
    1: f"{CPU} Compute",
    2: f"{CPU} Tensors",
    3: f"{GPU} Compute",
    4: "/device:GPU:0/stream:all Compute",
    5: "/device:GPU:0/stream:17 Compute",
    6: "/device:GPU:0/memcpy Compute",
}


def op(type_: str, node: str, pid: int, at: float, lasts: float, lane: int = 0) -> dict[str, Any]:
    return {
        "ph": "X",
        "cat": "Op",
        "name": type_,
        "pid": pid,
        "tid": lane,
        "ts": at,
        "dur": lasts,
        "args": {"name": node, "op": type_},
    }


def timeline(folder: Path, events: list[dict[str, Any]]) -> Path:
    named = [
        {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}
        for pid, name in PROCESSES.items()
    ]
    path = folder / "timeline.json"
    path.write_text(json.dumps({"traceEvents": [*named, *events]}))
    return path


def test_the_op_that_takes_the_run_is_named_with_its_node(tmp_path: Path) -> None:
    events = [
        op("MatMul", "net/a/MatMul", 1, 0, 100),
        op("TopKV2", "net/sort/TopKV2", 1, 50, 900, lane=1),
        op("MatMul", "net/b/MatMul", 1, 960, 40),
    ]
    with stepscope.open(timeline(tmp_path, events)) as session:
        first = session.advice().findings[0]
        ops = {
            row.operation: row.total_time_us for row in session.framework_op_stats().ops.records()
        }
        said = session.overview_page().diagnostics
    assert first.title.startswith("Sort ")
    assert first.place is not None and first.place.op == "net/sort/TopKV2"
    assert not any("{" in action for action in first.actions)
    assert ops["net/a/MatMul"] == 100
    assert any("TensorFlow 1" in one.message for one in said)


def test_kernels_of_all_streams_count_once_and_know_their_op(tmp_path: Path) -> None:
    events = [op("MatMul", "net/a/MatMul", 3, 0, 10)]
    events += [op("MatMul", "net/a/MatMul:MatMul", pid, 20, 700) for pid in (4, 5)]
    events += [op("MEMCPYHtoD", "edge_5", 6, 800, 150)]
    with stepscope.open(timeline(tmp_path, events)) as session:
        (device,) = session.overview_page().window.devices
        ops = {
            row.operation: row.total_time_us
            for row in session.framework_op_stats().ops.records()
            if row.host_or_device == "Device"
        }
    assert (device.compute_ns, device.copy_ns, device.with_op) == (700_000, 150_000, 1)
    assert ops["net/a/MatMul"] == 700


@pytest.mark.parametrize("args", [{}, {"name": 3}, {"name": ""}, {"name": None}])
def test_ops_need_not_say_their_node(tmp_path: Path, args: dict[str, Any]) -> None:
    events = [op("MatMul", "", 1, 0, 100) | {"args": args}]
    with stepscope.open(timeline(tmp_path, events)) as session:
        (row,) = session.framework_op_stats().ops.records()
    assert row.type == "MatMul"
