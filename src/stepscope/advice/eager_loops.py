"""One finding of a loop of ops, which is a part of the step, and of ops that run one by one."""

from __future__ import annotations

from dataclasses import replace

from stepscope.advice.render import brief_place
from stepscope.quantities import time_words
from stepscope.result import Finding, Ref

_ONE_BY_ONE = "eager-execution"
# A loop with this share of what dispatching op by op costs is what that finding is about.
_LOOP_FRAC = 0.6
#: One with this share is where most of it is.
SOME_FRAC = 0.3


def of_loop(one: Finding, part: Finding) -> bool:
    """Whether a part is the loop that most of what a step runs op by op is for."""
    time, cost = float(part.measured["part_ms"]), one.saving_ms or 0.0
    is_loop = part.measured["kind"] == "eager" and not is_the_program(part)
    is_counted = one.rule == _ONE_BY_ONE and one.place is None and "ops_per_step" in one.measured
    return is_loop and is_counted and time >= _LOOP_FRAC * cost > 0


def has_loop(one: Finding, part: Finding) -> bool:
    """Whether a part is a loop that a good share, and no more, of what runs op by op is for."""
    time, cost = float(part.measured["part_ms"]), one.saving_ms or 0.0
    is_loop = part.measured["kind"] == "eager" and not is_the_program(part)
    is_counted = one.rule == _ONE_BY_ONE and one.place is None and "ops_per_step" in one.measured
    is_placed = part.place is not None and bool(part.place.file)
    return is_placed and is_loop and is_counted and SOME_FRAC * cost <= time < _LOOP_FRAC * cost


def mostly_in(one: Finding, part: Finding) -> Finding:
    """A finding about what the whole step runs op by op, with the loop that most of it is in."""
    at = part.place
    if at is None or not (at.function and at.line):
        return one
    where = brief_place(at.function, at.file, at.line)
    return replace(one, title=f"Ops run one by one, most in {where}")


def with_loop(one: Finding, part: Finding) -> Finding:
    """One finding of both: the loop's place and words, the other's count, severity and code."""
    ops, idle = (float(one.measured[name]) for name in ("ops_per_step", "idle_ms"))
    when = "" if one.saving_per == "recording" else " of a step"
    high = max(part.saving_high_ms or 0.0, one.saving_high_ms or one.saving_ms or 0.0)
    return replace(
        part,
        severity=one.severity,
        saving_high_ms=high,
        message=f"{part.message} In all {ops:,.0f} ops or functions are dispatched from Python, "
        f"and for {time_words(idle)}{when} nothing is computed.",
        measured={**one.measured, **part.measured},
        evidence=both(part.evidence, one.evidence),
        code=one.code,
    )


def is_the_program(part: Finding) -> bool:
    """Whether ops run one by one for the top of a file: a trainer called there is no loop."""
    at = part.place
    return part.measured["kind"] == "eager" and at is not None and at.function.startswith("<")


def both(first: tuple[Ref, ...], second: tuple[Ref, ...]) -> tuple[Ref, ...]:
    """Evidence of two findings; what both point to once, with the rows of both."""
    found = {(one.tool, one.what): one for one in first}
    for one in second:
        key = (one.tool, one.what)
        held = found.get(key)
        rows = one.rows if held is None else tuple(dict.fromkeys((*held.rows, *one.rows)))
        found[key] = replace(one if held is None else held, rows=rows)
    return tuple(found.values())
