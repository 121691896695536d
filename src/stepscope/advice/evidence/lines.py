"""The line of the program from which most of a kind of the step's time is called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from stepscope.advice.parts.part_facts import at
from stepscope.result import Place

if TYPE_CHECKING:
    from stepscope.analysis.step_account import OwnerRow, StepAccount


def place_of(account: StepAccount | None, kind: str) -> tuple[Place | None, str]:
    """Where most of a kind of the step's time is called from, and that in words.

    Returns: None and "" where no call of Python's around it was recorded.
    """
    return _most(account, lambda one: one.kind == kind)


def place_of_op(account: StepAccount | None, op: str) -> Place | None:
    """Where most of an op's time is called from; the op alone where no such call was recorded."""
    place, _ = _most(account, lambda one: one.name == op)
    return Place(op=op) if place is None else replace(place, op=op)


def _most(
    account: StepAccount | None, wanted: Callable[[OwnerRow], bool]
) -> tuple[Place | None, str]:
    if account is None:
        return None, ""
    rows = [one for one in account.owners.records() if one.function and wanted(one)]
    if not rows:
        return None, ""
    most: OwnerRow = max(rows, key=lambda one: one.time_ms)
    place = Place(function=most.function, file=most.file, line=most.line, caller=most.caller)
    return place, f"{most.function}{at(most)}"
