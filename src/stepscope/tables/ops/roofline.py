"""The roofline: achieved rates against a device's peaks, and what bounds each op.

Formulas: reference §8.4. FLOP rates are in GFLOP/s, bandwidths in GB/s, intensities in FLOP/B.
"""

from __future__ import annotations

import math
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from stepscope.records import dataclass
from stepscope.tables.ops.device_peaks import Peaks
from stepscope.tables.ops.hlo_totals import HloTotals

F64 = NDArray[np.float64]
# What can bound an op. Pages colour by it, and their types have the same words.
Bound = Literal["Compute", "HBM", "On-chip read", "On-chip write", "Unknown"]
UNKNOWN: Final = "Unknown"
COMPUTE: Final = "Compute"
HBM: Final = "HBM"
ON_CHIP_READ: Final = "On-chip read"
ON_CHIP_WRITE: Final = "On-chip write"
_RESOURCES: Final[tuple[Bound, ...]] = (COMPUTE, HBM, ON_CHIP_READ, ON_CHIP_WRITE)


@dataclass(frozen=True, eq=False, slots=True)
class OpRates:
    """Rates and utilisations, one element per op; NaN where an input is unknown.

    Attributes:
        gflops, model_gflops: FLOP rates, normalised to the device's peak and as the model asks.
        gbps, hbm_gbps, on_chip_read_gbps, on_chip_write_gbps: Bandwidths.
        intensity, hbm_intensity: FLOPs per byte of all memories, of device memory.
        flop_frac, hbm_frac, on_chip_read_frac, on_chip_write_frac: Achieved ÷ peak, not capped.
        memory_frac: The largest of the memories' utilisations.
        efficiency_frac: The largest of all utilisations; NaN where the FLOPs or their peak are
            unknown, since the op may be limited by what nobody counted.
        optimal_gflops: FLOP rate at which the bounding resource would be full.
        bottleneck_intensity: FLOPs per byte of the bounding memory (device memory if compute).
        bound_by: The resource with the largest utilisation, unknown where ``efficiency_frac`` is.
    """

    gflops: F64
    model_gflops: F64
    gbps: F64
    hbm_gbps: F64
    on_chip_read_gbps: F64
    on_chip_write_gbps: F64
    intensity: F64
    hbm_intensity: F64
    flop_frac: F64
    hbm_frac: F64
    on_chip_read_frac: F64
    on_chip_write_frac: F64
    memory_frac: F64
    efficiency_frac: F64
    optimal_gflops: F64
    bottleneck_intensity: F64
    bound_by: list[Bound]


def rates(
    time_ps: NDArray[np.int64],
    *,
    model_flops: F64,
    flops: F64,
    bytes_accessed: F64,
    hbm_bytes: F64,
    on_chip_read_bytes: F64,
    on_chip_write_bytes: F64,
    peaks: Peaks,
    fp32_flops: F64 | float = 0.0,
    tf32_flops: F64 | float = 0.0,
) -> OpRates:
    """Rates over ``time_ps``, the Σ of the device time they were achieved in.

    What limits an op, and how much of that it reaches, is by the peak of its own type.
    """
    seconds = np.where(time_ps > 0, time_ps / 1e12, np.nan)
    per_s = {
        COMPUTE: flops / seconds,
        HBM: hbm_bytes / seconds,
        ON_CHIP_READ: on_chip_read_bytes / seconds,
        ON_CHIP_WRITE: on_chip_write_bytes / seconds,
    }
    limits = (peaks.flops, peaks.hbm_bytes, peaks.on_chip_read_bytes, peaks.on_chip_write_bytes)
    used = {name: per_s[name] / limit for name, limit in zip(_RESOURCES, limits, strict=True)}
    of_type = flops + _slower(peaks, "fp32", fp32_flops) + _slower(peaks, "tf32", tf32_flops)
    own = used | {COMPUTE: of_type / seconds / peaks.flops}
    stacked = np.stack([own[name] for name in _RESOURCES])
    known = np.nan_to_num(stacked, nan=-1.0)
    which = known.argmax(axis=0)
    # Without its FLOPs nobody can say that a memory limits an op; one that computes nothing
    # needs no peak.
    is_told = np.isfinite(stacked[0]) | (flops == 0)
    best = np.where(is_told, known.max(axis=0), -1.0)
    efficiency = np.where(best >= 0, best, np.nan)
    memory = known[1:].max(axis=0)
    gflops = per_s[COMPUTE] / 1e9
    moved = np.stack([hbm_bytes, hbm_bytes, on_chip_read_bytes, on_chip_write_bytes])
    return OpRates(
        gflops=gflops,
        model_gflops=model_flops / seconds / 1e9,
        gbps=bytes_accessed / seconds / 1e9,
        hbm_gbps=per_s[HBM] / 1e9,
        on_chip_read_gbps=per_s[ON_CHIP_READ] / 1e9,
        on_chip_write_gbps=per_s[ON_CHIP_WRITE] / 1e9,
        intensity=_ratio(flops, bytes_accessed),
        hbm_intensity=_ratio(flops, hbm_bytes),
        flop_frac=used[COMPUTE],
        hbm_frac=used[HBM],
        on_chip_read_frac=used[ON_CHIP_READ],
        on_chip_write_frac=used[ON_CHIP_WRITE],
        memory_frac=np.where(memory >= 0, memory, np.nan),
        efficiency_frac=efficiency,
        optimal_gflops=_ratio(gflops, efficiency),
        bottleneck_intensity=_ratio(flops, moved[which, np.arange(len(time_ps))]),
        bound_by=[
            _RESOURCES[at] if top > 0 else UNKNOWN
            for at, top in zip(which.tolist(), best.tolist(), strict=True)
        ],
    )


def rates_of(totals: HloTotals, peaks: Peaks) -> OpRates:
    """Rates of each op over its total time."""
    return rates(
        totals.total_ps,
        model_flops=totals.model_flops,
        flops=totals.flops,
        bytes_accessed=totals.bytes,
        hbm_bytes=totals.hbm_bytes,
        on_chip_read_bytes=totals.on_chip_read_bytes,
        on_chip_write_bytes=totals.on_chip_write_bytes,
        fp32_flops=totals.fp32_flops,
        tf32_flops=totals.tf32_flops,
        peaks=peaks,
    )


def _slower(peaks: Peaks, type_: str, flops: F64 | float) -> F64 | float:
    """How many more FLOPs of the fastest type the device does in the time of these."""
    rate = dict(peaks.flops_by_type).get(type_, 0.0)
    return np.nan_to_num(flops) * (peaks.flops / rate - 1) if rate else 0.0


def ridge(flops: float, bytes_per_s: float) -> float:
    """The intensity in FLOP/B above which compute, not this memory, is the limit."""
    return flops / bytes_per_s if bytes_per_s > 0 else math.nan


def _ratio(above: F64, below: F64) -> F64:
    found: F64 = np.full(len(above), np.nan)
    np.divide(above, below, out=found, where=below > 0)
    return found
