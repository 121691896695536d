"""Roofline: how close each op comes to what the device can compute and move."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np

from stepscope.columns.space import I64, Bool
from stepscope.errors import UsageError
from stepscope.panels import Figure, Headline, OwnChart, TableView
from stepscope.records import dataclass, replace
from stepscope.registry import Help, Tool
from stepscope.result import Column, Result, Row, Table, columns_of, us
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.ops.device_peaks import Peaks, active_peaks
from stepscope.tables.ops.hlo_ops import HloOp, HloOpEvents, hlo_op_events
from stepscope.tables.ops.hlo_totals import COST_FIELDS, HloTotals
from stepscope.tables.ops.roofline import (
    F64,
    UNKNOWN,
    Bound,
    OpRates,
    rates,
    rates_of,
    ridge,
)
from stepscope.tables.ops.torch_ops import used_peaks
from stepscope.tables.steps.attribution import HostSteps, found_steps
from stepscope.tables.sums.hlo_ops import profile_totals
from stepscope.verdicts.roofline import headline, unknown_limits

PROGRAM = "Program"
_FEEDS = ("infeed", "outfeed")


class RooflineRow(Row):
    """One op, or the whole program, on the roofline."""

    step: Annotated[
        str, Column("Step", kind="category", help='"Total", "Average" or a step number.')
    ]
    rank: Annotated[int, Column("Rank", kind="rank")]
    category: Annotated[str, Column("Category", kind="category")]
    operation: Annotated[str, Column("Operation", kind="name")]
    program: Annotated[str, Column("Program", kind="category", hidden=True)]
    occurrences: Annotated[float, Column("Occurrences", kind="count")]
    total_time_us: Annotated[float, Column("Total time", unit="µs", kind="time")]
    avg_time_us: Annotated[float, Column("Average time", unit="µs", kind="time")]
    self_time_us: Annotated[float, Column("Self time", unit="µs", kind="time", sort="desc")]
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
    time_per_device_us: Annotated[
        float, Column("Time per device", unit="µs", kind="time", hidden=True)
    ]
    flop_rate_gflops: Annotated[float, Column("FLOP rate", unit="GFLOP/s", kind="rate")]
    model_flop_rate_gflops: Annotated[
        float, Column("Model FLOP rate", unit="GFLOP/s", kind="rate", hidden=True)
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
    hbm_operational_intensity: Annotated[
        float, Column("HBM intensity", unit="FLOP/B", kind="rate", hidden=True)
    ]
    bottleneck_operational_intensity: Annotated[
        float,
        Column(
            "Bottleneck intensity",
            unit="FLOP/B",
            kind="rate",
            help="FLOPs per byte of the memory that bounds the op: its x position on the chart.",
        ),
    ]
    bound_by: Annotated[Bound, Column("Bound by", kind="category")]
    optimal_flop_rate_gflops: Annotated[
        float,
        Column(
            "Optimal FLOP rate",
            unit="GFLOP/s",
            kind="rate",
            help="FLOP rate with the bounding resource fully used.",
        ),
    ]
    roofline_efficiency_frac: Annotated[
        float,
        Column(
            "Roofline efficiency",
            unit="%",
            kind="ratio",
            help="Share of its limit, a memory or the FLOP peak of its type; above 100 % if "
            "Winograd, FFT or a cache saves work.",
        ),
    ]
    flop_utilisation_frac: Annotated[float, Column("FLOP rate / peak", unit="%", kind="ratio")]
    memory_utilisation_frac: Annotated[float, Column("Bandwidth / peak", unit="%", kind="ratio")]
    source: Annotated[str, Column("Source", kind="text", hidden=True)]


class RoofPoint(Row):
    """A corner of a roof: the achievable FLOP rate at an intensity."""

    memory: Annotated[str, Column("Memory", kind="category")]
    operational_intensity: Annotated[float, Column("Intensity", unit="FLOP/B", kind="rate")]
    flop_rate_gflops: Annotated[float, Column("FLOP rate", unit="GFLOP/s", kind="rate")]


class FlopPeak(Row):
    """The most that one device computes in a type of number."""

    data_type: Annotated[
        str,
        Column("Type", kind="category", help='"16-bit": bf16 or fp16, not known which.'),
    ]
    flop_rate_gflops: Annotated[float, Column("Peak", unit="GFLOP/s", kind="rate")]
    compute_time_frac: Annotated[
        float,
        Column(
            "Share of compute",
            unit="%",
            kind="ratio",
            help="Share of the device time with a known type.",
        ),
    ]


@dataclass(frozen=True, slots=True)
class RooflineDevice:
    """The device the roofs belong to; None where a limit is unknown.

    Attributes:
        peak_source: Source of the FLOP peak.
        hbm_ridge_flop_per_byte: Intensity above which compute, not main memory, is the limit.
        device_type: Model of the devices.
        device_count: Number of devices.
        peak_gflops: Peak FLOP rate of one device.
        peak_hbm_bw_gbps: Peak bandwidth of its main memory.
        peak_on_chip_read_bw_gbps: Peak read bandwidth of its on-chip memory.
        peak_on_chip_write_bw_gbps: Peak write bandwidth of its on-chip memory.
        on_chip_read_ridge_flop_per_byte: Intensity above which compute, not on-chip reads, is the
            limit.
        on_chip_write_ridge_flop_per_byte: Intensity above which compute, not on-chip writes, is the
            limit.
    """

    device_type: str
    device_count: int
    peak_gflops: float
    peak_hbm_bw_gbps: float
    peak_on_chip_read_bw_gbps: float
    peak_on_chip_write_bw_gbps: float
    hbm_ridge_flop_per_byte: float
    on_chip_read_ridge_flop_per_byte: float
    on_chip_write_ridge_flop_per_byte: float
    peak_source: str


@dataclass(frozen=True, slots=True)
class Options:
    """Options of roofline_model."""

    include_infeed_outfeed: Annotated[
        bool, Help("Count ops that feed data in or out, and their time.")
    ] = True
    peak_gflops: Annotated[
        float | None, Help("Peak FLOP rate of one device in GFLOP/s, if unknown.")
    ] = None
    peak_hbm_gbps: Annotated[
        float | None, Help("Peak memory bandwidth of one device in GB/s; from its name by default.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class RooflineModel(Result):
    """How close each op, and the whole program, comes to the device's roofline.

    Attributes:
        headline: Limit of the program, in one sentence.
        device: Limits of the devices.
        roofs: Corners of each memory's roof, for a chart.
        flop_peaks: Peak of each type that the devices compute in, fastest first; empty if unknown.
        programs: The whole program: in total, in the average step, and in each step.
        ops: Ops, by self time.
    """

    tool = "roofline_model"
    headline: str
    device: RooflineDevice
    roofs: Table[RoofPoint]
    flop_peaks: Table[FlopPeak]
    programs: Table[RooflineRow]
    ops: Table[RooflineRow]


def roofline_model(profile: Profile, options: Options = Options()) -> RooflineModel:
    """The roofline of the profile."""
    totals = profile_totals(profile)
    active = active_peaks(profile)
    peaks = _stated(active.peaks, options)
    whole_ps = totals.op_time_ps + totals.idle_ps
    if not options.include_infeed_outfeed:
        whole_ps -= int(totals.self_ps[~_counted(totals.ops, options)].sum())
    hosts = [host for host in profile.hosts if hlo_op_events(host).on_device == totals.on_device]
    rows = _total_row(totals, whole_ps, peaks, options) + _step_rows(hosts, peaks, options)
    return RooflineModel(
        headline=headline(rows[0], active.device_type),
        device=_device(active.device_type, totals.device_count, peaks),
        roofs=_roofs(peaks),
        flop_peaks=_flop_peaks(hosts, peaks),
        programs=Table(RooflineRow, {name: [row[name] for row in rows] for name in rows[0]}),
        ops=_ops(totals, whole_ps, peaks, options),
        diagnostics=unknown_limits(active.device_type, peaks, totals),
    )


def _stated(peaks: Peaks, options: Options) -> Peaks:
    """Peaks with those a person gave; raises ``UsageError`` for what no device has."""
    for name in ("peak_gflops", "peak_hbm_gbps"):
        value = getattr(options, name)
        if value is not None and value <= 0:
            what = f"roofline_model: {name} cannot be {value:g}."
            raise UsageError(what, hint="Give more than 0.")
    if options.peak_gflops:
        flops = options.peak_gflops * 1e9
        peaks = replace(peaks, flops=flops, source="given by hand", flops_by_type=())
    if options.peak_hbm_gbps:
        peaks = replace(peaks, hbm_bytes=options.peak_hbm_gbps * 1e9)
    return peaks


def _counted(ops: list[HloOp], options: Options) -> Bool:
    feeds = [any(word in op.category for word in _FEEDS) for op in ops]
    return np.asarray([options.include_infeed_outfeed or not feed for feed in feeds], dtype=bool)


def _device(type_: str, count: int, peaks: Peaks) -> RooflineDevice:
    return RooflineDevice(
        device_type=type_,
        device_count=count,
        peak_gflops=peaks.flops / 1e9,
        peak_hbm_bw_gbps=peaks.hbm_bytes / 1e9,
        peak_on_chip_read_bw_gbps=peaks.on_chip_read_bytes / 1e9,
        peak_on_chip_write_bw_gbps=peaks.on_chip_write_bytes / 1e9,
        hbm_ridge_flop_per_byte=ridge(peaks.flops, peaks.hbm_bytes),
        on_chip_read_ridge_flop_per_byte=ridge(peaks.flops, peaks.on_chip_read_bytes),
        on_chip_write_ridge_flop_per_byte=ridge(peaks.flops, peaks.on_chip_write_bytes),
        peak_source=peaks.source,
    )


def _roofs(peaks: Peaks) -> Table[RoofPoint]:
    """Three corners per memory: far left on the slope, the ridge, far right on the ceiling."""
    found: dict[str, list[Any]] = {name: [] for name in columns_of(RoofPoint)}
    for memory, limit in (
        ("HBM", peaks.hbm_bytes),
        ("On-chip read", peaks.on_chip_read_bytes),
        ("On-chip write", peaks.on_chip_write_bytes),
    ):
        top = ridge(peaks.flops, limit)
        if math.isnan(top):
            continue
        # At the ridge, intensity times bandwidth would miss the peak by a rounding.
        for left, rate in ((1e-4, peaks.flops / 1e4), (1.0, peaks.flops), (1e4, peaks.flops)):
            found["memory"].append(memory)
            found["operational_intensity"].append(top * left)
            found["flop_rate_gflops"].append(rate / 1e9)
    return Table(RoofPoint, found)


def _flop_peaks(hosts: list[Host], peaks: Peaks) -> Table[FlopPeak]:
    found = used_peaks(hosts, peaks)
    whole = sum(time for _, _, time in found)
    return Table(
        FlopPeak,
        {
            "data_type": [name for name, _, _ in found],
            "flop_rate_gflops": [rate / 1e9 for _, rate, _ in found],
            "compute_time_frac": [time / whole for _, _, time in found],
        },
    )


def _program_rows(
    steps: list[str],
    time_ps: I64,
    costs: dict[str, F64],
    peaks: Peaks,
    *,
    devices: float,
    averaged: int = 1,
) -> list[dict[str, Any]]:
    """Rows of the whole program over spans of device time.

    Args:
        steps: What each span is.
        time_ps: Device time of each, over all devices.
        costs: ``COST_FIELDS`` of each.
        peaks: Limits of one device.
        devices: How many devices the time is over (their mean where spans differ in it).
        averaged: Steps that each span stands for; times are per step.
    """
    found = rates(
        time_ps,
        bytes_accessed=costs["bytes"],
        peaks=peaks,
        **{name: costs[name] for name in COST_FIELDS if name != "bytes"},
    )
    columns = _rate_columns(found)
    rows = []
    for at, step in enumerate(steps):
        time_us = us(int(time_ps[at])) / averaged
        cells = {name: values[at] for name, values in columns.items()}
        rows.append(
            cells
            | dict.fromkeys(("category", "operation"), PROGRAM)
            | dict.fromkeys(("program", "source"), "")
            | dict.fromkeys(("self_time_us", "self_time_frac", "cumulative_frac"), 0.0)
            | dict.fromkeys(("total_time_us", "avg_time_us"), time_us)
            | {"step": step, "rank": 0, "occurrences": averaged}
            | {"time_per_device_us": time_us / max(devices, 1)}
        )
    return rows


def _total_row(
    totals: HloTotals, time_ps: int, peaks: Peaks, options: Options
) -> list[dict[str, Any]]:
    inner = totals.is_innermost & _counted(totals.ops, options)
    costs = {name: _known(getattr(totals, name)[inner]) for name in COST_FIELDS}
    time = np.asarray([time_ps], dtype=np.int64)
    return _program_rows(["Total"], time, costs, peaks, devices=totals.device_count)


def _known(values: F64) -> F64:
    """Σ of the known values as an array of one; NaN when none is known."""
    known = ~np.isnan(values)
    return np.asarray([values[known].sum() if known.any() else np.nan], dtype=np.float64)


def _op_rate_columns(found: OpRates, ops: list[HloOp]) -> dict[str, Any]:
    """Rates of single ops; none for one that only waits for bytes that moved before.

    Caches let an op read faster than its memory; the end of an asynchronous copy that does is
    one whose copy ran beside other ops.
    """
    columns = _rate_columns(found)
    is_end = np.asarray([op.category.endswith("-done") for op in ops], dtype=bool)
    before = is_end & (np.nan_to_num(found.memory_frac) > 1)
    for name, values in columns.items():
        if name == "bound_by":
            columns[name] = np.where(before, UNKNOWN, np.asarray(values, dtype=object)).tolist()
        else:
            columns[name] = np.where(before, np.nan, values)
    return columns


def _rate_columns(found: OpRates) -> dict[str, Any]:
    return {
        "flop_rate_gflops": found.gflops,
        "model_flop_rate_gflops": found.model_gflops,
        "memory_bw_gbps": found.gbps,
        "hbm_bw_gbps": found.hbm_gbps,
        "on_chip_read_bw_gbps": found.on_chip_read_gbps,
        "on_chip_write_bw_gbps": found.on_chip_write_gbps,
        "operational_intensity": found.intensity,
        "hbm_operational_intensity": found.hbm_intensity,
        "bottleneck_operational_intensity": found.bottleneck_intensity,
        "bound_by": found.bound_by,
        "optimal_flop_rate_gflops": found.optimal_gflops,
        "roofline_efficiency_frac": found.efficiency_frac,
        "flop_utilisation_frac": found.flop_frac,
        "memory_utilisation_frac": found.memory_frac,
    }


def _step_rows(hosts: list[Host], peaks: Peaks, options: Options) -> list[dict[str, Any]]:
    """The program in the average step and in each step that is kept, of each of these hosts."""
    rows: list[dict[str, Any]] = []
    times: list[I64] = []
    sums: list[dict[str, F64]] = []
    device_steps = 0
    for host in hosts:
        found, events = found_steps(host), hlo_op_events(host)
        if found is None or len(events) == 0:
            continue
        own = max(len(np.unique(events.device)), 1)
        time_ps = found.duration_ps[found.kept] * own
        costs = {
            name: values[found.kept]
            for name, values in _costs_by_step(found, events, options).items()
        }
        numbers = found.markers.num[found.kept].tolist()
        many = len(hosts) > 1
        labels = [f"{number} ({host.name})" if many else str(number) for number in numbers]
        rows += _program_rows(labels, time_ps, costs, peaks, devices=own)
        device_steps += own * len(time_ps)
        times.append(time_ps)
        sums.append(costs)
    if not rows:
        return rows
    whole = {name: np.asarray([sum(one[name].sum() for one in sums)]) for name in COST_FIELDS}
    time = np.asarray([sum(int(one.sum()) for one in times)], dtype=np.int64)
    count = sum(len(one) for one in times)
    devices = device_steps / count
    average = _program_rows(["Average"], time, whole, peaks, devices=devices, averaged=count)
    return average + rows


def _costs_by_step(found: HostSteps, events: HloOpEvents, options: Options) -> dict[str, F64]:
    """``COST_FIELDS`` of the innermost ops that start in each step."""
    place = np.searchsorted(found.start_ps, events.start_ps, side="right") - 1
    inside = (place >= 0) & (events.start_ps < found.end_ps[np.maximum(place, 0)])
    inner = np.asarray([not op.is_container for op in events.ops], dtype=bool)
    counts = inside & events.is_run & (inner & _counted(events.ops, options))[events.op]
    result: dict[str, F64] = {}
    for name in COST_FIELDS:
        each = np.asarray([getattr(cost, name) for cost in events.costs], dtype=np.float64)
        known = counts & ~np.isnan(each)[events.op]
        size = len(found)
        weights = each[events.op[known]]
        summed = np.bincount(place[known], weights=weights, minlength=size).astype(np.float64)
        result[name] = summed if known.any() else np.full(size, np.nan)
    return result


def _ops(totals: HloTotals, whole_ps: int, peaks: Peaks, options: Options) -> Table[RooflineRow]:
    order = totals.order()
    order = order[(_counted(totals.ops, options) & (totals.runs > 0))[order]]
    ops = [totals.ops[row] for row in order.tolist()]
    runs, self_us = totals.runs[order], totals.self_ps[order] / 1e6
    total_us = totals.total_ps[order] / 1e6
    share = self_us / us(whole_ps) if whole_ps else np.zeros(len(order))
    found = _op_rate_columns(rates_of(totals, peaks), totals.ops)
    columns: dict[str, Any] = {
        name: [values[row] for row in order.tolist()] if name == "bound_by" else values[order]
        for name, values in found.items()
    }
    columns |= {
        "step": ["Total"] * len(order),
        "rank": np.arange(1, len(order) + 1),
        "category": [op.category for op in ops],
        "operation": [op.name for op in ops],
        "program": [op.program for op in ops],
        "occurrences": runs,
        "total_time_us": total_us,
        "avg_time_us": total_us / runs,
        "self_time_us": self_us,
        "self_time_frac": share,
        "cumulative_frac": np.minimum(np.cumsum(share), 1.0),
        "time_per_device_us": total_us / max(totals.device_count, 1),
        "source": [op.source for op in ops],
    }
    return Table(RooflineRow, columns)


_RATES = (
    "bound_by",
    "roofline_efficiency_frac",
    "flop_rate_gflops",
    "bottleneck_operational_intensity",
    "flop_utilisation_frac",
    "memory_utilisation_frac",
)

TOOL = Tool(
    id="roofline_model",
    short="roofline",
    title="Roofline",
    tab="Roofline",
    run=roofline_model,
    options=Options,
    result=RooflineModel,
    times_of=("recording", "step"),
    page=(
        Headline("{headline}"),
        Figure(
            "Program",
            "{programs.flop_rate_gflops} | –",
            "{programs.flop_utilisation_frac} of the peak | per device, idle time included",
        ),
        Figure(
            "Intensity",
            "{programs.bottleneck_operational_intensity} FLOP/B | –",
            "the ridge is at {device.hbm_ridge_flop_per_byte} FLOP/B | ridge unknown",
        ),
        Figure(
            "Peak rate",
            "{device.peak_gflops} | –",
            "of one {device.device_type}: {device.peak_source} | {device.peak_source}"
            " | unknown; set it above",
        ),
        Figure("Memory bandwidth", "{device.peak_hbm_bw_gbps} | –", "peak of HBM or device memory"),
        OwnChart("roofline"),
        TableView(
            "ops",
            note="Filtered-out ops are hidden in the chart too.",
            noun=("op", "ops"),
            first=(
                "rank",
                "operation",
                "category",
                "self_time_us",
                "self_time_frac",
                *_RATES,
            ),
            main=True,
            constants=True,
        ),
        TableView(
            "programs",
            title="Whole program",
            note="{device.device_count=1?}in total, per average step and per step"
            " | in total, per average step and per step; times are sums over"
            " {device.device_count} devices",
            noun=("row", "rows"),
            first=("step", "total_time_us", "time_per_device_us", *_RATES),
            hidden=(
                "occurrences",
                "avg_time_us",
                "rank",
                "operation",
                "category",
                "program",
                "self_time_us",
                "self_time_frac",
                "cumulative_frac",
                "source",
            ),
            sums=False,
            constants=True,
        ),
    ),
)
