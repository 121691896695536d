"""The time that a runtime spends around ops: it goes with them, and advice about them says so."""

from __future__ import annotations

from math import isnan, nan
from typing import TYPE_CHECKING

from stepscope.advice.parts.compiled_words import most_of_it

if TYPE_CHECKING:
    from stepscope.analysis.step_account import PartRow

# What a runtime has work around, whose time is listed by itself.
_RUN = ("op", "layer", "line")
# What the runtime takes around ops is worth a sentence from this share of the step on.
_WORD_FRAC = 0.05
# Where the runtime takes longer than the ops that it runs.
_MOSTLY_RUNTIME = ": waiting for a free core, or starting many small ops"


def with_runtime(parts: list[PartRow], step_ms: float) -> float:
    """Give ops the time that the runtime spends around them, each its share; how much more.

    Those that were too small to be played again without it may take all of it with them: where a
    runtime takes more time than its ops do, it is their number that costs.
    """
    ops = [part for part in parts if part.kind in _RUN]
    around = sum(part.time_ms for part in parts if part.kind == "runtime")
    whole = sum(part.time_ms for part in ops)
    for part in ops if whole else ():
        if around > whole:  # bursts and trends of the smaller share say nothing of all of it
            part.every = part.burst_ms = part.growth = nan
        part.time_ms += around * part.time_ms / whole
        part.step_frac = part.time_ms / step_ms
        if isnan(part.alone_ms):
            part.alone_ms = part.typical_ms = part.time_ms
            part.most_ms = part.time_ms + around * (1 - part.time_ms / (whole + around))
    return around / whole if whole else 0.0


def around(part: PartRow, more: float) -> str:
    """What of the time is the runtime's, which the account lists by itself."""
    by_itself = part.step_frac / (1 + more)
    is_little = part.step_frac - by_itself < _WORD_FRAC
    if part.kind not in _RUN or part.is_program or is_little:
        return ""
    why = _MOSTLY_RUNTIME if more > 1 else ""
    rest = f"{part.step_frac - by_itself:.0%} the runtime's work around them{why}"
    return f" Of this the ops themselves are {by_itself:.0%} of the step, and {rest}."


def title_with_runtime(part: PartRow) -> str:
    """The title of a part whose ops have the smaller share of its time."""
    return (
        f"{part.name} and the runtime around it take {part.step_frac:.0%} of the step"
        f"{most_of_it(part)}"
    )
