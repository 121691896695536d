"""A compiled program of a product and an addition, run on a GPU or on the CPU, with its memory."""

from __future__ import annotations

import json
from typing import Any

from stepscope.formats.xspace import decode
from stepscope.registry import Tool
from stepscope.tables.core.profile import Host, Profile
from tests.profiles.hlo import f32, instruction, memory_plan, metadata_plane, program
from tests.profiles.model import Event, environment, gpu, host, line, space, stream, u

# A product of 64×64 by 64×64: 524,288 FLOPs, 49,152 bytes.
ENTRY = [
    instruction("x", "parameter", f32(64, 64), parameter_number=0),
    instruction("dot.1", "dot", f32(64, 64), "x", "x", contracting=(1, 0), op_name="jit(f)/mul"),
    instruction(
        "add.1", "add", f32(64, 64), "dot.1", "dot.1", op_name="jit(f)/rematted_computation/add"
    ),
]
SIZE = 64 * 64 * 4
MEMORY = memory_plan(
    {1: (SIZE, "x"), 2: (SIZE, "dot.1"), 3: (SIZE, "add.1")},
    [
        {"size": SIZE, "is_entry_computation_parameter": 1, "buffers": [1]},
        {"size": SIZE, "buffers": [2]},
        {"size": SIZE, "maybe_live_out": 1, "buffers": [3]},
    ],
    [(0, 2, 0), (1, 2, 0)],
)
PLANE = metadata_plane(("jit_f", 7, program("jit_f", ENTRY, memory=MEMORY)))


def kernel(op: str, start: float, duration: float) -> Event:
    return Event(f"k_{op}", start, duration, {"hlo_op": op, "program_id": u(7)})


def profile(*planes: Any) -> Profile:
    return Profile("s", (Host("h", decode(space(*planes))),))


def on_gpu() -> Profile:
    return profile(PLANE, gpu(0, stream(1, kernel("dot.1", 0, 10), kernel("add.1", 20, 20))))


def on_cpu() -> Profile:
    thread = line("tf_XLAEigen", kernel("dot.1", 0, 10), kernel("add.1", 20, 20))
    return profile(PLANE, host(thread))


def check_contract(tool: Tool) -> None:
    """It answers in plain JSON on GPU and CPU, and says what to record where there is nothing."""
    for made in (on_gpu(), on_cpu()):
        assert tool.available(made) is None
        body = tool.run(made, tool.options()).to_dict()
        assert json.loads(json.dumps(body, allow_nan=False))["tool"] == tool.id
    reason = tool.available(profile(environment(profile_start_time=1)))
    assert reason is not None
    assert reason.missing.endswith(".")
    assert "Record" in reason.record
