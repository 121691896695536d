"""Another thread runs Python beside the loop, and the two take turns: only one may at a time.

What it checks: threads of the program that were sampled in Python code for 20 % of the steps or
more, and whether the loop was late to get the interpreter's lock (GIL) meanwhile.
Why it matters: a thread in a Python loop releases the lock only every 5 ms; each op that the step
dispatches may wait that long for it.
What to do: move the other thread's work to a process, or into libraries that release the lock; let
it sleep between polls.
When it is wrong: the step waits for what the other thread makes (a loader), or its work is all done
in libraries.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from stepscope.advice.parts.changes import REMOVED
from stepscope.advice.parts.waits_for_others import waited_for, waits_for_others
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Place, Ref

if TYPE_CHECKING:
    from stepscope.analysis.step_account import StepAccount
    from stepscope.verdicts.other_threads import RivalRow

_SOME_FRAC: Final = 0.20
# Two threads that want one lock have it half of the time each; but a thread that asks for it waits
# up to 5 ms, however short the call is it needs the lock for.
_LEAST: Final = 0.3
_EXPECTED: Final = 0.75
# Python gives another thread its turn every 5 ms, and every 0.2 ms while it is sampled.
_UNRECORDED: Final = 1.5
_NEARLY_ALL: Final = 0.9
# A loop that needs the lock for less has little to wait for.
_LITTLE_FRAC: Final = 0.05
# Kinds of parts of the step in which the loop's thread needs the lock.
_NEEDS_LOCK: Final = ("python", "library", "framework", "unrecorded", "region")


def gil_contention(results: Results) -> Iterator[Answer]:
    """Fires when a thread runs Python for 20 % of the steps, and the lock was hard to get."""
    account = results.step_account
    step = account.step_time_ms
    if not step > 0:
        yield Unknown("All detected steps have zero duration.")
        return
    if not account.has_python:
        yield Unknown("No Python function was recorded; stepscope record samples all threads.")
        return
    rivals = [one for one in account.rivals.records() if one.busy_frac >= _SOME_FRAC]
    worst = max(rivals, key=lambda one: one.busy_frac, default=None)
    if worst is None:
        yield Silence(f"No other thread was seen in Python code {_SOME_FRAC:.0%} of the time.")
        return
    place = _place(worst)
    needs = _needs_ms(account)
    if why := _why_not(account, worst, needs):
        yield Silence(why)
        return
    most = min(worst.busy_frac, 1.0) * needs
    yield Finding(
        rule=RULE.id,
        severity=severity_of(_EXPECTED * most, step),
        saving_ms=_EXPECTED * most,
        saving_low_ms=_LEAST * most,
        saving_high_ms=max(most, _most_ms(worst, most, step)),
        assumption="the loop's Python is as fast as without the other thread",
        confidence=0.8 if worst.loop_waits else 0.6,
        place=Place(function=worst.function, file=worst.file, line=worst.line or 0),
        title=f"Thread {worst.thread} holds Python's lock in {worst.function}",
        message=_message(worst, step),
        measured={
            "thread": worst.thread,
            "place": place,
            "busy_frac": worst.busy_frac,
            "step_time_ms": step,
        },
        evidence=(
            Ref("step_account", "rivals", rows=(worst.thread,)),
            Ref("trace_viewer", worst.thread),
        ),
        actions=(
            "Move this work to a process (multiprocessing, a DataLoader's worker).",
            "Let it wait instead of polling: an event, a queue, time.sleep.",
            "Do its work in NumPy or another library that releases the lock.",
        ),
        code=dict.fromkeys(
            ("tensorflow", "jax", "pytorch"),
            "multiprocessing.get_context('spawn').Process(target=monitor, daemon=True).start()",
        ),
    )


def _most_ms(worst: RivalRow, most_ms: float, step: float) -> float:
    """A sampler lets threads take turns more often than Python does by itself.

    Without it the loop waits longer for each turn, up to all of the time that others are at work.
    """
    if worst.loop_waits:
        return most_ms
    return min(_UNRECORDED * worst.busy_frac, _NEARLY_ALL) * step


def _why_not(account: StepAccount, worst: RivalRow, needs_ms: float) -> str:
    """Why a thread that runs Python beside the loop does not delay it; "" where it does."""
    step, place = account.step_time_ms, _place(worst)
    runs = f"Thread {worst.thread} runs {place} beside the loop, "
    if not worst.loop_waits and not worst.takes_turns:
        return f"{runs}but the lock was free when it was asked for."
    if needs_ms < _LITTLE_FRAC * step:
        return f"{runs}which needs the lock for {needs_ms / step:.1%} of the step."
    if _waited_ms(account, worst) >= _MOSTLY_FRAC * step:
        return f"The loop waits for what thread {worst.thread} makes in {place}."
    return ""


# A loop that waits for a thread for this share of the step asks it for its answer.
_MOSTLY_FRAC: Final = 0.5


def _waited_ms(account: StepAccount, worst: RivalRow) -> float:
    """Time of the step in which the loop waits for what this thread makes."""
    return sum(
        part.time_ms
        for part in account.parts.records()
        if (other := waited_for(part, account)) is not None and other.thread == worst.thread
    )


def _needs_ms(account: StepAccount) -> float:
    """What computes without the lock goes on; what the loop does in Python may wait for it."""
    return sum(
        one.time_ms
        for one in account.parts.records()
        if one.kind in _NEEDS_LOCK and not waits_for_others(one)
    )


def _place(one: RivalRow) -> str:
    at = f"{one.file}:{one.line}" if one.line else one.file
    return f"{one.function} ({at})" if at else one.function


def _message(one: RivalRow, step: float) -> str:
    are_many = one.count > 1
    others = f" and {one.count - 1:.0f} more of its kind" if are_many else ""
    run, hold = ("run", "hold") if are_many else ("runs", "holds")
    partly = "" if one.loop_waits else " for a part of that time"
    return (
        f"Thread {one.thread}{others} {run} Python in {_place(one)} for {one.busy_frac:.0%} of the "
        f"steps, and {hold} the interpreter's lock that the loop needs in each {step:.3g} ms "
        f"step{partly}."
    )


RULE = Rule(
    id="gil-contention",
    check=gil_contention,
    needs=("step_account",),
    optional=("overview_page",),
    evidence=("python",),
    doc=__doc__ or "",
    change=REMOVED,
    title="Another thread holds Python's lock",
    threshold="a thread runs Python ≥ 20 % of the steps, and the lock is late",
    cause_of=(
        "largest-part",
        "python-bound",
        "eager-execution",
        "uneven-steps",
        "launch-bound",
        "input-bound",
    ),
)
