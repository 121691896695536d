"""Jobs of many devices whose links or stages are at fault: PyTorch's traces of a simulated job."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from bench.pods.faults import FAULTS
from bench.pods.job import Event, Layout, Run, Simulation
from stepscope.formats.kineto.open_trace import open_trace
from stepscope.formats.xspace.encode import encode
from tests.labelled import Labelled

GEMM: Final = "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_nn>"
_NAMES: Final = {
    "send_recv": "ncclDevKernel_SendRecv",
    "reduce_scatter": "ncclDevKernel_ReduceScatter_Sum_bf16",
    "all_gather": "ncclDevKernel_AllGather",
}
# Four stages of four replicas, a device a host.
PIPELINE: Final = Layout(4, 4, 1, devices=1, layers=2, batches=4, steps=6)
_SEED: Final = 3


def recordings(
    fault: str, size: float, layout: Layout = PIPELINE
) -> Callable[[], dict[str, bytes]]:
    """XSpace bytes by rank of a job with a fault of ``bench.pods.faults``."""

    def build() -> dict[str, bytes]:
        made, _ = FAULTS[fault](layout, size, np.random.default_rng(_SEED))
        run = Simulation(layout, made, _SEED).simulate()
        return {
            f"rank{rank}": encode(open_trace([_trace(run, rank)], file=f"rank{rank}.json"))
            for rank in range(layout.world)
        }

    return build


def _trace(run: Run, rank: int) -> bytes:
    layout = run.layout
    stage, replica, _ = np.unravel_index(rank, layout.shape)
    mine = [one for one in run.events if one.stage == stage]
    begin = [float(one[stage, replica, 0]) for one in run.begin]
    events = [
        _event(f"ProfilerStep#{step}", "user_annotation", (1, 1), begin[step], begin[step + 1])
        for step in range(layout.steps)
    ]
    events += _kernels(mine, int(replica), begin[0])
    said = {"rank": rank, "world_size": layout.world}
    text = {"schemaVersion": 1, "distributedInfo": said, "traceEvents": events}
    return json.dumps(text).encode()


def _kernels(met: list[Event], replica: int, begin: float) -> Iterator[dict[str, Any]]:
    """Collectives in order of time, and products in all the time between those it stands for."""
    last = begin
    for one in sorted(met, key=lambda one: float(one.start[replica, 0])):
        start, end = float(one.start[replica, 0]), float(one.end[replica, 0])
        group = int(one.group[replica, 0])
        args = {
            "Collective name": one.kind,
            "Process Group Name": f"{one.kind}{group}",
            "Process Group Description": "pipeline" if one.kind == "send_recv" else "data",
            "Process Group Ranks": f"[{group}, ...]",
            "Group size": 2 if one.kind == "send_recv" else one.group.size,
            "Seq": one.number,
        }
        stands = bool(one.exposed[replica, 0] > 0)
        if stands:
            yield _event(GEMM, "kernel", (0, 7), last, start)
            last = end
        yield _event(_NAMES[one.kind], "kernel", (0, 20 + (not stands)), start, end, **args)


def _event(
    name: str, category: str, track: tuple[int, int], start: float, end: float, **args: object
) -> dict[str, Any]:
    where = {"device": 0, "stream": track[1], "correlation": 1} if category == "kernel" else {}
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": track[0],
        "tid": track[1],
        "ts": 1e9 + start * 1e3,
        "dur": (end - start) * 1e3,
        "args": {**where, **args},
    }


PROFILES: tuple[Labelled, ...] = (
    Labelled("nccl_one_slow_link", "slow-link", recordings("nic_slow", 1.0)),
    Labelled("nccl_last_stage_has_more_to_do", "unequal-stages", recordings("last_stage", 0.9)),
)
