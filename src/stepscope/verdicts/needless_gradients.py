"""Gradients that a step need not compute, as the account of the step says them."""

from __future__ import annotations

from dataclasses import dataclass

from stepscope.result import Place, ms
from stepscope.tables.account.owners import CallSite
from stepscope.tables.parts.gradients import GradientWork


@dataclass(frozen=True, slots=True)
class NeedlessGradients:
    """Gradients that were prepared and never computed, computed again, or never used.

    Attributes:
        time_ms: Per step, of the forward ops whose gradients nothing computed, of all but the
            first time that gradients were computed, or of the gradients that nothing uses.
        ops: How many of them, per step; or in how many parameters a backward pass ends.
        times: How often each is computed; 0 where none is.
        updated, is_all: Of parameters, how many are updated; whether nothing computes a gradient.
        longest, function, file, line, caller: The op that most of their time is of, and where most
            is called from; "" and None where no line was recorded.
    """

    time_ms: float
    ops: float
    times: float
    longest: str
    function: str
    file: str
    line: int | None
    caller: str
    updated: float = 0.0
    is_all: bool = False

    @property
    def place(self) -> Place | None:
        """Where most of it is called from; None where no line was recorded."""
        if not self.function:
            return None
        return Place(self.function, self.file, self.line or 0, self.caller)


def needless(found: GradientWork | None, count: int) -> NeedlessGradients | None:
    """Return such work per step of so many; None of nothing."""
    if found is None:
        return None
    place = found.place or CallSite("", "", 0, "")
    return NeedlessGradients(
        ms(found.time_ps) / count,
        found.ops if found.updated else found.ops / count,
        found.times,
        found.op,
        place.function,
        place.file,
        place.line if place.file else None,
        place.caller,
        found.updated,
        found.is_all,
    )
