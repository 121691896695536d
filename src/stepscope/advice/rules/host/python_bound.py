"""Python runs while nothing computes.

What it checks: the time of the step in which no op runs and no input is waited for; where the
recorder wrote Python calls, which functions it is spent in.
Why it matters: the device, or the cores, wait for one thread of the interpreter.
What to do: move the work out of the loop, into the compiled step, or into the input pipeline.
When it is wrong: the recorder of Python calls itself slows Python down; a sampler does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stepscope.advice.evidence.steps import NO_STEPS, THE_RECORDERS, is_the_recorders
from stepscope.advice.parts.changes import REMOVED
from stepscope.advice.parts.hand_over import hands_over
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence, severity_of
from stepscope.result import Finding, Ref

if TYPE_CHECKING:
    from stepscope.analysis.host_activity import HostActivity, PythonRow

_IDLE_FRAC = 0.20
# A function is named when it has this share of the step to itself.
_NAMED_FRAC = 0.05


def python_bound(results: Results) -> Iterator[Answer]:
    """Fires when a Python function has 5 % of the step, or nothing computes for 20 % of it."""
    overview, host = results.overview_page, results.host_activity
    step = host.step_time_ms
    if is_the_recorders(results.optional.step_account):
        yield THE_RECORDERS
        return
    if not step > 0:
        yield NO_STEPS
        return
    functions = [one for one in host.python.records() if not one.is_wait]
    account = results.optional.step_account
    worst = next(
        (
            one
            for one in functions
            if one.self_ms >= _NAMED_FRAC * step
            and not hands_over(account, one.function, one.self_ms)
        ),
        None,
    )
    # Nothing recorded at all: Python or a call into a library between ops.
    unknown = min(host.idle_ms, overview.breakdown_ms["other"])
    if worst is not None:
        yield _named(worst, functions, host)
    elif len(functions):
        yield Silence("No Python function has 5 % of the step to itself, but for those of ops.")
    elif unknown < _IDLE_FRAC * step:
        yield Silence(f"Nothing was recorded for {unknown / step:.1%} of the step.")
    else:
        yield _unnamed(unknown, step)


def _named(worst: PythonRow, functions: list[PythonRow], host: HostActivity) -> Finding:
    step, own = host.step_time_ms, worst.self_ms
    place = f"{worst.file}:{worst.line}"
    rows = tuple(one.function for one in functions[:5])
    return Finding(
        rule=RULE.id,
        severity=severity_of(own, step),
        saving_ms=own,
        saving_high_ms=max(worst.total_ms, own),
        confidence=0.7,
        message=f"Python function {worst.function} ({place}) takes {own:.3g} ms of each "
        f"{step:.3g} ms step while nothing computes.",
        measured={
            "function": worst.function,
            "place": place,
            "self_ms": own,
            "total_ms": worst.total_ms,
            "step_time_ms": step,
            "step_after_ms": step - own,
        },
        evidence=(Ref("host_activity", "python", rows=rows), Ref("trace_viewer", place)),
        actions=(
            f"Look at {place}: move its work out of the loop, or into the compiled step.",
            "Prepare data in the input pipeline ([tensorflow: tf.data | jax: Grain | "
            "pytorch: the DataLoader's workers]), not in the loop.",
        ),
    )


def _unnamed(unknown: float, step: float) -> Finding:
    return Finding(
        rule=RULE.id,
        severity=severity_of(unknown, step),
        saving_ms=unknown,
        confidence=0.4,
        message=f"For {unknown:.3g} ms of each {step:.3g} ms step nothing was recorded: Python or "
        "a library between ops.",
        measured={"unrecorded_ms": unknown, "step_time_ms": step},
        evidence=(Ref("host_activity", "idle_ms"), Ref("overview_page", "breakdown_ms.other")),
        actions=(
            "Record with the Python sampler to see function and line.",
            "Move Python work out of the loop, into the compiled step or the input pipeline.",
        ),
    )


RULE = Rule(
    id="python-bound",
    check=python_bound,
    needs=("overview_page", "host_activity"),
    optional=("step_account",),
    evidence=("host",),
    parts=("python", "library", "unrecorded", "region"),
    doc=__doc__ or "",
    change=REMOVED,
    title="Python delays the step",
    threshold="a Python function ≥ 5 % of the step, or nothing recorded for ≥ 20 %",
    symptom_of=(
        "retracing",
        "recompilation",
        "print-every-step",
        "python-in-pipeline",
    ),
)
