"""Where in the program a part of the step is: its function and line, what calls it."""

from __future__ import annotations

from collections.abc import Callable

from stepscope.tables.account.owners import Owner
from stepscope.tables.parts.parts import Part
from stepscope.tables.traits.gradients import GRADIENT_OF
from stepscope.tables.traits.inside import LineWork
from stepscope.tables.traits.instructions import CompiledOp


def located(one: Part, *, is_launched: bool) -> Owner:
    """The largest owner with a place; the loop's, unless most of the part was launched.

    Of a loop around ops it is the largest of those at the line that has most of it: what one line
    runs may be many ops, each with less than the one that ends the loop.
    """
    mine = [each for each in one.owners if each.is_launched == is_launched] or one.owners
    placed = [each for each in mine if each.file]
    if one.kind == "eager" and placed:
        lines: dict[tuple[str, int], int] = {}
        for each in placed:
            at = each.file, each.line
            lines[at] = lines.get(at, 0) + each.total_ps
        most = max(lines, key=lambda at: lines[at])
        placed = [each for each in placed if (each.file, each.line) == most]
    return placed[0] if placed else mine[0]


def place_of(
    one: Part, owner: Owner, known: CompiledOp, lines: list[LineWork]
) -> tuple[tuple[str, str, int], str]:
    """Function, file and line that a part is in, and ``file:line function`` that calls it.

    Args:
        one: The part.
        owner: The one it is located by.
        known: What the recording says of its op.
        lines: Where the work of its compiled function comes from, the largest first.
    """
    if one.around is not None:
        return (one.around.function, one.around.file, one.around.line), one.around.caller
    if one.kind == "function" and (whole := one.first.under) is not None:
        return (whole.function, whole.file, whole.line), whole.caller
    if lines and (one.kind == "program" or not owner.file):
        return (lines[0].frame.function, lines[0].frame.file, lines[0].frame.line), lines[0].caller
    if one.kind == "program":  # where the thread waits meanwhile is not where it comes from
        return ("", "", 0), ""
    caller = known.caller if known.function else owner.caller
    if known.line and one.kind not in ("python", "library"):
        return (known.function or owner.function, known.file, known.line), caller
    return (owner.function, owner.file, owner.line), caller


def between_of(one: Part) -> str:
    """The calls around most of a part; "" where there are none.

    Of what several gradients have, the op that the program called for them, or else the gradient.
    """
    return _most(one, str) or _most(one, _called) or _most(one, _gradient)


def _most(one: Part, said: Callable[[str], str]) -> str:
    total: dict[str, int] = {}
    for owner in one.owners:
        name = said(owner.between)
        total[name] = total.get(name, 0) + owner.total_ps
    most = max(total, key=lambda name: total[name], default="")
    return most if total.get(most, 0) > one.total_ps / 2 else ""


def _gradient(between: str) -> str:
    return between.partition(GRADIENT_OF)[0]


def _called(between: str) -> str:
    gradient, _, called = between.partition(GRADIENT_OF)
    op = f"within {called}" if called else gradient
    return op and f"{op} and its gradient"
