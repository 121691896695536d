"""The host waits for the device in every step, and the device then waits for the host.

What it checks: the time the host sits in calls that return when the device has finished, and the
idle time of the device in gaps that open during such a call.
Why it matters: a host that runs ahead hides its own work behind the device's; each wait makes the
two take turns.
What to do: read results (loss, metrics) every n steps; keep them on the device until then.
When it is wrong: the wait is part of what is measured (a benchmark that blocks on each call), or
the next step needs the value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stepscope.advice.evidence.lines import place_of
from stepscope.advice.evidence.steps import NO_STEPS
from stepscope.advice.parts.changes import READ_LATER
from stepscope.advice.results import Results
from stepscope.registry import NEGLIGIBLE_FRAC, Answer, Rule, Silence, severity_of
from stepscope.result import Finding, Ref
from stepscope.schema import names

if TYPE_CHECKING:
    from stepscope.analysis.device_idle import DeviceIdle

# Idle time with a cause of its own, which a host that runs ahead would still have.
_OWN_CAUSES = ("input", "compilation", "other_device")


def host_waits(results: Results) -> Iterator[Answer]:
    """Fires when running ahead would hide 3 % of the step or more."""
    overview, idle = results.overview_page, results.device_idle
    step = overview.steps.time_ms.mean
    if not step > 0 or not idle.step_count:
        yield NO_STEPS
        return
    late = sum(
        float(row.after_wait_ms) for row in idle.causes.records() if row.cause not in _OWN_CAUSES
    )
    # A step cannot get shorter than what the host has to do in it: it loses its waiting at most.
    saving = min(late, idle.blocked_ms)
    if not len(idle.waits):
        yield Silence("No call on the step's threads waits for a device.")
        return
    if saving < NEGLIGIBLE_FRAC * step:
        yield Silence(
            f"The host waits for the device {idle.blocked_ms:.3g} ms per step; what running ahead "
            f"would hide is {saving / step:.1%} of the step."
        )
        return
    first = next(iter(idle.waits.records()))
    place, line = place_of(results.optional.step_account, "wait")
    below = f", below {line}" if line else ""
    yield Finding(
        rule=RULE.id,
        severity=severity_of(saving, step),
        saving_ms=saving,
        saving_high_ms=max(saving, min(idle.after_wait_ms, idle.blocked_ms)),
        confidence=round(0.7 * overview.steps.confidence, 2),
        message=f"The host waits {idle.blocked_ms:.3g} ms per step for the device (most in "
        f"{_called(first.call)}, {first.per_step:.3g} times{below}), and the device then "
        f"idles {late:.3g} ms of each {step:.3g} ms step until new work comes.",
        measured={
            "blocked_ms": idle.blocked_ms,
            "idle_after_wait_ms": late,
            "call": first.call,
            "calls_per_step": first.per_step,
        },
        evidence=(
            Ref("device_idle", "waits", rows=tuple(list(idle.waits["call"])[:3])),
            _longest_gap(idle),
        ),
        actions=(
            "Read the loss and metrics every 50 or 100 steps, not in each.",
            "Keep running sums on the device and fetch them once per epoch.",
            "Do not print, log or branch on a tensor's value inside the step.",
        ),
        place=place,
        code={
            "tensorflow": "model.compile(..., steps_per_execution=50)\n"
            "# custom loop: if step % 50 == 0: print(float(loss))",
            "jax": "if step % 50 == 0: print(float(loss))  # float() waits for the device",
            "pytorch": "total += loss.detach()  # no .item() in each step\n"
            "if step % 50 == 0: print(total.item() / 50)",
        },
    )


def _longest_gap(idle: DeviceIdle) -> Ref:
    """The longest gap after a wait, on the timeline."""
    gap = next((row for row in idle.gaps.records() if row.after_wait), None)
    what = "the longest gap after a wait"
    if gap is None:
        return Ref("trace_viewer", what)
    begin = float(gap.start_ms)
    return Ref("trace_viewer", what, from_ms=begin, to_ms=begin + gap.duration_us / 1000)


def _called(name: str) -> str:
    """A call by its function: Python's are recorded with file and line."""
    return name.rpartition(" ")[2] if name.startswith(names.PYTHON_CALL_MARK) else name


RULE = Rule(
    id="host-waits",
    check=host_waits,
    needs=("overview_page", "device_idle"),
    optional=("step_account",),
    evidence=("driver",),
    parts=("wait", "copy"),
    doc=__doc__ or "",
    change=READ_LATER,
    title="Host and device take turns",
    threshold="min(waiting, idle after a wait) ≥ 3 % of the step",
)
