"""Traces of torch.autograd.profiler from before Kineto: ops of host and device, no categories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stepscope.formats.kineto.autograd_timeline import OF_AUTOGRAD
from stepscope.tables.device.events import device_events
from stepscope.tables.recording.completeness import completeness
from stepscope.tables.steps.attribution import steps
from tests.unit.formats.kineto.layout import profile


def slice_(name: str, ts: float, dur: float, process: str) -> dict[str, Any]:
    return {"name": name, "ph": "X", "ts": ts, "dur": dur, "tid": 0 if process[1] == "U" else 1,
            "pid": process, "args": {}}  # fmt: skip


def conv(process: str, ts: float, dur: float) -> list[dict[str, Any]]:
    """An op, the op that it calls, and what that calls first."""
    return [
        slice_("aten::conv2d", ts, dur, process),
        slice_("aten::cudnn_convolution", ts + 1, dur - 2, process),
        slice_("aten::contiguous", ts + 2, 1, process),
    ]


def test_outermost_ops_of_a_device_are_what_ran_on_it(tmp_path: Path) -> None:
    """Ten convolutions of 90 µs, launched in 40: "net" is a range, on the device as well."""
    events = [slice_("net", 0, 1000, "CPU functions"), slice_("net", 50, 960, "CUDA functions")]
    for at in range(10):
        events += conv("CPU functions", 100.0 * at, 40)
        events += conv("CUDA functions", 100.0 * at + 50, 90)
    (host,) = profile(tmp_path, events).hosts
    found = device_events(host)
    names = [host.space.event_metadata.name[one] for one in host.space.events.metadata[found.rows]]
    assert names == ["aten::conv2d"] * 10
    assert (found.end_ps - found.start_ps).tolist() == [90_000_000] * 10
    whole = steps(host)
    assert whole is not None and int(whole.parts_ps["device_compute_32"].sum()) > 0
    assert OF_AUTOGRAD in [one.message for one in completeness(host).diagnostics]
