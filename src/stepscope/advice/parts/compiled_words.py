"""The wording about compiled functions of whose ops none was recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stepscope.analysis.step_account import PartRow

WHOLE = "Which of its ops take the time was not recorded."
SPLIT = (
    "To see inside it, record with a newer version of the framework, which may name the ops, or "
    "compile its parts as functions of their own for one recording."
)
SMALLER = (
    "Give it half the batch, or a smaller model, and time it: the steps of what it computes "
    "shorten accordingly, what it does once does not."
)


def estimate(part: PartRow) -> str:
    """Which lines the work of a compiled function comes from; "" unknown."""
    if not part.estimated:
        return ""
    return f" By what its program has to compute, an estimate, the work is {part.estimated}."


def most_of_it(part: PartRow) -> str:
    """The end of a title that says what, or which line, has most of it; "" where nothing has."""
    if not part.mostly:
        return ""
    return f", of it an estimated {part.mostly}" if part.estimated else f", {part.mostly}"


def at_largest(part: PartRow) -> str:
    """What to try at the line with most of the estimated work; "" unknown."""
    if not part.estimated:
        return ""
    return (
        "Leave out what the first of these lines computes for some steps, or give it half the "
        "data, and time the loop: whether it is needed, and needed so large, is the first question."
    )
