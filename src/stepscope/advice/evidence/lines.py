"""The line of the program from which most of a kind of the step's time is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stepscope.advice.evidence.part_words import at
from stepscope.result import Place

if TYPE_CHECKING:
    from stepscope.analysis.step_account import OwnerRow, StepAccount


def place_of(account: StepAccount | None, kind: str) -> tuple[Place | None, str]:
    """Where most of a kind of the step's time is called from, and that in words.

    Returns: None and "" where no call of Python's around it was recorded.
    """
    if account is None:
        return None, ""
    rows = [one for one in account.owners.records() if one.kind == kind and one.function]
    if not rows:
        return None, ""
    most: OwnerRow = max(rows, key=lambda one: one.time_ms)
    place = Place(function=most.function, file=most.file, line=most.line, caller=most.caller)
    return place, f"{most.function}{at(most)}"
