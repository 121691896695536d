"""The recording holds what only the first steps of a process do.

What it checks: calls into the device's driver that take milliseconds where most take microseconds,
while no device works: making a context, loading kernels, taking the first memory; and captures of
graphs, in which kernels are noted and not run.
Why it matters: this time does not come again. Beside it all shares of the recording are small, and
what a normal step waits for cannot be seen.
What to do: let the program run some steps before the recording begins.
When it is wrong: the program is as short as that, or starts again for each request: then its start
is what to shorten.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stepscope.advice.evidence.steps import NO_STEPS
from stepscope.advice.parts.changes import ONCE
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence, severity_of
from stepscope.result import Finding, Ref
from stepscope.tables.device.driver_calls import is_device_allocation
from stepscope.tables.in_steps.slow_calls import CAPTURE

if TYPE_CHECKING:
    from stepscope.analysis.device_idle import SlowCallRow

# From this share of the steps on it hides what else they do.
_LEAST_FRAC = 0.1
# A start does not come again in more of the steps, of this many or more: on a busy machine any call
# may be kept from its processor.
_AGAIN_FRAC, _FEW_STEPS = 0.5, 3
_NAMED = 3


def start_up(results: Results) -> Iterator[Answer]:
    """Fires when slow calls into the driver take 10 % of the steps."""
    idle = results.device_idle
    step = idle.step_time_ms
    if not step > 0:
        yield NO_STEPS
        return
    calls = list(idle.slow_calls.records())
    # Memory is taken and given back later on, too: that alone does not start a device.
    starting = sum(row.total_ms for row in calls if not is_device_allocation(row.call))
    if starting < _LEAST_FRAC * step:
        yield Silence(f"Calls that start the device take {starting / step:.1%} of the step.")
        return
    captures = next((row for row in calls if row.call == CAPTURE), None)
    if captures is not None and 2 * captures.total_ms > min(
        sum(row.total_ms for row in calls), step
    ):
        yield _capturing(captures, step, idle.step_count)
        return
    again = max(row.steps_frac for row in calls)
    if idle.step_count >= _FEW_STEPS and again > _AGAIN_FRAC:
        yield Silence(f"Slow calls into the driver come again in {again:.0%} of the steps.")
        return
    spent = min(sum(row.total_ms for row in calls), step)
    named = ", ".join(f"{row.call} {row.longest_ms:,.3g} ms" for row in calls[:_NAMED])
    yield Finding(
        rule=RULE.id,
        severity=severity_of(spent, step),
        saving_ms=spent,
        saving_high_ms=spent,
        confidence=0.8,
        message=f"Few calls into the driver take {spent:,.3g} ms of each {step:,.3g} ms step, "
        f"while no device works (the longest: {named}). Most such calls take microseconds: these "
        "make the device's context, load kernels or take the first memory.",
        measured={
            "start_up_ms": spent,
            "call": calls[0].call,
            "longest_ms": calls[0].longest_ms,
        },
        evidence=(Ref("device_idle", "slow_calls", rows=tuple(row.call for row in calls[:3])),),
        actions=(
            "Record again after some steps: what you see then is what every step costs.",
            "If the start itself is too long: load fewer kernels, keep the process alive between "
            "requests, and keep the caches of compiled code on disk.",
        ),
        code={
            "pytorch": "profile(schedule=schedule(wait=2, warmup=2, active=5))",
            "tensorflow": "tf.keras.callbacks.TensorBoard(profile_batch=(10, 15))",
            "jax": "# after some calls of the compiled step:\n"
            "with jax.profiler.trace(log_dir): ...",
        },
    )


def _capturing(row: SlowCallRow, step: float, steps: int) -> Finding:
    comes_again = steps >= _FEW_STEPS and row.steps_frac > _AGAIN_FRAC
    once = (
        f"Captures come again in {row.steps_frac:.0%} of the steps: either the recording is of the "
        "warm-up, or graphs are captured that could be replayed."
        if comes_again
        else "A graph is captured once; what it costs shows where it is replayed."
    )
    return Finding(
        rule=RULE.id,
        severity=severity_of(row.total_ms, step),
        saving_ms=row.total_ms,
        saving_high_ms=row.total_ms,
        confidence=0.8,
        title="A graph is being captured",
        message=f"Graphs are captured for {row.total_ms:,.3g} ms of each {step:,.3g} ms step: what "
        f"is launched meanwhile is noted for the graph and does not run, so the devices idle. "
        f"{once}",
        measured={
            "start_up_ms": row.total_ms,
            "call": CAPTURE,
            "longest_ms": row.longest_ms,
        },
        evidence=(Ref("device_idle", "slow_calls", rows=(CAPTURE,)),),
        actions=(
            "Record again after the capture, while requests or steps replay the graph.",
            "If the capture itself is too long: capture fewer sizes of batches, and keep what is "
            "compiled in it in a cache.",
        ),
        code={"pytorch": "# after the warm-up: graph.replay() is what each step costs"},
    )


RULE = Rule(
    id="start-up",
    check=start_up,
    needs=("device_idle",),
    evidence=("driver",),
    parts=("launch", "allocation", "framework", "wait"),
    doc=__doc__ or "",
    change=ONCE,
    title="The device is only starting",
    threshold="slow calls into the driver ≥ 10 % of the steps",
)
