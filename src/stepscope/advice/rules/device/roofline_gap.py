"""Ops that take long run far below what the device can do.

What it checks: each op's rate against its roofline (compute or memory, whichever binds it), where
FLOPs, bytes and the device's peaks are known.
Why it matters: an op at a fifth of its roofline could be several times faster on the same device.
What to do: larger or aligned shapes, fusion, a better kernel; fewer bytes where memory binds. How
fast PyTorch's own kernels are, and those that it or XLA compiles for a GPU, is not a fault of a
program: these only inform.
When it is wrong: the cost model counts work that the kernel does not do, or the op waits for
something else (an asynchronous copy).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from math import isnan
from typing import TYPE_CHECKING

from stepscope.advice.evidence.device_time import compute_ms, said_name
from stepscope.advice.evidence.lines import place_of_op
from stepscope.advice.evidence.steps import NO_STEPS
from stepscope.advice.parts.changes import TUNED
from stepscope.advice.results import Results
from stepscope.registry import NEGLIGIBLE_FRAC, Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Ref
from stepscope.verdicts.sentences import key_of

if TYPE_CHECKING:
    from stepscope.analysis.overview_page import OverviewPage
    from stepscope.analysis.roofline_model import RooflineModel, RooflineRow

LOW_FRAC = 0.30
# What good kernels reach of their roofline.
_GOOD_FRAC = 0.60
# Ops that wait or talk: their rate says nothing about a kernel.
_WAITING = ("async", "copy", "send", "recv", "infeed", "outfeed", "all-", "collective", "reduce-sc")
# Of less of the time than this, what is known says nothing of the whole.
_JUDGED_FRAC = 0.5
_UNBOUND = ("", "Unknown")
# PyTorch's own ops, and what its compiler and XLA make for GPUs: norms, sums and factors of healthy
# models reach a fifth, too, and the bytes of an op in a loop are an estimate.
_NOT_OF_PROGRAM = re.compile(r"(?:aten|torch)(?:::|/)|triton_(?:poi|red|per|tem|for)_")
# The frameworks whose kernels on GPUs are all XLA's, or a library's.
_COMPILED = ("jax", "tensorflow")


def roofline_gap(results: Results) -> Iterator[Answer]:
    """Fires when ops below 30 % of their roofline could save 3 % of the step or more."""
    overview, roofline = results.overview_page, results.roofline_model
    step = overview.steps.time_ms.mean
    if not step > 0:
        yield NO_STEPS
        return
    rows = [row for row in roofline.ops.records() if row.self_time_us]
    known = [row for row in rows if _is_judged(row)]
    if not known:
        yield Unknown(
            f"The peak rates of {roofline.device.device_type} or the ops' costs are unknown."
        )
        return
    # What the ops' time costs the step, where they run on a device that also idles or overlaps.
    whole_us = sum(row.self_time_us for row in rows if not _waits(row))
    scale = compute_ms(overview) / whole_us if whole_us else 0.0
    low = [row for row in known if row.roofline_efficiency_frac < LOW_FRAC]
    expected, least = _saving_ms(low, scale), NEGLIGIBLE_FRAC * step
    if expected < least:
        judged = sum(row.self_time_us for row in known)
        if judged < _JUDGED_FRAC * whole_us:
            yield Unknown(
                f"FLOPs or peaks of ops that take {1 - judged / whole_us:.0%} of the time are "
                "unknown."
            )
            return
        yield Silence(
            f"Ops below {LOW_FRAC:.0%} of their roofline could save {expected / step:.1%} of the "
            "step."
        )
        return
    low.sort(key=lambda row: -row.self_time_us * (1 - row.roofline_efficiency_frac))
    found = _finding(overview, low, scale, expected)
    is_xlas = key_of(overview.environment.framework) in _COMPILED
    is_xlas &= "TPU" not in overview.environment.device_type
    own = [row for row in low if not _NOT_OF_PROGRAM.match(row.operation)]
    if is_xlas or _saving_ms(own, scale) < least:
        found = replace(found, severity="info")
    if found.actions == _COMPUTE and _is_narrow(low[0], roofline):
        found = replace(found, actions=_COMPUTE[:1])
    if found.actions == _MEMORY and "AMD" not in roofline.device.device_type:
        found = replace(found, actions=(*_MEMORY, _L2))
    # Where an op runs PyTorch says; of what XLA compiled the account knows more.
    op, sign, rest = low[0].operation.partition("::")
    if sign:
        name = f"{op}/{rest.split(' ')[0]}"
        found = replace(found, place=place_of_op(results.optional.step_account, name))
    yield found


def _saving_ms(low: list[RooflineRow], scale: float) -> float:
    return sum(
        scale * row.self_time_us * (1 - row.roofline_efficiency_frac / _GOOD_FRAC) for row in low
    )


# Types of more than 16 bits, among those that peaks of compute are listed by.
_WIDE = ("fp32", "tf32", "fp64")


def _is_narrow(row: RooflineRow, roofline: RooflineModel) -> bool:
    """Whether an op is held against a peak of 16 bits or fewer: it computes in these already."""
    peaks = roofline.flop_peaks.records()
    narrow = [one.flop_rate_gflops for one in peaks if one.data_type not in _WIDE]
    return bool(narrow) and row.optimal_flop_rate_gflops >= min(narrow)


def _waits(row: RooflineRow) -> bool:
    return bool(row.category.startswith(_WAITING) or row.category == "unattributed")


def _is_judged(row: RooflineRow) -> bool:
    known = not isnan(row.roofline_efficiency_frac) and row.bound_by not in _UNBOUND
    return known and not _waits(row)


def _finding(
    overview: OverviewPage,
    low: list[RooflineRow],
    scale: float,
    expected: float,
) -> Finding:
    step = overview.steps.time_ms.mean
    first = low[0]
    own = sum(scale * row.self_time_us for row in low)
    most = sum(scale * row.self_time_us * (1 - row.roofline_efficiency_frac) for row in low)
    memory = first.bound_by != "Compute"
    return Finding(
        rule=RULE.id,
        severity=severity_of(expected, step),
        saving_ms=expected,
        saving_high_ms=most,
        confidence=0.4,
        message=f"{len(low)} ops that take {own:.3g} ms of each {step:.3g} ms step reach less than "
        f"{LOW_FRAC:.0%} of their roofline; {said_name(first.operation)} reaches "
        f"{first.roofline_efficiency_frac:.0%} of what {first.bound_by} allows.",
        measured={
            "ops_ms": own,
            "ops": len(low),
            "operation": first.operation,
            "efficiency_frac": first.roofline_efficiency_frac,
            "bound_by": first.bound_by,
        },
        evidence=(
            Ref(
                "roofline_model",
                "roofline_efficiency_frac",
                rows=tuple(row.operation for row in low[:3]),
            ),
        ),
        actions=_MEMORY if memory else _COMPUTE,
    )


_MEMORY = (
    "Fuse the op with its neighbours, so that data is read once.",
    "Store what it reads in 16 bits; make the innermost dimension contiguous and a multiple of 128 "
    "bytes.",
)
_L2 = (
    "On NVIDIA GPUs, where rows of 128 bytes or more are read at random, let the L2 cache fetch "
    "them whole: cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, 128)."
)
_COMPUTE = (
    "Make the product larger (batch, units) and its dimensions multiples of 128 (TPU) or 64 (GPU).",
    "Compute it in 16 bits on matrix units.",
)


RULE = Rule(
    id="roofline-gap",
    check=roofline_gap,
    needs=("overview_page", "roofline_model"),
    optional=("step_account",),
    parts=("op",),
    doc=__doc__ or "",
    change=TUNED,
    title="Ops far below their roofline",
    threshold="ops below 30 % of their roofline, worth ≥ 3 % of the step",
    symptom_of=(
        "full-precision",
        "tensor-cores-unused",
        "layout-transposes",
        "tiny-kernels",
        "small-batch",
    ),
)
