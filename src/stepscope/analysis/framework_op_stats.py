"""Framework op stats: self and total time of every framework op, on host and device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from stepscope.registry import Help
from stepscope.result import Column, Result, Row, Table


class OpRow(Row):
    """One framework op (or op type), on host or device."""

    rank: Annotated[int, Column("Rank", kind="rank")]
    host_or_device: Annotated[str, Column("Where", kind="category")]
    type: Annotated[str, Column("Type", kind="category")]
    operation: Annotated[str, Column("Operation", kind="name")]
    occurrences: Annotated[int, Column("Occurrences", kind="count")]
    total_time_us: Annotated[float, Column("Total time", unit="µs", kind="time", help="Includes child ops.")]
    avg_time_us: Annotated[float, Column("Average time", unit="µs", kind="time")]
    self_time_us: Annotated[float, Column("Self time", unit="µs", kind="time", sort="desc")]
    avg_self_time_us: Annotated[float, Column("Average self time", unit="µs", kind="time")]
    device_self_time_frac: Annotated[float, Column("Share of device self time", unit="%", kind="ratio")]
    device_cumulative_frac: Annotated[float, Column("Device cumulative", unit="%", kind="ratio")]
    host_self_time_frac: Annotated[float, Column("Share of host self time", unit="%", kind="ratio")]
    host_cumulative_frac: Annotated[float, Column("Host cumulative", unit="%", kind="ratio")]
    flop_rate_gflops: Annotated[float, Column("FLOP rate", unit="GFLOP/s", kind="rate")]
    memory_bw_gibps: Annotated[float, Column("Memory bandwidth", unit="GiB/s", kind="rate")]
    operational_intensity: Annotated[float, Column("Operational intensity", unit="FLOP/B", kind="rate")]
    tensor_core_frac: Annotated[float, Column("Tensor-core share", unit="%", kind="ratio")]
    bound_by: Annotated[str, Column("Bound by", kind="category")]
    eager: Annotated[str, Column("Execution", kind="category", help='"Eager" or "Function".')]


@dataclass(frozen=True, slots=True)
class Options:
    """Options of framework_op_stats."""

    group_by: Annotated[Literal["op", "type"], Help("Rows: one per op, or one per op type.")] = "op"
    where: Annotated[Literal["both", "host", "device"], Help("Ops of the host, the device or both.")] = "both"
    include_idle: Annotated[bool, Help("Add a row for idle time and count it in the shares.")] = False


@dataclass(frozen=True, slots=True)
class SideTotals:
    """Totals of one side (host or device), in µs."""

    op_time_us: float
    idle_time_us: float
    op_count: int
    distinct_ops: int


@dataclass(frozen=True, kw_only=True)
class FrameworkOpStats(Result):
    """Every framework op with its self and total time, on the host and on the device.

    Attributes:
        ops: The rows, host and device, by self time. No cap.
        host, device: Totals the shares refer to.
        device_type: What the device rows ran on.
        task_type: "Training", "Inference" or "Unknown".
    """

    tool = "framework_op_stats"
    ops: Table[OpRow]
    host: SideTotals
    device: SideTotals
    device_type: str
    task_type: str
