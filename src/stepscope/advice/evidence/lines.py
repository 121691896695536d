"""Lines of the program that a part of the step, or most of a kind of its time, comes from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from stepscope.result import Place

if TYPE_CHECKING:
    from stepscope.analysis.step_account import AccountPart, OwnerRow, StepAccount


def place_of(account: StepAccount | None, kind: str) -> Place | None:
    """Return where most of a kind of the step's time is called from; None if it is unknown."""
    return _most(account, lambda one: one.kind == kind)


def place_of_op(account: StepAccount | None, op: str) -> Place | None:
    """Return where most of an op's time is called from; the op alone if that is unknown."""
    place = _most(account, lambda one: one.name == op)
    return Place(op=op) if place is None else replace(place, op=op)


def place_of_part(part: AccountPart) -> Place:
    """Return where a part of the step is called from, and the call or op that it is."""
    is_op = part.kind in ("op", "eager", "function", "layer")
    is_call = part.text("first_kind") in ("library", "framework") and not is_op
    return Place(
        function=part.function,
        file=part.file,
        line=part.line or 0,
        caller=part.caller,
        call=part.text("first") if is_call else "",
        op=part.op if is_op else "",
        family=part.name if part.kind == "op" else "",
    )


def _most(account: StepAccount | None, wanted: Callable[[OwnerRow], bool]) -> Place | None:
    owners = () if account is None else account.owners.records()
    rows = [one for one in owners if one.function and wanted(one)]
    most = max(rows, key=lambda one: one.time_ms, default=None)
    return None if most is None else Place(most.function, most.file, most.line, most.caller)
