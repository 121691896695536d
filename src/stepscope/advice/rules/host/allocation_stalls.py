"""Device memory is allocated from the driver, or returned to it, within the step.

What it checks: the time a device idles while the host is in calls like cudaMalloc and cudaFree.
Why it matters: these calls take long and wait for the device; an allocator makes them when it grows
and, again and again, when memory is full: it then frees its cache to make room.
What to do: hold less, or in fewer sizes, so that cached blocks are used again; let the allocator
take its memory before the first step.
When it is wrong: the recording covers the first steps, in which every allocator grows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stepscope.advice.evidence.lines import place_of
from stepscope.advice.evidence.steps import NO_STEPS
from stepscope.advice.parts.changes import ONCE
from stepscope.advice.results import Results
from stepscope.registry import NEGLIGIBLE_FRAC, Answer, Rule, Silence, severity_of
from stepscope.result import Finding, Ref

if TYPE_CHECKING:
    from stepscope.analysis.step_account import StepAccount

# An allocator frees within the op that needs room; a program that empties its cache, outside.
_FREES = re.compile(r"Free|Release|Unmap")
_MOST_FRAC = 0.5
_OUTSIDE = ". Most of it is memory given back outside of any op: the cache is emptied."
_EMPTIED = "Leave torch.cuda.empty_cache() out of the loop: what it gives back is asked for again."
# Calls in this share of the steps are a habit, not the growing of an allocator.
_HABIT_FRAC = 0.5


def allocation_stalls(results: Results) -> Iterator[Answer]:
    """Fires when devices idle 3 % of the step or more while memory is allocated."""
    overview, idle = results.overview_page, results.device_idle
    step = overview.steps.time_ms.mean
    if not step > 0 or not idle.step_count:
        yield NO_STEPS
        return
    stalled = next(row.idle_ms for row in idle.causes.records() if row.cause == "allocation")
    if stalled < NEGLIGIBLE_FRAC * step:
        yield Silence(f"Devices idle {stalled / step:.1%} of the step for allocations.")
        return
    calls = list(idle.allocations.records())
    said = ", ".join(f"{row.call} {row.per_step:.3g} times" for row in calls[:3])
    often = calls[0].spread_frac if calls else 1.0
    # In few steps it may be an allocator that grows, which ends by itself.
    expected = stalled if often >= _HABIT_FRAC else stalled * often
    _, line = place_of(results.optional.step_account, "allocation")
    is_torch = overview.environment.framework == "PyTorch"
    is_emptied = is_torch and _is_emptied(results.optional.step_account)
    rare = "" if often >= _HABIT_FRAC else f", nearly all in {often:.0%} of the steps"
    yield Finding(
        rule=RULE.id,
        severity=severity_of(expected, step),
        saving_ms=expected,
        saving_high_ms=stalled,
        confidence=round(0.8 * overview.steps.confidence, 2),
        message=f"Devices idle {stalled:.3g} ms of each {step:.3g} ms step while the host "
        f"allocates device memory from the driver or returns it (per step: {said}{rare})"
        + (f"; most below {line}" if line else "")
        + (_OUTSIDE if is_emptied else "."),
        measured={
            "allocation_ms": stalled,
            "calls_per_step": sum(row.per_step for row in calls),
            "call": calls[0].call if calls else "",
            "spread_frac": often,
        },
        evidence=(
            Ref("device_idle", "allocations", rows=tuple(row.call for row in calls[:3])),
            Ref("memory_profile"),
        ),
        actions=(
            *((_EMPTIED,) if is_emptied else ()),
            "Use less memory at the peak: a smaller batch, recomputed activations, 16 bits. An "
            "allocator that is not full does not return memory.",
            "Keep shapes to a few sizes, so that freed blocks fit the next request.",
            "Do not empty the cache in the loop; let the allocator take its memory at the start.",
        ),
        code={
            "tensorflow": "os.environ['TF_GPU_ALLOCATOR'] = 'cuda_malloc_async'",
            "jax": "os.environ['XLA_PYTHON_CLIENT_PREALLOCATE'] = 'true'",
            "pytorch": "os.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'expandable_segments:True'\n"
            "# and no torch.cuda.empty_cache() in the loop",
        },
    )


def _is_emptied(account: StepAccount | None) -> bool:
    """Whether most of the time is the program's own: an allocator in need frees within an op."""
    listed = [] if account is None else list(account.owners.records())
    own = [one for one in listed if one.kind == "allocation"]
    freed = [one for one in own if _FREES.search(one.name) and not one.between.startswith("within")]
    whole = sum(one.time_ms for one in own)
    return whole > 0 and sum(one.time_ms for one in freed) >= _MOST_FRAC * whole


RULE = Rule(
    id="allocation-stalls",
    check=allocation_stalls,
    needs=("overview_page", "device_idle"),
    optional=("step_account",),
    evidence=("driver",),
    parts=("allocation",),
    doc=__doc__ or "",
    change=ONCE,
    title="Memory is allocated within the step",
    threshold="idle devices while memory is allocated ≥ 3 % of the step",
    symptom_of=("start-up", "memory-fragmentation", "memory-near-limit"),
)
