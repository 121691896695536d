"""Findings of rules and the parts of the step that they explain, as one list.

A rule that explains a large part takes the place of the finding that only locates it, and gets
that finding's place in the program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from stepscope.advice.catalogue import causes
from stepscope.registry import RuleFacts
from stepscope.result import Finding, Ref
from stepscope.tables.core.thresholds import HALF_FRAC, LITTLE_FRAC, UNDER_HALF_FRAC

_INPUT = "input"
# What tells that a wait is not the fault of what is waited for takes the place of what says it is.
_ACQUITS = {"late-hand-over": "input-bound"}
# The tool whose rows are ops.
_OPS = "framework_op_stats"
#: The rule about ops that Python dispatches one by one, and the kind of part that locates it.
ONE_BY_ONE, _DISPATCH = "eager-execution", "framework"
_WAITS = "idle-host-waits"


def merged(findings: Sequence[Finding], rules: Mapping[str, RuleFacts]) -> list[Finding]:
    """Replace each part that a rule explains by the rule's finding, with the part's place."""
    located = [one for one in findings if is_part(one)]
    acquitted = {_ACQUITS[one.rule] for one in findings if one.rule in _ACQUITS}
    others = [one for one in findings if not is_part(one) and one.rule not in acquitted]
    kept: list[Finding] = []
    for part in located:
        loop = next((at for at, one in enumerate(others) if of_loop(one, part)), None)
        if loop is not None:
            others[loop] = with_loop(others[loop], part)
            continue
        same = [at for at, one in enumerate(others) if _explains_part(one, part, rules)]
        is_replaced = any(_replaces(others[at], part) for at in same)
        for at in same:
            if _is_at(others[at], part):
                others[at] = _with_place(others[at], part)
        if not is_replaced:
            kept.append(part)
    return [*kept, *others]


def is_part(one: Finding) -> bool:
    """Whether a finding locates a part of the step, and no rule says more about it."""
    cause = causes().get(one.cause)
    return cause is not None and cause.facts == "part"


def _replaces(one: Finding, part: Finding) -> bool:
    """Whether a finding takes a part's place.

    What only informs comes after all parts, unless it ranks as the part. In the place of one that
    informs as well, the largest part of the step would be told last.
    """
    is_only_info = one.severity == part.severity == "info"
    return one.rule == ONE_BY_ONE or not is_only_info or _ranks_as_part(one, part)


def _ranks_as_part(one: Finding, part: Finding) -> bool:
    """Whether a finding ranks as the part that it explains.

    What compute cannot hide of a copy is still where the step goes; of a recording without steps
    nothing is an alarm.
    """
    return part.measured["kind"] == "copy" or one.saving_per == "recording"


def _explains_part(one: Finding, part: Finding, rules: Mapping[str, RuleFacts]) -> bool:
    kind, time = str(part.measured["kind"]), float(part.measured["part_ms"])
    facts = rules.get(one.rule)
    if facts is None:
        return False
    if _is_input(part) and _INPUT in facts.parts:  # one of several, of which the first has a place
        return (one.saving_high_ms or 0.0) >= UNDER_HALF_FRAC * time
    if one.cause == _WAITS:  # one wait, for the device and the host
        return kind == "wait" and (one.saving_ms or 0.0) >= UNDER_HALF_FRAC * time
    if kind not in facts.parts or not _is_at(one, part):
        return False
    if one.rule == ONE_BY_ONE:
        is_located = kind == _DISPATCH or is_the_program(part)
        return is_located and time >= UNDER_HALF_FRAC * (one.saving_ms or 0.0)
    if kind == "op" and not _names_op(one, part):
        return False
    return (one.saving_high_ms or 0.0) >= UNDER_HALF_FRAC * time


def _is_at(one: Finding, part: Finding) -> bool:
    """Whether a finding has no place but the part's: its line, and the op there."""
    own, at = one.place, part.place
    if own is None or at is None:
        return own is None
    return own.line > 0 and (own.file, own.line, own.op) == (at.file, at.line, at.op)


def _is_input(part: Finding) -> bool:
    return float(part.measured.get("input_frac") or 0.0) >= HALF_FRAC


def _names_op(one: Finding, part: Finding) -> bool:
    """Whether a rule that lists the ops it is about lists the part's; true where it lists none."""
    listed = [row for ref in one.evidence if ref.tool == _OPS for row in ref.rows]
    return not listed or part.place is None or part.place.op in listed


def _with_place(one: Finding, part: Finding) -> Finding:
    """A rule's finding about a part that the account locates."""
    # A rule that accounts for more than the part, such as the gaps around it, says more.
    time = float(part.measured["part_ms"])
    says_more = (one.saving_ms or 0.0) > (1 + LITTLE_FRAC) * time
    if one.rule == ONE_BY_ONE and not says_more and not is_the_program(part):
        whole = replace(part, evidence=both(part.evidence, one.evidence))
        if one.severity == "info":
            return whole  # what only informs of a cause does not claim that it is this part's
        return replace(whole, rule=one.rule, code=one.code, threshold=one.threshold)
    measured = dict(one.measured)
    if _ranks_as_part(one, part):
        measured["worth_ms"] = part.measured["worth_ms"]
    evidence = both(one.evidence, part.evidence[:1])
    return replace(one, place=part.place, evidence=evidence, measured=measured)


def of_loop(one: Finding, part: Finding) -> bool:
    """Whether a part is the loop that most of what a step runs op by op is for."""
    if one.rule != ONE_BY_ONE or "ops_per_step" not in one.measured:
        return False
    time, cost = float(part.measured["part_ms"]), one.saving_ms or 0.0
    is_loop = part.measured["kind"] == "eager" and not is_the_program(part)
    return is_loop and one.place is None and time >= HALF_FRAC * cost > 0


def with_loop(one: Finding, part: Finding) -> Finding:
    """One finding of both: the loop's place and words, the other's rule, count and severity."""
    high = max(part.saving_high_ms or 0.0, one.saving_high_ms or one.saving_ms or 0.0)
    return replace(
        part,
        rule=one.rule,
        threshold=one.threshold,
        severity=one.severity,
        saving_high_ms=high,
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
