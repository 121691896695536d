"""The device has nothing to do for part of the step, for these causes.

What it checks: the time in which a device is idle, by what the host did meanwhile.
Why it matters: you pay for an accelerator that waits, too.
What to do: begin with the largest cause; where a rule names it, that finding comes before this one.
When it is wrong: the recorder lost kernels (see completeness), or the device waits because there
is nothing to do, as a server does between requests.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stepscope.advice.evidence.host_ops import ComputedOnHost, host_ops
from stepscope.advice.evidence.launchers import RECORDED, may_be_the_recorders
from stepscope.advice.evidence.steps import NO_STEPS
from stepscope.advice.parts.changes import OVERLAPPED
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence, severity_of
from stepscope.result import Finding, Place, Ref

if TYPE_CHECKING:
    from stepscope.analysis.device_idle import CauseRow, DeviceIdle
    from stepscope.analysis.overview_page import OverviewPage
    from stepscope.analysis.step_account import PartRow

SOME_FRAC = 0.10
# Causes below this share of the step are not worth a word.
_NAMED_FRAC = 0.01
# What the host does by itself: a part with this share of the idle time is what devices wait for.
_HOST = ("python", "library", "framework", "eager", "compile", "input", "wait")
_MOST_FRAC = 0.5
# What a host does that launches, and that nothing is recorded of between launches.
_LAUNCHING = ("kernel_launch", "host_compute", "other", "queued")
_MOSTLY_FRAC = 0.8
_ADVICE = {
    "input": "Overlap the input pipeline with the step (input_pipeline_analyzer says which stage).",
    "copy": "Copy the next batch while this one computes, from pinned memory.",
    "kernel_launch": "Launch less: compile the step, or record it as a graph.",
    "allocation": "Keep the allocator from asking the driver for memory within a step.",
    "compilation": "Keep shapes and Python arguments constant, so that nothing compiles again.",
    "host_compute": "Move ops of the step from the host to the device, or out of the step.",
    "other_device": "Give the devices equal work.",
    "wait": "See in device_idle which call waits: what it waits for is not on the device, so look "
    "at copies, at other processes, and at what began before the recording.",
    "queued": "Look in the timeline for what the launched work waits for: another stream, another "
    "process on the device, or work that began before the recording.",
    "python": "Move Python out of the loop, or to another thread or process: host_activity lists "
    "its functions.",
    "other": "Nothing is recorded on the host: Python, or other code, between the ops. Record it "
    "([tensorflow: python_tracer_level=1 | jax: python_tracer_level=1 | pytorch: with_stack=True]) "
    "or move it out of the loop.",
}
_ON_DEVICE = (
    "Compute on the device what the host computes for it: make its tensors there (device=…), or "
    "once, before the loop."
)
_RECORD = "Record the host, too: what launches work shows why the device waits."


def idle_device(results: Results) -> Iterator[Answer]:
    """Fires when devices idle 10 % of the step or more."""
    overview, idle = results.overview_page, results.device_idle
    step = overview.steps.time_ms.mean
    if not idle.step_count or not step > 0:
        yield NO_STEPS
        return
    if idle.idle_frac < SOME_FRAC:
        yield Silence(f"Devices idle {idle.idle_frac:.1%} of the step, below {SOME_FRAC:.0%}.")
        return
    # Of the step that all findings speak of; that of a worker may be shorter than the slowest's.
    causes = [row for row in idle.causes.records() if row.idle_ms >= _NAMED_FRAC * step]
    late = f" ({idle.after_wait_ms:.3g} ms of it after the host waited for the device)"
    said = ", ".join(f"{row.label.lower()} {row.idle_ms / step:.0%}" for row in causes)
    has_host = "host" in overview.recorded
    meanwhile = _meanwhile(results, idle.idle_ms)
    own = host_ops(results.optional.step_account) if meanwhile is None else None
    own = own if own is not None and own.time_ms >= SOME_FRAC * idle.idle_ms else None
    launching = sum(row.idle_ms for row in causes if row.cause in _LAUNCHING)
    if meanwhile is None:  # no function of the program's, but the calls between its ops
        launching += sum(row.idle_ms for row in causes if row.cause == "python")
    is_recorded = launching >= _MOSTLY_FRAC * idle.idle_ms
    is_recorded = is_recorded and may_be_the_recorders(results, overview)
    yield Finding(
        rule=RULE.id,
        severity="info" if is_recorded else severity_of(idle.idle_ms, step),
        saving_ms=idle.idle_ms,
        confidence=round(0.5 * overview.steps.confidence, 2),
        message=f"Devices are idle for {idle.idle_ms:.3g} ms of each {step:.3g} ms step "
        f"({idle.idle_ms / step:.0%}). "
        + (f"Meanwhile, of the step: {said}" if has_host else "The host was not recorded")
        + (late if idle.after_wait_ms >= _NAMED_FRAC * step else "")
        + _beside(overview, idle, step)
        + "."
        + ("" if meanwhile is None else _in_words(meanwhile))
        + ("" if own is None else own.said())
        + (RECORDED if is_recorded else ""),
        place=_place(meanwhile, own),
        measured={
            "idle_ms": idle.idle_ms,
            "idle_frac": idle.idle_frac,
            "after_wait_ms": idle.after_wait_ms,
            **{f"{row.cause}_ms": row.idle_ms for row in causes},
        },
        evidence=_evidence(idle, causes),
        actions=(
            *((_ON_DEVICE,) if own is not None else ()),
            *(tuple(_ADVICE[row.cause] for row in causes[:3]) if has_host else (_RECORD,)),
        ),
    )


def _evidence(idle: DeviceIdle, causes: list[CauseRow]) -> tuple[Ref, ...]:
    gap = next(iter(idle.gaps.records()), None)
    begin = None if gap is None else float(gap.start_ms)
    return (
        Ref("device_idle", "causes", rows=tuple(row.label for row in causes)),
        Ref(
            "trace_viewer",
            "the longest gap",
            rows=() if gap is None else (gap.device,),
            from_ms=begin,
            to_ms=None if gap is None or begin is None else begin + gap.duration_us / 1000,
        ),
    )


def _meanwhile(results: Results, idle_ms: float) -> PartRow | None:
    """The part of the step that the host spends most of the idle time on; None where none is.

    An op is the host's where the recording tells the line that launched the others.
    """
    account = results.optional.step_account
    parts = [] if account is None else list(account.parts.records())
    is_told = any(one.launched for one in parts)
    own = [
        one
        for one in parts
        if one.kind in _HOST
        or (one.kind == "op" and is_told and not one.launched and not one.on_device)
    ]
    largest = max(own, key=lambda one: one.time_ms, default=None)
    return largest if largest and largest.time_ms >= _MOST_FRAC * idle_ms else None


def _in_words(part: PartRow) -> str:
    what = f"{part.name} ops on the host" if part.kind == "op" else part.name or part.function
    at = f" at {part.file}:{part.line}" if part.file and part.line else ""
    if not at and part.kind == "wait" and part.between:
        at = f" {part.between}"
    return f" Most of it is {what}{at}, {part.time_ms:.3g} ms."


def _place(part: PartRow | None, own: ComputedOnHost | None) -> Place | None:
    if part is None:
        return None if own is None else own.place
    is_op = part.kind == "op"
    return Place(
        function=part.function,
        file=part.file,
        line=part.line or 0,
        caller=part.caller,
        op=part.op if is_op else "",
        family=part.name if is_op else "",
    )


def _beside(overview: OverviewPage, idle: DeviceIdle, step: float) -> str:
    """What else devices do, apart from compute and from what compute hides."""
    parts = overview.breakdown_ms
    copying = parts["host_to_device"] + parts["output"] + parts["device_to_device"]
    # What the host does for them while devices idle is in the causes.
    copying -= next(row.idle_ms for row in idle.causes.records() if row.cause == "copy")
    spent = {"copies": copying, "collectives": parts["collectives"]}
    named = [
        f"{name} take {cost:.3g} ms" for name, cost in spent.items() if cost >= _NAMED_FRAC * step
    ]
    return f"; besides, {' and '.join(named)} with no compute beside them" if named else ""


RULE = Rule(
    id="idle-device",
    check=idle_device,
    needs=("overview_page", "device_idle"),
    optional=("step_account", "compiled_regions"),
    evidence=("device",),
    doc=__doc__ or "",
    change=OVERLAPPED,
    title="The device is idle",
    threshold="a device is idle ≥ 10 % of the step",
    # Everything that names why; this finding only says how much there is to explain.
    symptom_of=(
        "start-up",
        "input-bound",
        "launch-bound",
        "tiny-kernels",
        "slow-launches",
        "allocation-stalls",
        "host-waits",
        "host-copies",
        "python-bound",
        "print-every-step",
        "retracing",
        "recompilation",
        "unbalanced-devices",
        "straggler",
        "eager-execution",
        "small-batch",
    ),
)
