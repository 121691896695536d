"""Framework op stats: self and total time of every framework op, on host and device."""

from __future__ import annotations

from itertools import accumulate
from math import nan
from typing import Annotated, Any, Literal

import numpy as np

from stepscope.records import dataclass, replace
from stepscope.registry import Help, Tool
from stepscope.result import Column, Result, Row, Table, columns_of, us
from stepscope.tables.core.devices import devices
from stepscope.tables.core.profile import Profile
from stepscope.tables.device.events import has_device_events
from stepscope.tables.ops.framework_totals import (
    OpTotals,
    merge_totals,
)
from stepscope.tables.ops.layers import layers
from stepscope.tables.recording.environment import environment
from stepscope.tables.sums.framework_ops import session_device_ops, session_host_ops

IDLE = "IDLE"


class OpRow(Row):
    """One framework op (or op type), on host or device."""

    rank: Annotated[int, Column("Rank", kind="rank")]
    host_or_device: Annotated[str, Column("Where", kind="category")]
    type: Annotated[str, Column("Type", kind="category")]
    operation: Annotated[str, Column("Operation", kind="name")]
    occurrences: Annotated[
        float,
        Column(
            "Occurrences",
            kind="count",
            help="Events with the op's name, as XProf counts them (allocator events too).",
        ),
    ]
    executions: Annotated[
        float, Column("Executions", kind="count", help="Number of runs; the base of averages.")
    ]
    total_time_us: Annotated[
        float, Column("Total time", unit="µs", kind="time", help="Time with child ops.")
    ]
    avg_time_us: Annotated[float, Column("Average time", unit="µs", kind="time")]
    self_time_us: Annotated[float, Column("Self time", unit="µs", kind="time", sort="desc")]
    avg_self_time_us: Annotated[float, Column("Average self time", unit="µs", kind="time")]
    device_self_time_frac: Annotated[
        float, Column("Share of device self time", unit="%", kind="ratio")
    ]
    device_cumulative_frac: Annotated[float, Column("Device cumulative", unit="%", kind="ratio")]
    host_self_time_frac: Annotated[float, Column("Share of host self time", unit="%", kind="ratio")]
    host_cumulative_frac: Annotated[float, Column("Host cumulative", unit="%", kind="ratio")]
    flop_rate_gflops: Annotated[float, Column("FLOP rate", unit="GFLOP/s", kind="rate")]
    memory_bw_gbps: Annotated[float, Column("Memory bandwidth", unit="GB/s", kind="rate")]
    operational_intensity: Annotated[
        float, Column("Operational intensity", unit="FLOP/B", kind="rate")
    ]
    tensor_core_frac: Annotated[float, Column("Tensor-core share", unit="%", kind="ratio")]
    eager: Annotated[str, Column("Execution", kind="category", help='"Eager" or "Function".')]


class LayerRow(Row):
    """One layer of a model, or what else the program gives a name to: its ops and gradients."""

    host_or_device: Annotated[str, Column("Where", kind="category")]
    layer: Annotated[str, Column("Layer", kind="name", help="Path in the names of its ops.")]
    mostly: Annotated[str, Column("Mostly", kind="category", help="Op type with the most time.")]
    self_time_us: Annotated[float, Column("Self time", unit="µs", kind="time", sort="desc")]
    self_time_frac: Annotated[
        float, Column("Share", unit="%", kind="ratio", help="Share of the self time of all ops.")
    ]


@dataclass(frozen=True, slots=True)
class Options:
    """Options of framework_op_stats."""

    group_by: Annotated[Literal["op", "type"], Help("Rows: one per op, or one per op type.")] = "op"
    where: Annotated[
        Literal["both", "host", "device"], Help("Ops of the host, the device or both.")
    ] = "both"
    include_idle: Annotated[bool, Help("Add a row for idle time and count it in the shares.")] = (
        False
    )


@dataclass(frozen=True, slots=True)
class SideTotals:
    """Totals of one side (host or device), in µs.

    Attributes:
        op_time_us: Self time of all ops.
        idle_time_us: Time without any op.
        op_count: Number of op runs.
        distinct_ops: Number of different op names.
    """

    op_time_us: float
    idle_time_us: float
    op_count: float
    distinct_ops: int


@dataclass(frozen=True, kw_only=True)
class FrameworkOpStats(Result):
    """Every framework op with its self and total time, on the host and on the device.

    Attributes:
        ops: Host and device ops, by self time.
        layers: Layers, from the paths of op names: the first level at which the time divides.
        host: Totals of the host, the base of its shares.
        device: Totals of the device, the base of its shares.
        device_type: Hardware of the device rows.
        task_type: "Training", "Inference" or "Unknown".
    """

    tool = "framework_op_stats"
    ops: Table[OpRow]
    layers: Table[LayerRow]
    host: SideTotals
    device: SideTotals
    device_type: str
    task_type: str


def framework_op_stats(profile: Profile, options: Options = Options()) -> FrameworkOpStats:
    """Self and total time of every framework op of the profile."""
    sides = {"Device": session_device_ops(profile), "Host": session_host_ops(profile)}
    blocks = [
        _rows(side, _type_totals(totals) if options.group_by == "type" else totals, options)
        for side, totals in sides.items()
        if options.where in ("both", side.lower())
    ]
    columns = {
        name: [value for block in blocks for value in block.get(name, ())]
        for name in columns_of(OpRow)
    }
    columns["rank"] = list(range(1, len(columns["operation"]) + 1))
    types = dict.fromkeys(d.type for host in profile.hosts for d in devices(host) if d.has_events)
    training = [environment(host).is_training for host in profile.hosts]
    return FrameworkOpStats(
        ops=Table(OpRow, columns),
        layers=_layers(
            {
                side: totals
                for side, totals in sides.items()
                if options.where in ("both", side.lower())
            }
        ),
        host=_side_totals(sides["Host"]),
        device=_side_totals(sides["Device"]),
        device_type=", ".join(types) or "CPU",
        task_type="Training" if any(training) else "Inference" if False in training else "Unknown",
    )


def _layers(sides: dict[str, OpTotals]) -> Table[LayerRow]:
    found = [(side, one) for side, totals in sides.items() for one in layers(totals)]
    return Table(
        LayerRow,
        {
            "host_or_device": [side for side, _one in found],
            "layer": [one.name for _side, one in found],
            "mostly": [one.mostly for _side, one in found],
            "self_time_us": [us(one.self_ps) for _side, one in found],
            "self_time_frac": [one.self_ps / sides[side].op_time_ps for side, one in found],
        },
    )


def _side_totals(totals: OpTotals) -> SideTotals:
    return SideTotals(
        op_time_us=us(totals.op_time_ps),
        idle_time_us=us(totals.idle_ps),
        op_count=totals.executions.sum().item(),
        distinct_ops=int(np.count_nonzero(totals.executions)),
    )


def _type_totals(totals: OpTotals) -> OpTotals:
    """The same totals with one row per op type."""
    return merge_totals([replace(totals, name=list(totals.type))])


def _rows(side: str, totals: OpTotals, options: Options) -> dict[str, list[Any]]:
    """The columns of one side, largest self time first (ties by name, as the incumbent)."""
    idle = totals.idle_ps if options.include_idle else 0
    whole = totals.op_time_ps + idle
    # Of the steps alone, ops that ran outside of them have nothing to say.
    order = sorted(
        np.flatnonzero(totals.occurrences).tolist(),
        key=lambda row: (-int(totals.self_ps[row]), totals.name[row]),
    )
    table = _op_columns(side, totals, order)
    if options.include_idle and (len(totals) or idle):
        row = _idle_row(side, idle)
        place = sum(time >= row["self_time_us"] for time in table["self_time_us"])
        for name, values in table.items():
            values.insert(place, row[name])
    shares = [time / us(whole) if whole else 0.0 for time in table["self_time_us"]]
    own, other = ("device", "host") if side == "Device" else ("host", "device")
    # Where the other side was not asked for, its shares are not 0.
    none = 0.0 if options.where == "both" else nan
    return table | {
        f"{own}_self_time_frac": shares,
        f"{own}_cumulative_frac": [min(running, 1.0) for running in accumulate(shares)],
        f"{other}_self_time_frac": [none] * len(shares),
        f"{other}_cumulative_frac": [none] * len(shares),
    }


def _op_columns(side: str, totals: OpTotals, order: list[int]) -> dict[str, list[Any]]:
    """The columns of these rows, but the shares."""
    executions = totals.executions[order]
    runs = np.where(executions == 0, 1, executions)
    self_ps = totals.self_ps[order]
    self_us, total_us = self_ps / 1e6, totals.total_ps[order] / 1e6
    flops, accessed = totals.flops[order], totals.bytes_accessed[order]
    with np.errstate(divide="ignore", invalid="ignore"):
        seconds = np.where(self_ps == 0, nan, self_ps / 1e12)
        tensor_core_frac = totals.tensor_core_ps[order] / np.where(self_ps == 0, nan, self_ps)
        intensity = flops / np.where(accessed == 0, nan, accessed)
    if side != "Device":
        tensor_core_frac = np.full(len(order), nan)
    return {
        "host_or_device": [side] * len(order),
        "type": [totals.type[row] or "Unknown" for row in order],
        "operation": [totals.name[row] for row in order],
        "occurrences": totals.occurrences[order].tolist(),
        "executions": executions.tolist(),
        "total_time_us": total_us.tolist(),
        "avg_time_us": (total_us / runs).tolist(),
        "self_time_us": self_us.tolist(),
        "avg_self_time_us": (self_us / runs).tolist(),
        "flop_rate_gflops": (flops / seconds / 1e9).tolist(),
        "memory_bw_gbps": (accessed / seconds / 1e9).tolist(),
        "operational_intensity": intensity.tolist(),
        "tensor_core_frac": tensor_core_frac.tolist(),
        "eager": ["Eager" if eager else "Function" for eager in totals.eager[order].tolist()],
    }


def _idle_row(side: str, idle_ps: int) -> dict[str, Any]:
    return {
        "host_or_device": side,
        "type": IDLE,
        "operation": IDLE,
        "occurrences": 0,
        "executions": 0,
        "total_time_us": us(idle_ps),
        "avg_time_us": 0.0,
        "self_time_us": us(idle_ps),
        "avg_self_time_us": 0.0,
        "flop_rate_gflops": nan,
        "memory_bw_gbps": nan,
        "operational_intensity": nan,
        "tensor_core_frac": nan,
        "eager": "",
    }


TOOL = Tool(
    id="framework_op_stats",
    short="op_stats",
    title="Framework Ops",
    tab="Table",
    run=framework_op_stats,
    options=Options,
    result=FrameworkOpStats,
    times_of=("recording", "step"),
    # Host and device in one order compare what runs at once; the device's is what a step waits for.
    opens=lambda profile: {"where": "device"} if any(map(has_device_events, profile.hosts)) else {},
)
