"""Another thread of the program runs Python and holds the interpreter's lock (the GIL).

What it checks: threads that samples of Python see at work beside the loop's, whether samples came
late, as they do where the lock is held, and the time the loop's thread spends in Python and in
handing work over.
Why it matters: one thread at a time runs Python. The loop waits for the lock each time it comes
back from a call that gave it up, up to 5 ms each.
What to do: move the thread's work to a process, let it wait on an event instead of looping, or do
it in code that gives the lock up.
When it is wrong: the thread waits inside of a call that samples do not see (a socket, a queue in C)
and another thread held the lock.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Place, Ref

# A thread that is seen at work in less of the time takes little of the lock.
_BUSY_FRAC = 0.3
# Shares of the loop's time with the lock that go to another thread: at least, expected, at most.
_LOW, _EXPECTED, _HIGH = 0.3, 0.7, 0.95
_NEEDS_LOCK = ("python", "library", "framework")
_SOME_FRAC = 0.05


def gil_contention(results: Results) -> Iterator[Answer]:
    """Fires when another thread runs Python for 30 % of the steps and the loop needs the lock."""
    account = results.step_account
    if not account.has_python:
        yield Unknown("What Python's threads did was not recorded; stepscope record samples them.")
        return
    step = account.step_time_ms
    parts = [part for part in account.parts.records() if part.kind in _NEEDS_LOCK]
    own = sum(part.time_ms for part in parts)
    busy = [one for one in account.rivals.records() if one.busy_frac >= _BUSY_FRAC]
    holding = [one for one in busy if one.loop_waits]
    if not holding:
        yield Silence("No other thread was seen to run Python and to hold the lock.")
        return
    if not own >= _SOME_FRAC * step:
        yield Silence(f"The loop's thread needs the lock for {own / step:.1%} of the step.")
        return
    first = holding[0]
    threads = f" and {len(holding) - 1} more" if len(holding) > 1 else ""
    yield Finding(
        rule=RULE.id,
        severity=severity_of(_EXPECTED * own, step),
        saving_ms=_EXPECTED * own,
        saving_low_ms=_LOW * own,
        saving_high_ms=_HIGH * own,
        assumption="the loop's Python is as fast as without the other thread",
        confidence=0.8,
        message=f"Thread {first.thread!r}{threads} runs Python in {first.function} ({first.file}:"
        f"{first.line}) for {first.busy_frac:.0%} of the time and holds the interpreter's lock "
        f"(GIL), which the loop's thread needs for {own:.3g} ms of each {step:.3g} ms step.",
        place=Place(function=first.function, file=first.file, line=first.line),
        measured={
            "thread": first.thread,
            "busy_frac": first.busy_frac,
            "needs_lock_ms": own,
            "step_time_ms": step,
            "step_after_ms": step - _EXPECTED * own,
        },
        evidence=(Ref("step_account", "rivals", rows=(first.thread,)),),
        actions=(
            f"Run the loop once without {first.function}: what the step loses is what it costs.",
            "Move its work to a process, or let it wait (Event.wait, Queue.get) and not loop.",
        ),
        code={
            "tensorflow": "multiprocessing.Process(target=watch, daemon=True).start()",
            "jax": "multiprocessing.Process(target=watch, daemon=True).start()",
            "pytorch": "multiprocessing.Process(target=watch, daemon=True).start()",
        },
    )


RULE = Rule(
    id="gil-contention",
    check=gil_contention,
    needs=("step_account",),
    doc=__doc__ or "",
    title="Another thread holds Python's lock",
    threshold="another thread at work in Python ≥ 30 % of the steps, with late samples",
    cause_of=("largest-part", "eager-execution", "python-bound", "uneven-steps"),
)
