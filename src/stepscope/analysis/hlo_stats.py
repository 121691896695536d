"""HLO stats: every compiled op with its time, cost and the resource that bounds it."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from stepscope.columns.space import I64
from stepscope.quantities import share_words
from stepscope.records import dataclass
from stepscope.registry import Tool
from stepscope.result import Column, Result, Row, Table, us
from stepscope.schema import names
from stepscope.tables.core.presence import stat_rows
from stepscope.tables.core.profile import Profile
from stepscope.tables.ops.device_peaks import active_peaks
from stepscope.tables.ops.hlo_totals import HloTotals
from stepscope.tables.ops.roofline import F64, rates_of
from stepscope.tables.sums.hlo_ops import profile_totals


class HloRow(Row):
    """One HLO op of one program."""

    rank: Annotated[int, Column("Rank", kind="rank")]
    program: Annotated[str, Column("Program", kind="category", help="Module name and program id.")]
    program_id: Annotated[str, Column("Program id", kind="text", hidden=True)]
    category: Annotated[str, Column("Category", kind="category")]
    hlo_op: Annotated[str, Column("HLO op", kind="name")]
    expression: Annotated[str, Column("HLO text", kind="text", hidden=True)]
    framework_op: Annotated[str, Column("Framework op", kind="name")]
    occurrences: Annotated[
        float,
        Column(
            "Occurrences",
            kind="count",
            help="Runs over all devices; an op of several kernels runs as often as the most "
            "frequent of them.",
        ),
    ]
    total_time_us: Annotated[
        float, Column("Total time", unit="µs", kind="time", help="Time with nested ops.")
    ]
    avg_time_us: Annotated[float, Column("Average time", unit="µs", kind="time")]
    self_time_us: Annotated[float, Column("Self time", unit="µs", kind="time", sort="desc")]
    avg_self_time_us: Annotated[float, Column("Average self time", unit="µs", kind="time")]
    self_time_frac: Annotated[
        float,
        Column(
            "Share of device time",
            unit="%",
            kind="ratio",
            help="Share of device time; idle time counts.",
        ),
    ]
    cumulative_frac: Annotated[float, Column("Cumulative", unit="%", kind="ratio")]
    dma_stall_frac: Annotated[float, Column("Stalled by copies", unit="%", kind="ratio")]
    model_flop_rate_gflops: Annotated[
        float, Column("Model FLOP rate", unit="GFLOP/s", kind="rate", hidden=True)
    ]
    flop_rate_gflops: Annotated[
        float,
        Column(
            "FLOP rate",
            unit="GFLOP/s",
            kind="rate",
            help="8-bit work counts half, 4-bit work a quarter: comparable with the device's peak.",
        ),
    ]
    memory_bw_gbps: Annotated[float, Column("Memory bandwidth", unit="GB/s", kind="rate")]
    hbm_bw_gbps: Annotated[float, Column("HBM bandwidth", unit="GB/s", kind="rate")]
    on_chip_read_bw_gbps: Annotated[
        float, Column("On-chip read", unit="GB/s", kind="rate", hidden=True)
    ]
    on_chip_write_bw_gbps: Annotated[
        float, Column("On-chip write", unit="GB/s", kind="rate", hidden=True)
    ]
    operational_intensity: Annotated[
        float, Column("Operational intensity", unit="FLOP/B", kind="rate")
    ]
    bound_by: Annotated[str, Column("Bound by", kind="category")]
    flop_utilisation_frac: Annotated[float, Column("FLOP utilisation", unit="%", kind="ratio")]
    rematerialised: Annotated[
        bool,
        Column("Rematerialised", kind="flag", help="Whether it recomputes a value to save memory."),
    ]
    outside_compilation: Annotated[bool, Column("Outside compilation", kind="flag", hidden=True)]
    autotuned: Annotated[bool, Column("Autotuned", kind="flag", hidden=True)]
    source: Annotated[str, Column("Source", kind="text")]
    source_stack: Annotated[str, Column("Source stack", kind="text", hidden=True)]
    core_type: Annotated[str, Column("Core", kind="category", hidden=True)]
    deduplicated_name: Annotated[
        str, Column("Copy of", kind="name", hidden=True, help="Op of which this one is a copy.")
    ]


class CategoryRow(Row):
    """One category of HLO ops."""

    category: Annotated[str, Column("Category", kind="category")]
    ops: Annotated[int, Column("Ops", kind="count")]
    occurrences: Annotated[float, Column("Occurrences", kind="count")]
    self_time_us: Annotated[float, Column("Self time", unit="µs", kind="time", sort="desc")]
    self_time_frac: Annotated[float, Column("Share of op time", unit="%", kind="ratio")]


@dataclass(frozen=True, slots=True)
class Options:
    """Options of hlo_stats."""


@dataclass(frozen=True, kw_only=True)
class HloStats(Result):
    """Every HLO op with its time, FLOP rate, bandwidth and what bounds it.

    Attributes:
        headline: The category with most time, in one sentence.
        ops: HLO ops, by self time.
        categories: Self time by category.
        rematerialised: Time in ops that recompute values, and in all others.
        op_time_us: Self time of all device ops, HLO ops or not.
        other_time_us: Time of kernels that XLA did not compile.
        idle_time_us: Time between ops, summed over devices.
        device_type: Hardware that ran the ops.
    """

    tool = "hlo_stats"
    headline: str
    ops: Table[HloRow]
    categories: Table[CategoryRow]
    rematerialised: Table[CategoryRow]
    op_time_us: float
    other_time_us: float
    idle_time_us: float
    device_type: str


def hlo_stats(profile: Profile, options: Options = Options()) -> HloStats:
    """Time and cost of every HLO op of the profile."""
    totals = profile_totals(profile)
    is_hlo = np.asarray([op.is_hlo for op in totals.ops], dtype=bool)
    order = totals.order()
    order = order[is_hlo[order] & (totals.runs[order] > 0)] if len(order) else order
    peaks = active_peaks(profile)
    by_category = [totals.ops[row].category for row in order.tolist()]
    again = [
        "Rematerialised" if totals.ops[row].rematerialised else "Not rematerialised"
        for row in order.tolist()
    ]
    stalled = _stalled(profile, totals, order)
    categories = _grouped(totals, order, by_category)
    return HloStats(
        headline=_headline(categories),
        ops=Table(HloRow, _columns(totals, order, rates_of(totals, peaks.peaks), stalled)),
        categories=categories,
        rematerialised=_grouped(totals, order, again),
        op_time_us=us(totals.op_time_ps),
        other_time_us=us(int(totals.self_ps[~is_hlo].sum())) if len(totals) else 0.0,
        idle_time_us=us(totals.idle_ps),
        device_type=peaks.device_type,
    )


def _headline(categories: Table[CategoryRow]) -> str:
    first = max(categories.rows(), key=lambda row: row["self_time_us"], default=None)
    if first is None:
        return "No HLO op ran."
    return f"{share_words(first['self_time_frac'])} of the time of HLO ops is {first['category']}."


def _stalled(profile: Profile, totals: HloTotals, order: I64) -> F64:
    """Share of each op's time in which it waited for copies; NaN where no host records that."""
    if not any(names.DMA_STALL_PS in stat_rows(host) for host in profile.hosts):
        return np.full(len(order), np.nan)
    share: F64 = totals.dma_stall_ps[order] / np.maximum(totals.total_ps[order], 1)
    return share


def _columns(totals: HloTotals, order: I64, rates: Any, stalled: F64) -> dict[str, Any]:
    ops = [totals.ops[row] for row in order.tolist()]
    runs = totals.runs[order]
    total_us, self_us = totals.total_ps[order] / 1e6, totals.self_ps[order] / 1e6
    whole = us(totals.op_time_ps + totals.idle_ps)
    share = self_us / whole if whole else np.zeros(len(order))
    return {
        "rank": np.arange(1, len(order) + 1),
        "program": [op.program for op in ops],
        "program_id": [str(op.program_id) for op in ops],
        "category": [op.category for op in ops],
        "hlo_op": [op.name for op in ops],
        "expression": [op.expression for op in ops],
        "framework_op": [op.framework_op for op in ops],
        "occurrences": runs,
        "total_time_us": total_us,
        "avg_time_us": total_us / runs,
        "self_time_us": self_us,
        "avg_self_time_us": self_us / runs,
        "self_time_frac": share,
        "cumulative_frac": np.minimum(np.cumsum(share), 1.0),
        "dma_stall_frac": stalled,
        "model_flop_rate_gflops": rates.model_gflops[order],
        "flop_rate_gflops": rates.gflops[order],
        "memory_bw_gbps": rates.gbps[order],
        "hbm_bw_gbps": rates.hbm_gbps[order],
        "on_chip_read_bw_gbps": rates.on_chip_read_gbps[order],
        "on_chip_write_bw_gbps": rates.on_chip_write_gbps[order],
        "operational_intensity": rates.intensity[order],
        "bound_by": [rates.bound_by[row] for row in order.tolist()],
        "flop_utilisation_frac": rates.flop_frac[order],
        "rematerialised": [op.rematerialised for op in ops],
        "outside_compilation": [op.outside_compilation for op in ops],
        "autotuned": [op.autotuned for op in ops],
        "source": [op.source for op in ops],
        "source_stack": [op.source_stack for op in ops],
        "core_type": [op.core_type for op in ops],
        "deduplicated_name": [op.deduplicated_name for op in ops],
    }


def _grouped(totals: HloTotals, order: np.ndarray, labels: list[str]) -> Table[CategoryRow]:
    """Self time of the ordered ops by label, largest first."""
    sums: dict[str, list[float]] = {}
    for row, label in zip(order.tolist(), labels, strict=True):
        entry = sums.setdefault(label, [0, 0, 0])
        entry[0] += 1
        entry[1] += totals.runs[row].item()
        entry[2] += int(totals.self_ps[row])
    whole = sum(entry[2] for entry in sums.values())
    found = sorted(sums.items(), key=lambda item: (-item[1][2], item[0]))
    return Table(
        CategoryRow,
        {
            "category": [label for label, _ in found],
            "ops": [entry[0] for _, entry in found],
            "occurrences": [entry[1] for _, entry in found],
            "self_time_us": [us(entry[2]) for _, entry in found],
            "self_time_frac": [entry[2] / whole if whole else 0.0 for _, entry in found],
        },
    )


TOOL = Tool(
    id="hlo_stats",
    short="hlo",
    title="HLO Ops",
    tab="Table",
    run=hlo_stats,
    options=Options,
    result=HloStats,
    times_of=("recording", "step"),
)
