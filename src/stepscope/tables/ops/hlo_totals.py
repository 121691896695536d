"""Device-level ops in sum: runs, time, FLOPs and bytes per op, over devices and hosts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import rows_by_key, sum_by_key, union_spans
from stepscope.columns.space import I64, Bool
from stepscope.records import dataclass, replace
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.time_spans import TimeSpans, mean_ps
from stepscope.tables.ops.hlo_ops import HloOp, HloOpEvents, hlo_op_events

F64 = NDArray[np.float64]
COST_FIELDS = (
    "model_flops",
    "flops",
    "bytes",
    "hbm_bytes",
    "on_chip_read_bytes",
    "on_chip_write_bytes",
    "fp32_flops",
    "tf32_flops",
)
_TIME_FIELDS = ("runs", "total_ps", "self_ps", "dma_stall_ps")


@dataclass(frozen=True, eq=False, slots=True)
class HloTotals:
    """One row per device-level op.

    Attributes:
        ops: What the ops are.
        runs: How often each ran, over all devices.
        total_ps, self_ps: Σ duration and Σ duration without nested ops.
        dma_stall_ps: Σ time stalled by copies.
        model_flops, flops, bytes, hbm_bytes, on_chip_read_bytes, on_chip_write_bytes,
        fp32_flops, tf32_flops: Cost of all runs (see ``run_cost.RunCost``), NaN where unknown.
        idle_ps: Σ over devices of the time between first and last op without any op.
        wall_ps: Σ over devices of that whole time; less than ops and idle time together where ops
            of several streams run at once.
        device_count: Devices that ran something.
        on_device: False when these are ops of the CPU.
    """

    ops: list[HloOp]
    runs: I64 | F64
    total_ps: I64
    self_ps: I64
    dma_stall_ps: I64
    model_flops: F64
    flops: F64
    bytes: F64
    hbm_bytes: F64
    on_chip_read_bytes: F64
    on_chip_write_bytes: F64
    fp32_flops: F64
    tf32_flops: F64
    idle_ps: int
    wall_ps: int
    device_count: int
    on_device: bool

    def __len__(self) -> int:
        return len(self.ops)

    @property
    def op_time_ps(self) -> int:
        """Σ self time."""
        return int(self.self_ps.sum())

    def over(self, steps: int) -> HloTotals:
        """The totals of the mean of so many steps."""
        changed: dict[str, Any] = {
            name: getattr(self, name) / steps for name in ("runs", *COST_FIELDS)
        }
        times = ("total_ps", "self_ps", "dma_stall_ps", "idle_ps", "wall_ps")
        changed |= {name: mean_ps(getattr(self, name), steps) for name in times}
        return replace(self, **changed)

    @property
    def is_innermost(self) -> Bool:
        """Ops that do work themselves rather than enclose others."""
        return np.asarray([not op.is_container for op in self.ops], dtype=bool)

    def order(self) -> I64:
        """Rows by self time, largest first, then by program and name."""
        by_name = sorted(range(len(self)), key=lambda row: self.ops[row].key)
        rank = np.empty(len(self), dtype=np.int64)
        rank[by_name] = np.arange(len(self))
        ordered: I64 = np.lexsort((rank, -self.self_ps)).astype(np.int64)
        return ordered


@derived
def hlo_totals(host: Host) -> HloTotals:
    """The device-level ops of one host in sum."""
    events = hlo_op_events(host)
    return total(events, np.ones(len(events), dtype=bool))


def total(events: HloOpEvents, select: Bool, spans: TimeSpans | None = None) -> HloTotals:
    """Sums over some of a host's op events; idle is within ``spans``, where there are any."""
    size = len(events.ops)
    op = events.op[select]
    runs = np.bincount(op[events.is_run[select]], minlength=size).astype(np.int64)
    costs: dict[str, Any] = {
        name: np.asarray([getattr(cost, name) for cost in events.costs], dtype=np.float64) * runs
        for name in COST_FIELDS
    }
    idle, wall, devices = _idle(events, select)
    if spans is not None:
        idle, wall = spans.idle_and_wall(events.device, events.start_ps, events.duration_ps)
    return HloTotals(
        ops=events.ops,
        runs=runs,
        total_ps=sum_by_key(op, events.duration_ps[select], size),
        self_ps=sum_by_key(op, events.self_ps[select], size),
        dma_stall_ps=sum_by_key(op, events.dma_stall_ps[select], size),
        idle_ps=idle,
        wall_ps=wall,
        device_count=devices,
        on_device=events.on_device,
        **costs,
    )


def _idle(events: HloOpEvents, select: Bool) -> tuple[int, int, int]:
    """Σ over devices of (span less union of op events) and of the span, and how many devices."""
    idle, wall, chosen = 0, 0, np.flatnonzero(select)
    found = rows_by_key(events.device[chosen])
    for rows in found.values():
        own = chosen[rows]
        start = events.own_start_ps[own]
        begin, end = union_spans(start, start + events.duration_ps[own])
        if len(begin):
            span = int(end[-1] - begin[0])
            idle, wall = idle + span - int((end - begin).sum()), wall + span
    return idle, wall, len(found)


def hlo_totals_within(host: Host, spans: TimeSpans) -> HloTotals:
    """The device-level ops of one host that begin in the spans; idle is in them."""
    events = hlo_op_events(host)
    return total(events, spans.hold(events.start_ps), spans)


def merge(parts: list[HloTotals]) -> HloTotals:
    """Totals of several hosts as one."""
    index: dict[tuple[str, str, str, str], int] = {}
    ops: list[HloOp] = []
    key: list[int] = []
    for part in parts:
        for op in part.ops:
            if op.key not in index:
                index[op.key] = len(ops)
                ops.append(op)
            key.append(index[op.key])
    keys, size = np.asarray(key, dtype=np.int64), len(ops)

    def column(name: str) -> np.ndarray:
        found = [getattr(part, name) for part in parts]
        return np.concatenate(found) if found else np.zeros(0)

    sums: dict[str, Any] = {
        name: sum_by_key(keys, column(name).astype(np.int64), size) for name in _TIME_FIELDS
    }
    sums |= {name: _known_sum(keys, column(name), size) for name in COST_FIELDS}
    return HloTotals(
        ops=ops,
        idle_ps=sum(part.idle_ps for part in parts),
        wall_ps=sum(part.wall_ps for part in parts),
        device_count=sum(part.device_count for part in parts),
        on_device=any(part.on_device for part in parts),
        **sums,
    )


def _known_sum(key: I64, values: F64, size: int) -> F64:
    """Σ of the known values per key; NaN where none is known."""
    has = ~np.isnan(values)
    summed: F64 = np.bincount(key[has], weights=values[has], minlength=size).astype(np.float64)
    summed[np.bincount(key[has], minlength=size) == 0] = np.nan
    return summed
