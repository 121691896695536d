"""The limit of a program under the roofline, in words, and the unknowns of the roofline."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from stepscope.quantities import share_words, written_out
from stepscope.result import Diagnostic
from stepscope.tables.core.thresholds import HALF_FRAC, SOME_FRAC
from stepscope.tables.ops.device_peaks import Peaks
from stepscope.tables.ops.hlo_totals import HloTotals
from stepscope.tables.ops.roofline import COMPUTE, UNKNOWN

_RATE_UNITS: Final = ((1e6, "PFLOP/s"), (1e3, "TFLOP/s"), (1.0, "GFLOP/s"))


def headline(program: Mapping[str, Any], device_type: str) -> str:
    """Return the limit of the program, in one sentence, from its row of the result."""
    gflops, efficiency = program["flop_rate_gflops"], program["roofline_efficiency_frac"]
    if math.isnan(gflops):
        return "The FLOPs of this program are not known."
    if math.isnan(efficiency) or program["bound_by"] == UNKNOWN:
        limits = f"the limits of {device_type or 'this device'} are not known"
        return f"The program runs at {_rate_text(gflops)}; {limits}."
    bound = program["bound_by"]
    roof = "the FLOP rate" if bound == COMPUTE else f"{bound} bandwidth"
    uses = f"{roof}, of which it uses {share_words(efficiency, 1)}."
    if efficiency < HALF_FRAC:  # its limit is waits, launches or what it computes
        return f"The program is far from every limit: the nearest is {uses}"
    return f"The program is limited by {uses}"


def _rate_text(gflops: float) -> str:
    """A FLOP rate in three digits, in the unit that keeps it short."""
    scale, unit = next((each for each in _RATE_UNITS if gflops >= each[0]), _RATE_UNITS[-1])
    return f"{written_out(f'{gflops / scale:.3g}')} {unit}"


def unknown_limits(type_: str, peaks: Peaks, totals: HloTotals) -> tuple[Diagnostic, ...]:
    """Return the limits and costs that are not known."""
    found = []
    if math.isnan(peaks.flops):
        found.append(
            Diagnostic(
                "peak-unknown",
                "warning",
                f"The peak FLOP rate of {type_ or 'this device'} is not known, so utilisation is "
                "left out; give it with peak_gflops.",
            )
        )
    if not math.isfinite(peaks.hbm_bytes):
        found.append(
            Diagnostic(
                "bandwidth-unknown",
                "warning",
                f"The memory bandwidth of {type_ or 'this device'} is not known; give it with "
                "peak_hbm_gbps.",
            )
        )
    missing = int(totals.self_ps[np.isnan(totals.flops)].sum()) if len(totals) else 0
    if totals.op_time_ps and missing / totals.op_time_ps > SOME_FRAC:
        found.append(
            Diagnostic(
                "cost-unknown",
                "info",
                f"FLOPs are unknown for ops that take {share_words(missing / totals.op_time_ps)} "
                "of the op time (ops without recorded shapes, custom calls); the program's rates "
                "leave them out.",
            )
        )
    return tuple(found)
