"""What every wording of a part of the step says: its share, its place, and what is unusual."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stepscope.quantities import time_words

if TYPE_CHECKING:
    from stepscope.analysis.step_account import OwnerRow, PartRow, StepAccount

# A trend, a number of stretches and a share of steps from which they are worth a word.
_GROWS, _SHRINKS, MANY_STRETCHES = 1.4, 0.7, 8


@dataclass(frozen=True, slots=True)
class PartWords:
    """What a finding about a part says.

    Attributes:
        title: The part in a few words.
        message: Its time, its share, where it is and what is unusual about it.
        actions: The experiment that would settle it first.
        find: What to look for in the timeline; "" nothing.
    """

    title: str
    message: str
    actions: tuple[str, ...]
    find: str = ""


_NOT_THE_LOOP = "the recording covers a phase that is not the loop"
_NEEDED = f"It is what the loop is for, or {_NOT_THE_LOOP}."
_OPS_NEEDED = f"The ops are what the program is for (a model's products), or {_NOT_THE_LOOP}."
_TRACED = (
    "It is what the loop is for, or a tracer of Python's calls slows it down (a sampler does not)."
)
_WRONG = {
    "op": _OPS_NEEDED,
    "program": _OPS_NEEDED,
    "python": _TRACED,
    "library": _TRACED,
    "input": "The recording covers only the start, while a buffer of the pipeline fills.",
    "compile": "The recording covers the first steps, in which everything is compiled once.",
    "wait": "What is waited for is needed in each step, and takes as long as it must.",
    "framework": "The recording covers set-up or evaluation that the loop does not repeat.",
    "unrecorded": "The program waits there on purpose: a pause, a server that nobody asks.",
}


def wrong_when(part: PartRow) -> str:
    """When not to believe that a change to a part would help."""
    return _WRONG.get(part.kind, _NEEDED)


def share(part: PartRow, account: StepAccount) -> str:
    """Its time and what it is a share of: "3.2 of each 8.1 ms step (40%)"."""
    if account.is_window:
        return f"{part.time_ms:.3g} ms of the recording ({part.step_frac:.0%})"
    scale, unit = (1e3, "µs") if account.step_time_ms < 1 else (1.0, "ms")
    each = f"{account.step_time_ms * scale:.3g} {unit}"
    return f"{part.time_ms * scale:.3g} of each {each} step ({part.step_frac:.0%})"


def at(part: PartRow | OwnerRow) -> str:
    """File and line in parentheses; "" where they are not known."""
    if not part.file:
        return ""
    file = brief_path(part.file)
    return f" ({file}:{part.line})" if part.line else f" ({file})"


def brief_path(place: str) -> str:
    """A place without the folders of its file: "/home/me/train.py:12 step" is "train.py:12 step".

    A package's own file keeps its folder, whose name is all that it has.
    """
    *folders, last = re.split(r"[/\\\\]", place)
    return "/".join([*folders[-1:], last]) if last.startswith("__") else last


def called_from(part: PartRow) -> str:
    """What calls it, as the end of a place; "" where that is not known."""
    return f", called from {brief_path(part.caller)}" if part.caller else ""


def between(part: PartRow) -> str:
    """The named calls around it, as an insertion; "" where they are not known."""
    return f", most of it {part.between}," if part.between else ""


# A call is worth a word with this many times a function's time, if so much of it is Python.
_SEVERAL, _PYTHON_FRAC = 1.5, 0.6


def one_of_several(part: PartRow, account: StepAccount) -> str:
    """Which call of the program has a function's time and more of its kind; "" none."""
    rows = list(account.calls.records())
    mine = (one for one in rows if (one.function, one.file) == (part.function, part.file))
    inner = max(mine, key=lambda one: one.time_ms, default=None)
    widest = None
    while inner is not None and not inner.is_loop:
        is_python = inner.python_ms >= _PYTHON_FRAC * inner.time_ms
        if is_python and inner.python_ms >= _SEVERAL * part.time_ms:
            widest = inner
        inner = rows[inner.above] if inner.above >= 0 else None
    if widest is None or (widest.function, widest.file) == (part.function, part.file):
        return ""
    where = brief_path(widest.file) + (f":{widest.line}" if widest.line else "")
    frac = widest.python_ms / account.step_time_ms
    return f"Python below {widest.function} ({where}) takes {frac:.0%} of the step in all."


def grows(part: PartRow) -> bool:
    """Whether a part gets longer from step to step."""
    return part.growth >= _GROWS


def unusual(part: PartRow) -> Iterator[str]:
    """What about a part, above all its time over the steps, is not as one would expect."""
    if part.every == part.every:
        each = time_words(part.burst_ms)
        yield (
            f"It comes in bursts, every {part.every:.0f} steps, {each} each."
            if part.every > 1
            else f"Most of it is in few steps, {each} in each of them."
        )
    if grows(part):
        yield f"It grows: {part.growth:.1f} times as long in the last third of the steps."
    elif part.growth <= _SHRINKS:
        yield "It gets shorter from step to step: the first steps may be warming up."
