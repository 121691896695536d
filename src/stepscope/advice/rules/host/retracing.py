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

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stepscope.advice.parts.changes import ONCE
from stepscope.advice.results import Results
from stepscope.registry import NEGLIGIBLE_FRAC, Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Ref

if TYPE_CHECKING:
    from stepscope.analysis.host_activity import CallRow

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
    told = _told(worst)
    yield Finding(
        rule=RULE.id,
        severity=severity_of(saving, step),
        saving_ms=saving,
        confidence=0.9,
        title=told.title,
        message=f"{told.what} {saving:.3g} ms of each {step:.3g} ms step "
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
        actions=told.actions,
        code=told.code,
    )


@dataclass(frozen=True, slots=True)
class _Told:
    """What is traced and why, and what to do."""

    what: str
    actions: tuple[str, ...]
    code: dict[str, str]
    title: str = ""


_CODE = {
    "tensorflow": "@tf.function(reduce_retracing=True)\ndef step(batch, rate): ...\n"
    "step(batch, tf.constant(0.1))"
}
_CODE_ONCE = {
    "tensorflow": "step = tf.function(function)  # before the loop\n"
    "for batch in dataset:\n    step(batch)"
}
_ONCE_ONLY = (
    "Make it once, before the loop: tf.function(f), and a decorated function inside of one that "
    "each step calls, are new each time and know nothing of the trace before."
)
# Functions by which TensorFlow itself writes and reads a SavedModel or a checkpoint.
_SAVES = re.compile(r"_traced_(?:save|restore)|signature_wrapper")
# A function that is traced in this share of its calls, and each time for the first time, is new.
_NEW_FRAC = 0.9


def _told(worst: CallRow) -> _Told:
    name, share = worst.function, worst.built / worst.calls
    if _SAVES.match(name):
        return _Told(
            f"Writing a SavedModel or a checkpoint traces functions of TensorFlow's own ({name}) "
            f"in {share:.0%} of their calls:",
            (
                "Save or export every n-th step, or once after the loop, and on a thread of its "
                "own where the step need not wait.",
                "Of checkpoints make one tf.train.Checkpoint, or CheckpointManager, before the "
                "loop and call its methods: it traces once.",
            ),
            {},
            "Saving the model traces functions again",
        )
    if worst.traces == 1 and share >= _NEW_FRAC:
        return _Told(
            f"The loop makes tf.function {name!r} again and again: it is traced in {share:.0%} of "
            "its calls, each time for the first time.",
            (_ONCE_ONLY,),
            _CODE_ONCE,
            f"{name} is made and traced again in {_often(share)}",
        )
    return _Told(
        f"tf.function {name!r} is retraced in {share:.0%} of its calls ({worst.traces} traces so "
        "far):",
        (
            f"Pass tensors to {name!r} instead of Python numbers: each new number is a new trace.",
            "Batches of one shape: batch(n, drop_remainder=True), or an input_signature with None.",
            "Decorate once, outside of the loop; not inside of a function that runs every step.",
        ),
        _CODE,
        f"{name} is traced again in {_often(share)}",
    )


def _often(share: float) -> str:
    return "each of its calls" if share >= _NEW_FRAC else f"{share:.0%} of its calls"


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
