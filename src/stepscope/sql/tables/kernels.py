"""``kernels``: every run of a kernel on a GPU, or of an op on a TPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from stepscope.sql.tables.table import (
    EVENT,
    HOST,
    PS_PER_US,
    QueryColumn,
    QueryTable,
    axis_time_us,
    dictionary,
    event_ids,
    steps_at,
)
from stepscope.tables.core.planes import PlaneKind, planes
from stepscope.tables.core.profile import Profile
from stepscope.tables.device.events import device_events
from stepscope.tables.device.kernel_classes import kernel_class
from stepscope.tables.device.kernels import is_gpu_kernel
from stepscope.tables.steps.attribution import found_steps


def _rows(profile: Profile, number: int) -> dict[str, Any]:
    host = profile.hosts[number]
    space, found = host.space, device_events(host)
    # Every launch counts as a kernel: some drivers copy by kernels.
    is_op = found.is_kernel & ~found.is_container
    on_gpu = np.asarray([kind is PlaneKind.GPU for kind in planes(host).plane_kind], dtype=bool)
    chosen = np.flatnonzero(np.where(on_gpu[found.device], is_gpu_kernel(host, found), is_op))
    rows, op = found.rows[chosen], found.op[chosen]
    name = space.events.metadata[rows].astype(np.int64)
    # A kernel's class hangs on its name and its op: asked once for each pair of them.
    pair, of_pair = np.unique(name * (len(found.ops) + 1) + op, return_inverse=True)
    classes = [
        kernel_class(space.event_metadata.name[one], found.ops[at].name)
        for one, at in (divmod(key, len(found.ops) + 1) for key in pair.tolist())
    ]
    steps = found_steps(host)
    none = np.zeros(0, dtype=np.int64)
    marks = (steps.start_ps, steps.end_ps, steps.markers.num) if steps else (none, none, none)
    device_names = [plane.name.removeprefix("/device:") for plane in space.planes]
    return {
        "device": dictionary(device_names, found.device[chosen]),
        "stream": dictionary([line.label for line in space.lines], space.lines_of(rows)),
        "name": dictionary(space.event_metadata.name, name),
        "class": dictionary(classes, of_pair),
        "op": dictionary([one.name for one in found.ops], op),
        "op_type": dictionary([one.type for one in found.ops], op),
        "step_num": steps_at(*marks, found.start_ps[chosen]),
        "start_us": axis_time_us(profile, number, space.events.start_ps[rows]),
        "duration_us": found.duration_ps[chosen] / PS_PER_US,
        "self_us": found.self_ps[chosen] / PS_PER_US,
        "tensor_core": found.tensor_core[chosen],
        "event": event_ids(profile, number, rows),
    }


TABLE = QueryTable(
    "kernels",
    "Every run of a kernel on a GPU, or of an op on a TPU; without copies by copy engines.",
    (
        HOST,
        QueryColumn("device", "text", "Device, e.g. GPU:0."),
        QueryColumn("stream", "text", "Stream, or line of ops."),
        QueryColumn("name", "text", "Name of the kernel or op."),
        QueryColumn("class", "text", "Kind of work, e.g. gemm."),
        QueryColumn("op", "text", "Framework op that it belongs to."),
        QueryColumn("op_type", "text", "Type of that op."),
        QueryColumn("step_num", "integer", "Step in which it begins; empty outside of steps."),
        QueryColumn("start_us", "number", "Start on the timeline's axis."),
        QueryColumn("duration_us", "number", "Length, by the device's clock if recorded."),
        QueryColumn("self_us", "number", "Length without nested ops."),
        QueryColumn("tensor_core", "flag", "Whether it uses tensor or matrix cores."),
        EVENT,
    ),
    _rows,
)
