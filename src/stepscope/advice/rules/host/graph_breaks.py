"""Compiled functions of PyTorch break into pieces in every step.

What it checks: how often a step runs the rest of a function behind a graph break, and how much of
the step the devices wait for the host.
Why it matters: at a break Python goes on by itself; nothing is fused across it, guards are checked
again behind it, and a CUDA graph ends there.
What to do: take out of the compiled function what breaks it (print, .item(), data-dependent
branches, calls that Dynamo cannot see into).
When it is wrong: the break is where one wants it, around code that cannot be compiled.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stepscope.advice.evidence.steps import NO_STEPS
from stepscope.advice.parts.changes import BATCHED
from stepscope.advice.results import Results
from stepscope.registry import NEGLIGIBLE_FRAC, Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Ref

# Of the time that devices wait for the host, what goes when pieces become one.
_EXPECTED: Final = 0.3
_MOST_NAMED: Final = 3


def graph_breaks(results: Results) -> Iterator[Answer]:
    """Fires when each step breaks, and devices wait 3 % of it for the host."""
    overview, found = results.overview_page, results.compiled_regions
    step = overview.steps.time_ms.mean
    if not step > 0:
        yield NO_STEPS
        return
    if not len(found.regions):
        yield Unknown("No region of torch.compile ran.")
        return
    steps = max(len(overview.step_table), 1)
    breaks = [one for one in found.breaks.records() if one.calls >= steps]
    if not breaks:
        unseen = not len(found.breaks) and len(found.regions) > 1
        yield (
            Unknown("Several regions ran; whether one breaks, only Python's calls tell.")
            if unseen
            else Silence("No compiled function breaks in every step.")
        )
        return
    parts = overview.breakdown_ms
    waiting = parts["kernel_launch"] + parts["host_compute"]
    if waiting < NEGLIGIBLE_FRAC * step:
        yield Silence(f"Devices wait {waiting / step:.1%} of the step for the host.")
        return
    often = sum(one.calls for one in breaks) / steps
    places = [f"{one.function} at {one.file}:{one.line}" for one in breaks[:_MOST_NAMED]]
    saving = _EXPECTED * waiting
    yield Finding(
        rule=RULE.id,
        severity=severity_of(saving, step),
        saving_ms=saving,
        saving_high_ms=waiting,
        confidence=0.5,
        message=f"Compiled functions break {often:.3g} times in each {step:.3g} ms step "
        f"({'; '.join(places)}); devices wait {waiting:.3g} ms of it for the host.",
        measured={
            "breaks_per_step": often,
            "host_wait_ms": waiting,
            "step_time_ms": step,
            "step_after_ms": step - saving,
        },
        evidence=(
            Ref("compiled_regions", "breaks", rows=tuple(one.function for one in breaks)),
            Ref("overview_page", "breakdown_ms.kernel_launch"),
        ),
        actions=(
            "See what breaks: TORCH_LOGS=graph_breaks, or torch.compile(fullgraph=True), which "
            "raises at the first.",
            "Move printing, .item() and logging out of the compiled function; "
            "replace branches on values by torch.where.",
        ),
        code={"pytorch": "model = torch.compile(model, fullgraph=True)  # raises at a break"},
    )


RULE = Rule(
    id="graph-breaks",
    check=graph_breaks,
    needs=("overview_page", "compiled_regions"),
    evidence=("host",),
    change=BATCHED,
    parts=("framework", "python", "library", "launch"),
    doc=__doc__ or "",
    title="Compiled functions break into pieces",
    threshold="≥ 1 break a step, and devices wait ≥ 3 % of it for the host",
    cause_of=("tiny-kernels", "launch-bound", "eager-execution", "python-bound", "idle-device"),
)
