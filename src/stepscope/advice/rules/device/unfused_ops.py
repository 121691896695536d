"""Elementwise ops run as kernels of their own, each reading and writing all of its data.

What it checks: the time of PyTorch's own elementwise and reduction kernels that are long enough to
be limited by memory, and how many of them there are for each product, convolution or attention.
Why it matters: such a kernel computes next to nothing; a chain of them moves the same data through
the device's memory once for each op.
What to do: compile the model, which makes one kernel of each chain, or use fused layers (RMS norm,
rotary embedding, gated activations, cross entropy).
When it is wrong: the ops stand alone between products of matrices, so that there is no chain; or
the model cannot be compiled and has no fused layers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from stepscope.advice.evidence.device_time import KernelTime, kernel_time, said_name
from stepscope.advice.evidence.steps import NO_STEPS
from stepscope.advice.parts.changes import BATCHED
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence, severity_of
from stepscope.result import Finding, Ref

if TYPE_CHECKING:
    from stepscope.analysis.kernel_stats import KernelRow

SOME_FRAC: Final = 0.15
# PyTorch's own kernels, of which each is one op; optimizers and distributions are fused already.
_OWN: Final = re.compile(r"\bat::native::|at_cuda_detail::")
_CLASSES: Final = ("elementwise", "reduction")
# A shorter kernel costs its launch; what it reads and writes is in the cache.
_LONG_US: Final = 8.0
# So many of them in a row, on average, are a chain.
_CHAIN: Final = 2.0
# A chain of kernels becomes one: what fusing usually leaves, and leaves at best.
_EXPECTED, _MOST = 0.4, 0.7


def unfused_ops(results: Results) -> Iterator[Answer]:
    """Fires when PyTorch's long elementwise kernels take 15 % of the step or more."""
    overview, kernels = results.overview_page, results.kernel_stats
    step = overview.steps.time_ms.mean
    if not step > 0:
        yield NO_STEPS
        return
    found = kernel_time(kernels, overview, _is_unfused)
    if found.step_ms < SOME_FRAC * step:
        yield Silence(
            f"Elementwise kernels of PyTorch's own take {found.step_ms / step:.1%} of the step."
        )
        return
    between = kernel_time(kernels, overview, lambda row: row.kernel_class not in _CLASSES)
    if found.occurrences < _CHAIN * between.occurrences:
        yield Silence(
            f"{found.occurrences:,.0f} elementwise kernels of PyTorch's own stand alone between "
            f"{between.occurrences:,.0f} others: there are no chains to fuse."
        )
        return
    yield _finding(found, step)


def _is_unfused(row: KernelRow) -> bool:
    is_own = row.kernel_class in _CLASSES and bool(_OWN.search(row.name))
    return is_own and row.total_duration_us >= _LONG_US * row.occurrences


def _finding(found: KernelTime, step: float) -> Finding:
    listed = ", ".join(said_name(name, 40) for name in found.names[:3])
    return Finding(
        rule=RULE.id,
        severity=severity_of(_EXPECTED * found.step_ms, step),
        saving_ms=_EXPECTED * found.step_ms,
        saving_high_ms=_MOST * found.step_ms,
        confidence=0.6,
        message=f"Elementwise kernels and reductions of PyTorch's own take "
        f"{found.step_ms:.3g} ms of each {step:.3g} ms step ({found.step_ms / step:.0%}), each "
        f"{found.mean_us:.3g} µs to read and write its data once ({listed}).",
        measured={
            "unfused_ms": found.step_ms,
            "unfused_frac": found.step_ms / step,
            "mean_us": found.mean_us,
        },
        evidence=(Ref("kernel_stats", "kernel_class=elementwise", rows=found.names[:3]),),
        actions=(
            "Compile the model: torch.compile makes one kernel of each chain of such ops.",
            "Use fused layers: F.rms_norm, F.scaled_dot_product_attention, fused rotary embedding "
            "and gated activations.",
            "Keep the ops between products in 16 bits: half the bytes.",
        ),
        code={"pytorch": "model = torch.compile(model)"},
    )


RULE = Rule(
    id="unfused-ops",
    check=unfused_ops,
    needs=("overview_page", "kernel_stats"),
    evidence=("device",),
    doc=__doc__ or "",
    change=BATCHED,
    title="Elementwise kernels are not fused",
    threshold="PyTorch's own elementwise kernels of ≥ 8 µs ≥ 15 % of the step, two in a row",
    cause_of=("roofline-gap",),
)
