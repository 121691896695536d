"""Python collects garbage in the step, and all its threads stop.

What it checks: the time of collections by Python's cyclic collector within the steps, on any thread
of the program.
Why it matters: a collection of the oldest generation visits every object, tens of milliseconds for
a few million, and nothing else runs in Python meanwhile.
What to do: freeze what lives on (gc.freeze) once the program is set up, and collect every few
hundred steps; do not call gc.collect() in the loop.
When it is wrong: the program makes cycles that hold much memory and must be freed soon.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stepscope.advice.evidence.changes import REMOVED
from stepscope.advice.results import Results
from stepscope.registry import NEGLIGIBLE_FRAC, Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Ref

_KIND: Final = "garbage collection"
# The collector still has to run now and then.
_EXPECTED: Final = 0.8


def garbage_collection(results: Results) -> Iterator[Answer]:
    """Fires when collections take 3 % of the step or more."""
    host = results.host_activity
    step = host.step_time_ms
    if not step > 0:
        yield Unknown("All detected steps have zero duration.")
        return
    rows = [one for one in host.side_work.records() if one.kind == _KIND]
    worst = max(rows, key=lambda one: one.time_ms, default=None)
    spent = 0.0 if worst is None else worst.time_ms
    if worst is None or _EXPECTED * spent < NEGLIGIBLE_FRAC * step:
        yield Silence(f"Garbage collections take {spent / step:.1%} of the step.")
        return
    is_once = round(worst.per_step * host.step_count) <= 1 < host.step_count
    often = "every step" if worst.steps_frac == 1 else f"{worst.steps_frac:.0%} of the steps"
    yield Finding(
        rule=RULE.id,
        # A single collection shows no habit.
        severity="info" if is_once else severity_of(_EXPECTED * spent, step),
        saving_ms=_EXPECTED * spent,
        saving_high_ms=spent,
        confidence=0.4 if is_once else 0.85,
        message=f"Python collects garbage for {spent:.3g} ms of each {step:.3g} ms step "
        f"({worst.per_step:.3g} collections a step, of {worst.calls}; {worst.in_step_ms:.3g} ms in "
        f"{often}), and all its threads wait.",
        measured={
            "garbage_ms": spent,
            "collections_per_step": worst.per_step,
            "steps_frac": worst.steps_frac,
            "step_time_ms": step,
            "step_after_ms": step - _EXPECTED * spent,
        },
        evidence=(Ref("host_activity", "side_work", rows=(_KIND,)), Ref("trace_viewer", _KIND)),
        actions=(
            "Freeze what lives on once model and data are loaded: gc.collect(); gc.freeze().",
            "Switch the collector off and collect every few hundred steps; take gc.collect() out "
            "of the loop.",
        ),
        code=dict.fromkeys(
            ("tensorflow", "jax", "pytorch"),
            "gc.collect(); gc.freeze(); gc.disable()  # before the loop\n"
            "if step % 500 == 0: gc.collect(1)",
        ),
    )


RULE = Rule(
    id="garbage-collection",
    check=garbage_collection,
    needs=("host_activity",),
    optional=("overview_page",),
    evidence=("garbage",),
    doc=__doc__ or "",
    change=REMOVED,
    title="Python collects garbage",
    threshold="garbage collections ≥ 4 % of the step",
    cause_of=("python-bound", "uneven-steps", "slow-steps", "eager-execution", "idle-device"),
)
