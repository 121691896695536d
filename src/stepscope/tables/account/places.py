"""Where in the program a part of the step is: its function and line, what calls it."""

from __future__ import annotations

from stepscope.tables.account.instructions import CompiledOp
from stepscope.tables.account.owners import Owner
from stepscope.tables.account.parts import Part


def located(one: Part, *, is_launched: bool) -> Owner:
    """The largest owner with a place; the loop's, unless most of the part was launched."""
    mine = [each for each in one.owners if each.is_launched == is_launched] or one.owners
    return next((each for each in mine if each.file), mine[0])


def caller_of(one: Part, owner: Owner, known: CompiledOp) -> str:
    """``file:line function`` that calls what a part is in; "" unknown."""
    if one.kind == "function" and one.first.under is not None:
        return one.first.under.caller
    if one.kind == "program":
        return ""
    return known.caller if known.function else owner.caller


def place_of(one: Part, owner: Owner, known: CompiledOp) -> tuple[str, str, int]:
    """Where in the program a part is: its longest line, or the source of its op."""
    if one.kind == "program":  # where the thread waits meanwhile is not where it comes from
        return "", "", 0
    if one.kind == "function" and (whole := one.first.under) is not None:
        return whole.function, whole.file, whole.line
    if known.line and one.kind not in ("python", "library"):
        return known.function or owner.function, known.file, known.line
    return owner.function, owner.file, owner.line


def between_of(one: Part) -> str:
    """The calls around most of a part; "" where there are none."""
    total: dict[str, int] = {}
    for owner in one.owners:
        total[owner.between] = total.get(owner.between, 0) + owner.total_ps
    most = max(total, key=lambda name: total[name], default="")
    return most if total.get(most, 0) > one.total_ps / 2 else ""
