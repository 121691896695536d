"""Model FLOPs: what PyTorch's ops compute and move by shape, and how much of the peak that is."""

from __future__ import annotations

import math
from math import nan
from typing import Annotated, Any, Final

import numpy as np

from stepscope.columns.space import I64, Bool
from stepscope.errors import UsageError
from stepscope.quantities import share_words
from stepscope.records import dataclass
from stepscope.registry import Help, Tool
from stepscope.result import Column, Diagnostic, Result, Row, Table, ms, us
from stepscope.schema.numbers import as_integer
from stepscope.tables.core.devices import Device, devices
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.device.events import device_events
from stepscope.tables.host.events import Work
from stepscope.tables.ops.gpu_models import model_peaks
from stepscope.tables.ops.torch_ops import ShapedOps, shaped_ops
from stepscope.tables.steps.attribution import found_steps
from stepscope.tables.torch.costs import OpCost
from stepscope.tables.torch.signature import Signature

AT_MOST: Final = "at most: sizes are on the device, or were not recorded"
ABOVE_PEAK: Final = "above the peak: its shape, its type or the peak is wrong"
INPUTS_ONLY: Final = "what it is given: what it computes, reads of it and writes is not known"
LONG_LIST: Final = "not known: the list of tensors is too long to be recorded"
FROM_CACHE: Final = "faster than device memory: from caches"
_COMPUTE, _MEMORY, _UNKNOWN = "Compute", "Memory", ""
# Clocks above the data sheet's do not make a shape wrong.
_TOLERANCE: Final = 1.05


class ShapedOpRow(Row):
    """One op with inputs of one shape and type."""

    op: Annotated[str, Column("Op", kind="name")]
    shapes: Annotated[str, Column("Shapes", kind="text", help="Shapes of the inputs.")]
    data_type: Annotated[
        str, Column("Type", kind="category", help="Type of the inputs; tf32 if the kernel uses it.")
    ]
    calls: Annotated[int, Column("Calls", kind="count")]
    device_time_us: Annotated[
        float,
        Column("Device time", unit="µs", kind="time", sort="desc", help="Time of its kernels."),
    ]
    device_time_frac: Annotated[
        float,
        Column("Share", unit="%", kind="ratio", help="Share of device time without collectives."),
    ]
    avg_time_us: Annotated[float, Column("Per call", unit="µs", kind="time")]
    gflop: Annotated[
        float, Column("GFLOP", kind="number", help="FLOPs of one call; masked work does not count.")
    ]
    model_gflop: Annotated[
        float,
        Column(
            "Model GFLOP",
            kind="number",
            hidden=True,
            help="FLOPs of one call as PyTorch's counter has them.",
        ),
    ]
    moved_bytes: Annotated[
        float,
        Column("Moved", unit="B", kind="bytes", help="Inputs and outputs, each counted once."),
    ]
    tflops_per_s: Annotated[float, Column("TFLOP/s", kind="rate")]
    memory_gbps: Annotated[
        float, Column("Memory", unit="GB/s", kind="rate", help="Moved bytes ÷ time, decimal.")
    ]
    intensity: Annotated[float, Column("Intensity", unit="FLOP/B", kind="rate")]
    peak_frac: Annotated[
        float,
        Column("Of peak FLOPs", unit="%", kind="ratio", help="Share of the peak of its type."),
    ]
    memory_frac: Annotated[float, Column("Of peak memory", unit="%", kind="ratio")]
    bound_by: Annotated[str, Column("Bound by", kind="category", help="Limit on a perfect device.")]
    possible_us: Annotated[
        float,
        Column(
            "At the roof", unit="µs", kind="time", help="Time of all calls at the bounding limit."
        ),
    ]
    note: Annotated[str, Column("Note", kind="text")]


class PeakRow(Row):
    """What one device can do at most in a type."""

    data_type: Annotated[str, Column("Type", kind="category")]
    peak_tflops: Annotated[
        float, Column("Peak", unit="TFLOP/s", kind="rate", help="Dense FLOP rate.")
    ]


@dataclass(frozen=True, slots=True)
class Utilisation:
    """How much of the devices the model uses; None where it cannot be told.

    Attributes:
        steps: Number of counted steps; 0 if the whole recording counts.
        step_ms: Mean time of a step, or of the recording.
        model_tflop: FLOPs of the model per step, over all devices.
        mfu_frac: Model FLOPs ÷ (time × peak of the types used), without recomputation.
        hfu_frac: Hardware FLOPs ÷ (time × peak of the types used), with recomputation.
        known_frac: Share of device time, collectives excluded, with known FLOPs.
    """

    steps: int
    step_ms: float
    model_tflop: float
    mfu_frac: float
    hfu_frac: float
    known_frac: float


@dataclass(frozen=True, slots=True)
class DeviceLimits:
    """The devices and what one of them can do.

    Attributes:
        device_type: Model of the devices.
        device_count: Number of devices that ran something.
        memory_gbps: Peak memory bandwidth of one device; None if unknown.
        peak_source: Source of the peaks.
    """

    device_type: str
    device_count: int
    memory_gbps: float
    peak_source: str


@dataclass(frozen=True, slots=True)
class Options:
    """Options of model_flops."""

    peak_tflops: Annotated[
        str, Help("Peaks of one device by type in TFLOP/s, before the table's: bf16=989,fp32=67.")
    ] = ""
    peak_memory_gbps: Annotated[
        float | None, Help("Peak memory bandwidth of one device in GB/s; from its name by default.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class ModelFlops(Result):
    """FLOPs and bytes of PyTorch's ops by shape, and the model FLOP utilisation (MFU).

    Attributes:
        limits: Limits of the devices.
        utilisation: Use of these limits by the model.
        ops: Ops, by time.
        peaks: Peak FLOP rate of one device, by type.
    """

    tool = "model_flops"
    limits: DeviceLimits
    utilisation: Utilisation
    ops: Table[ShapedOpRow]
    peaks: Table[PeakRow]


@dataclass(frozen=True, slots=True)
class _Peaks:
    flops: dict[str, float]
    memory: float
    source: str


def model_flops(profile: Profile, options: Options = Options()) -> ModelFlops:
    """FLOPs and utilisation of all hosts."""
    active = [one for host in profile.hosts for one in devices(host) if one.has_events]
    peaks = _peaks(active, options)
    hosts = [host for host in profile.hosts if len(shaped_ops(host))]
    whole_ps = sum(_computing_ps(host) for host in profile.hosts)
    rows = _rows(hosts, whole_ps, peaks)
    used = _utilisation(hosts, whole_ps, peaks)
    return ModelFlops(
        limits=DeviceLimits(
            device_type=", ".join(dict.fromkeys(one.type for one in active)),
            device_count=len(active),
            memory_gbps=peaks.memory / 1e9,
            peak_source=peaks.source,
        ),
        utilisation=used,
        peaks=Table(
            PeakRow,
            {
                "data_type": list(peaks.flops),
                "peak_tflops": [rate / 1e12 for rate in peaks.flops.values()],
            },
        ),
        ops=Table.from_rows(ShapedOpRow, rows),
        diagnostics=_diagnostics(rows, used, peaks),
    )


def _peaks(active: list[Device], options: Options) -> _Peaks:
    """The limits of one device; of devices that differ none, but for those given."""
    found = [
        model_peaks(one.type, as_integer(one.capabilities.get("core_count"))) for one in active
    ]
    same = found[0] if found and all(one == found[0] for one in found) else None
    flops = dict(same.flops) if same else {}
    memory, source = (same.hbm_bytes, same.source) if same else (nan, "")
    given = _given(options.peak_tflops)
    if options.peak_memory_gbps is not None:
        if options.peak_memory_gbps <= 0:
            raise UsageError("model_flops: peak_memory_gbps must be more than 0.")
        memory = options.peak_memory_gbps * 1e9
    if given or options.peak_memory_gbps is not None:
        source = f"given by hand; {source}" if source else "given by hand"
    return _Peaks(flops | given, memory, source)


def _given(text: str) -> dict[str, float]:
    """Peaks as a person writes them, in FLOP/s by type."""
    found = {}
    for word in filter(None, (one.strip() for one in text.split(","))):
        type_, _, value = word.partition("=")
        try:
            rate = float(value)
        except ValueError:
            rate = nan
        if not type_ or not math.isfinite(rate) or rate <= 0:
            raise UsageError(
                f"model_flops: {word!r} is not a peak.",
                hint="Write TYPE=TFLOP/s, joined by commas: bf16=989,fp32=67.",
            )
        found[type_.strip()] = rate * 1e12
    return found


def _computing_ps(host: Host) -> int:
    """Time of everything on the devices but exchanges between them."""
    events = device_events(host)
    return int(events.duration_ps[events.work != Work.COLLECTIVE].sum())


@dataclass(slots=True)
class _Sum:
    """Calls of one op with inputs of one shape and type."""

    signature: Signature
    cost: OpCost
    calls: int = 0
    device_ps: int = 0


def _rows(hosts: list[Host], whole_ps: int, peaks: _Peaks) -> list[dict[str, Any]]:
    """One row per op, shape and type over all hosts, by time."""
    sums: dict[tuple[Any, ...], _Sum] = {}
    for host in hosts:
        found = shaped_ops(host)
        calls = np.bincount(found.kind, minlength=len(found.costs))
        time = np.zeros(len(found.costs), np.int64)
        np.add.at(time, found.kind, found.device_ps)
        for number, (one, cost) in enumerate(zip(found.signatures, found.costs, strict=True)):
            # Strides and values matter as far as the cost has them. As text: NaN equals no NaN.
            key = (one.op, one.dims, one.types, repr(cost))
            total = sums.setdefault(key, _Sum(one, cost))
            total.calls += int(calls[number])
            total.device_ps += int(time[number])
    rows = [_row(one, whole_ps, peaks) for one in sums.values()]
    return sorted(rows, key=lambda row: (-row["device_time_us"], row["op"], row["shapes"]))


def _row(found: _Sum, whole_ps: int, peaks: _Peaks) -> dict[str, Any]:
    signature, cost = found.signature, found.cost
    seconds = found.device_ps / 1e12
    flops, moved = cost.flops * found.calls, cost.bytes * found.calls
    peak = peaks.flops.get(cost.type, nan) if cost.flops else nan
    rate = flops / seconds if seconds else nan
    memory = moved / seconds if seconds else nan
    if cost.is_inputs_only and memory > peaks.memory:
        memory = nan  # it cannot have read all that it is given
    possible = [
        one
        for one in (
            flops / peak if cost.flops else 0.0,
            cost.moved_bytes * found.calls / peaks.memory,
        )
        if not math.isnan(one)
    ]
    is_told = len(possible) == 2
    compute_bound = is_told and possible[0] >= possible[1]
    is_above = rate > _TOLERANCE * peak
    notes = [
        *([AT_MOST] if cost.is_at_most else []),
        *([INPUTS_ONLY] if cost.is_inputs_only else []),
        *([LONG_LIST] if signature.has_long_list else []),
        *([ABOVE_PEAK] if is_above else []),
        *([FROM_CACHE] if memory > peaks.memory else []),
    ]
    return {
        "op": signature.op,
        "shapes": signature.label,
        "data_type": cost.type or signature.type,
        "calls": found.calls,
        "device_time_us": us(found.device_ps),
        "device_time_frac": found.device_ps / whole_ps if whole_ps else 0.0,
        "avg_time_us": us(found.device_ps) / max(found.calls, 1),
        "gflop": cost.flops / 1e9,
        "model_gflop": cost.model_flops / 1e9,
        "moved_bytes": cost.bytes,
        "tflops_per_s": rate / 1e12,
        "memory_gbps": memory / 1e9,
        "intensity": cost.flops / cost.bytes if cost.bytes else nan,
        "peak_frac": nan if is_above else rate / peak,
        "memory_frac": nan if memory > peaks.memory else memory / peaks.memory,
        "bound_by": _UNKNOWN if not is_told else _COMPUTE if compute_bound else _MEMORY,
        "possible_us": max(possible) * 1e6 if is_told else nan,
        "note": "; ".join(notes),
    }


def _utilisation(hosts: list[Host], whole_ps: int, peaks: _Peaks) -> Utilisation:
    """MFU over the steps of all hosts; over the recording where there are none."""
    device_s, span_ps, steps = 0.0, 0, 0
    model, with_again, at_peak, at_peak_again = 0.0, 0.0, 0.0, 0.0
    known_ps = 0
    for host in hosts:
        found = shaped_ops(host)
        count = sum(one.has_events for one in devices(host))
        inside, length_ps, number = _window(host, found)
        flops = np.nan_to_num(found.each("model_flops"))
        rate = np.asarray([peaks.flops.get(one.type, nan) for one in found.costs] or [nan])
        ideal = np.where(flops > 0, flops / rate[found.kind], 0.0)
        first = inside & ~found.recomputed
        model += float(flops[first].sum())
        with_again += float(flops[inside].sum())
        at_peak += float(ideal[first].sum())
        at_peak_again += float(ideal[inside].sum())
        known_ps += int(found.device_ps[~np.isnan(found.each("flops"))].sum())
        device_s += length_ps / 1e12 * count
        span_ps += length_ps
        steps = max(steps, number)
    parts = max(steps, 1)
    return Utilisation(
        steps=steps,
        step_ms=ms(span_ps) / max(len(hosts), 1) / parts,
        model_tflop=model / 1e12 / parts,
        mfu_frac=_share(at_peak, device_s, with_again),
        hfu_frac=_share(at_peak_again, device_s, with_again),
        known_frac=known_ps / whole_ps if whole_ps else 0.0,
    )


def _share(ideal_s: float, device_s: float, flops: float) -> float:
    """Time at the peak ÷ time; unknown without products."""
    return ideal_s / device_s if device_s and flops else nan


def _window(host: Host, found: ShapedOps) -> tuple[Bool, int, int]:
    """Which calls count, over how long, and in how many steps."""
    steps = found_steps(host)
    if steps is not None and steps.kept.any():
        start, end = steps.start_ps[steps.kept], steps.end_ps[steps.kept]
        place = np.searchsorted(start, found.first_ps, side="right") - 1
        inside: Bool = (place >= 0) & (found.first_ps < end[np.maximum(place, 0)])
        return inside, int((end - start).sum()), len(start)
    events = device_events(host)
    span: I64 = events.end_ps.max() - events.start_ps.min()
    return np.ones(len(found), bool), int(span), 0


def _diagnostics(
    rows: list[dict[str, Any]], used: Utilisation, peaks: _Peaks
) -> tuple[Diagnostic, ...]:
    found = []
    lacking = sorted(
        {row["data_type"] for row in rows if row["gflop"] > 0} - set(peaks.flops) - {""}
    )
    if lacking:
        text = (
            f"No peak is known for {', '.join(lacking)} on this device; give it with "
            f"peak_tflops {lacking[0]}=…."
        )
        found.append(Diagnostic("peak-unknown", "warning", text))
    above = [row for row in rows if ABOVE_PEAK in row["note"]]
    if above:
        text = (
            f"{len(above)} ops come out above the peak, {above[0]['op']} first: a shape or type is "
            "not what was computed, or the peak is not this device's. Utilisation counts them."
        )
        found.append(Diagnostic("above-peak", "warning", text))
    if any(AT_MOST in row["note"] for row in rows):
        text = "Some sizes are on the device or were not recorded: utilisation is at most this."
        found.append(Diagnostic("at-most", "info", text))
    if used.known_frac < 0.95:
        text = (
            f"FLOPs are known for {share_words(used.known_frac)} of the devices' time: the "
            "rest has no op, no shapes or an op whose cost does not follow from them. "
            "It counts as 0."
        )
        found.append(Diagnostic("cost-unknown", "info", text))
    return tuple(found)


TOOL = Tool(
    id="model_flops",
    short="mfu",
    title="Model FLOPs",
    tab="Roofline",
    run=model_flops,
    options=Options,
    result=ModelFlops,
)
