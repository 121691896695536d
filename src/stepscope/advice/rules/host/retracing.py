"""A tf.function is retraced in step after step.

What it checks: calls of tf.functions that trace, and the time of those calls in which nothing is
computed.
Why it matters: tracing runs the Python of the function and builds a graph; it costs tens of
milliseconds and is meant to happen once.
What to do: give tensors instead of Python numbers, keep shapes and dtypes the same, and create
the function outside of the loop.
When it is wrong: the recording covers the first steps, in which each new shape is traced once.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.advice.evidence.changes import ONCE
from stepscope.advice.results import Results
from stepscope.registry import NEGLIGIBLE_FRAC, Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Ref

# Tracing once may be the first step; twice in the counted steps is a habit.
_TWICE = 2


def retracing(results: Results) -> Iterator[Answer]:
    """Fires when tracing takes 3 % of the step or more, and happened at least twice."""
    host = results.host_activity
    step, functions = host.step_time_ms, list(host.calls.records())
    traced = [one for one in functions if one.traces and one.built > 0]
    if not any(one.traces for one in functions):
        yield Unknown("No call of a tf.function was recorded within a step.")
        return
    saving = sum(one.build_ms for one in traced)
    times = sum(one.built for one in traced) * host.step_count
    if saving < NEGLIGIBLE_FRAC * step or round(times) < _TWICE:
        yield Silence(f"Tracing costs {saving / step:.1%} of the step ({times:.0f} times).")
        return
    worst = max(traced, key=lambda one: one.build_ms)
    name = worst.function
    yield Finding(
        rule=RULE.id,
        severity=severity_of(saving, step),
        saving_ms=saving,
        confidence=0.9,
        message=f"tf.function {name!r} is retraced in {worst.built / worst.calls:.0%} of "
        f"its calls ({worst.traces} traces so far): {saving:.3g} ms of each {step:.3g} ms step "
        "are spent tracing and setting up graphs.",
        measured={
            "build_ms": saving,
            "traced_per_step": worst.built,
            "traces": worst.traces,
            "step_time_ms": step,
            "step_after_ms": step - saving,
        },
        evidence=(
            Ref("host_activity", "calls", rows=(name,)),
            Ref("trace_viewer", name),
        ),
        actions=(
            f"Pass tensors to {name!r} instead of Python numbers: each new number is a new trace.",
            "Batches of one shape: batch(n, drop_remainder=True), or an input_signature with None.",
            "Decorate once, outside of the loop; not inside of a function that runs every step.",
        ),
        code={
            "tensorflow": "@tf.function(reduce_retracing=True)\ndef step(batch, rate): ...\n"
            "step(batch, tf.constant(0.1))"
        },
    )


RULE = Rule(
    id="retracing",
    check=retracing,
    needs=("host_activity",),
    evidence=("host",),
    parts=("compile", "framework", "python", "library", "unrecorded", "region"),
    doc=__doc__ or "",
    change=ONCE,
    title="Functions are traced again",
    threshold="tracing ≥ 3 % of the step, at least twice",
)
