"""Small PyTorch traces of one rank of four, two by two in groups of tensor parallelism."""

from __future__ import annotations

import json
from typing import Any

from stepscope.formats.kineto.open_trace import open_trace
from stepscope.tables.core.profile import Host

STEP_US = 10_000
STEPS = 3


def trace(
    rank: int, *, numbered: bool = True, grouped: bool = True, warm_up_us: float = 0.0
) -> dict[str, Any]:
    """Each step: 2 ms gemm, 1 ms all-reduce of two ranks, 3 ms gemm, 2 ms all-gather of all.

    The first step lasts ``warm_up_us`` longer, at its end.
    """
    pair = [rank // 2 * 2, rank // 2 * 2 + 1]
    events: list[dict[str, Any]] = []

    def add(name: str, category: str, start: float, length: float, **args: object) -> None:
        track = {"pid": 1, "tid": 1} if category != "kernel" else {"pid": 0, "tid": 7}
        times = {"ts": 1e9 + start, "dur": length}
        events.append({"ph": "X", "cat": category, "name": name, "args": args, **track, **times})

    def meet(name: str, said: str, start: float, length: float, ranks: list[int], n: int) -> None:
        group = {
            "Collective name": said,
            "Process Group Name": f"pg{ranks[0]}_{len(ranks)}",
            "Process Group Description": "mesh_tp" if len(ranks) == 2 else "default_pg",
            "Process Group Ranks": str(ranks),
            "Group size": len(ranks),
        }
        args: dict[str, object] = {"device": 0, "stream": 7, "correlation": 1}
        if grouped:
            args |= group | ({"Seq": n} if numbered else {})
        add(name, "kernel", start, length, **args)

    for step in range(STEPS):
        at = step * STEP_US + (warm_up_us if step else 0.0)
        length = STEP_US + (0.0 if step else warm_up_us)
        add(f"ProfilerStep#{step}", "user_annotation", at, length)
        add("gemm", "kernel", at + 100, 2000, device=0, stream=7, correlation=2)
        meet("ncclDevKernel_AllReduce_Sum_f32", "allreduce", at + 2200, 1000, pair, 10 + step)
        add("gemm", "kernel", at + 3300, 3000, device=0, stream=7, correlation=3)
        world = [0, 1, 2, 3]
        meet("ncclDevKernel_AllGather", "_allgather_base", at + 6400, 2000, world, 20 + step)
    return {"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": 4}} | {
        "traceEvents": events
    }


def host_of(found: dict[str, Any], name: str) -> Host:
    """The decoded trace."""
    return Host(name, open_trace([json.dumps(found).encode()], file=f"{name}.json"))
