"""The order of findings: by what they save, and a cause before the symptoms that it explains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from math import inf

from stepscope.advice.merge import ONE_BY_ONE, is_part
from stepscope.advice.render import ONLY_SYMPTOM
from stepscope.advice.step_time import StepTime
from stepscope.registry import POSSIBLE, SEVERITIES, RuleFacts
from stepscope.result import Finding
from stepscope.tables.core.thresholds import HALF_FRAC, LARGE_FRAC, UNDER_HALF_FRAC

_IDLE = "idle-device"
_OF_HOST = ("python", "library", "framework", "eager", "compile", "input")
# What voids other findings: a recording that is not whole, or mostly of the start.
_INCOMPLETE, _START_UP, _BETWEEN = "incomplete-profile", "start-up", "between-steps"
# Shares of the step that a finding without a saving is ranked by.
_WORTH = {"info": 0.0, "low": 0.05, "medium": 0.5, "high": 1.0}


def ordered(
    findings: Sequence[Finding], rules: Sequence[RuleFacts], time: StepTime
) -> tuple[Finding, ...]:
    """By saving; a cause directly before the strongest of its symptoms that would outrank it.

    It stays where it is if it is a small one and something else in between saves more. A part
    with its place goes before what a rule says about the same kind without one.
    """
    ranked = sorted(findings, key=lambda one: _rank(one, time))
    causes, facts = _causes(rules), {rule.id: rule for rule in rules}
    explaining = [_explaining(one, ranked, causes, facts) for one in ranked]
    placed: list[Finding] = []
    visited: set[int] = set()

    def climbs(cause: int, at: int) -> bool:
        """Whether a cause goes before its symptom: it is most of it, or nothing else saves more.

        Several small causes of one large symptom do not come before what saves more than each.
        """
        between = (other for other in range(at + 1, cause) if other not in explaining[at])
        most, cost = ranked[cause].saving_high_ms, ranked[at].saving_ms
        is_most = most is None or cost is None or most >= HALF_FRAC * cost
        return is_most or visited.issuperset(between)

    def place(at: int) -> None:
        """Its causes, then itself; ``visited`` also ends a circle of rules."""
        if at in visited:
            return
        visited.add(at)
        one = ranked[at]
        located = [other for other, part in enumerate(ranked) if _locates(part, one, facts)]
        for other in (*explaining[at], *located):
            if other in located or climbs(other, at):
                place(other)
        found = [ranked[other] for other in (*explaining[at], *located)]
        if one.cause in ONLY_SYMPTOM:
            placed.append(_of_causes(one, found))
        else:
            placed.append(replace(one, explained_by=_rules_of(found)))

    for at in range(len(ranked)):
        place(at)
    return tuple(placed)


def remedies_first(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The same, with a symptom whose remedy is its causes' after all that is at least as grave.

    Between its cause and the next remedy it would keep the latter from being read. It never
    climbs, and stays before what it explains itself.

    Args:
        findings: In order, with the severity that is shown.
    """
    placed = list(findings)
    for one in findings:
        if not _has_no_remedy(one):
            continue
        at = next(at for at, other in enumerate(placed) if other is one)
        placed.insert(at + _passed(one, placed[at + 1 :]), placed.pop(at))
    return tuple(placed)


def _passed(symptom: Finding, after: Sequence[Finding]) -> int:
    """How many of the findings after a symptom without a remedy go before it."""
    rest = takewhile(lambda other: symptom.rule not in other.explained_by, after)
    places = [place for place, other in enumerate(rest, 1) if _comes_before(other, symptom)]
    return max(places, default=0)


def _has_no_remedy(one: Finding) -> bool:
    """Whether all that it says to do is what its causes say."""
    return one.cause in ONLY_SYMPTOM and bool(one.explained_by)


def _comes_before(other: Finding, symptom: Finding) -> bool:
    """Whether a finding with a remedy of its own is as grave as a symptom without one."""
    is_as_grave = SEVERITIES.index(other.severity) >= SEVERITIES.index(symptom.severity)
    return is_as_grave and not _has_no_remedy(other) and other.rule != _INCOMPLETE


def _rank(one: Finding, time: StepTime) -> tuple[bool, bool, bool, float, int, str]:
    """Return the sort key: findings that void the rest, then by saving; mere information last.

    A remark on the recording, where it voids nothing, comes after all that it was recorded for.
    A part of the step ranks by its size, whether or not it is an alarm: nothing about a small
    part comes before it. What saves no time, such as memory, ranks by its severity.
    """
    is_part = "worth_ms" in one.measured
    saving = float(one.measured["worth_ms"]) if is_part else one.saving_ms
    if saving is None:
        saving = _WORTH[one.severity] * (time.step_ms or 0.0)
    elif not is_part:
        # What is doubtful counts as it is expected: it goes after a part with as much.
        is_doubtful = one.confidence < POSSIBLE
        saving *= one.confidence if is_doubtful else (1 + one.confidence) / 2
    return (
        not (_is_most(one, time) or (one.rule == _INCOMPLETE and one.severity != "info")),
        one.severity == "info" and not is_part,
        one.severity == "info" and one.rule == _INCOMPLETE,
        -saving,
        -SEVERITIES.index(one.severity),
        one.rule,
    )


def _is_most(one: Finding, time: StepTime) -> bool:
    """Whether what was recorded is for its larger part of the start, or of no step."""
    if one.rule == _BETWEEN:
        return one.severity == "high"
    known = time.known_ms if time.is_recording and time.known_ms else time.step_ms or 0.0
    return one.rule == _START_UP and 2 * (one.saving_ms or 0.0) > known


def _rules_of(findings: Sequence[Finding]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.rule for one in findings))


def _of_causes(one: Finding, causes: Sequence[Finding]) -> Finding:
    """A symptom with the saving of its causes, if they are most of it: one wait has one number."""
    known = [cause for cause in causes if cause.saving_ms is not None]
    if one.saving_ms is None or len(known) < len(causes):
        return replace(one, explained_by=_rules_of(causes))
    most_ms = sum(cause.saving_high_ms or 0.0 for cause in known)
    if not known or most_ms < HALF_FRAC * one.saving_ms:
        return one
    largest = max(known, key=lambda cause: cause.saving_ms or 0.0)
    return replace(
        one,
        explained_by=_rules_of(causes),
        saving_ms=largest.saving_ms,
        saving_low_ms=largest.saving_low_ms,
        saving_high_ms=largest.saving_high_ms,
    )


def _explaining(
    one: Finding,
    ranked: Sequence[Finding],
    causes: Mapping[str, tuple[str, ...]],
    facts: Mapping[str, RuleFacts],
) -> list[int]:
    """Which of the ranked findings are causes of one of them."""
    return [
        at
        for at, cause in enumerate(ranked)
        if cause.rule in causes.get(one.rule, ())
        and _explains(cause, one)
        and _concerns(facts.get(cause.rule), one)
    ]


def _explains(cause: Finding, symptom: Finding) -> bool:
    """Whether a finding of a cause accounts for a symptom: large enough, and believed enough.

    A wait of 0.2 ms does not explain launches of 2 ms, although it may be one of their causes. A
    doubtful cause may still come before a symptom that is believed no more than itself.
    """
    if cause.severity == "info" or cause.confidence < min(UNDER_HALF_FRAC, symptom.confidence):
        return False
    most, cost = cause.saving_high_ms, symptom.saving_ms
    return most is None or cost is None or most >= LARGE_FRAC * cost


def _locates(part: Finding, one: Finding, rules: Mapping[str, RuleFacts]) -> bool:
    """Whether the account has the place of most of what one of its locators found."""
    if not is_part(part) or part.rule == ONE_BY_ONE:
        return False
    kind, share = part.measured["kind"], float(part.measured["part_ms"]) / (one.saving_ms or inf)
    if one.rule == _IDLE:
        # The work of the host while devices idle tells more than their idle time.
        return kind in _OF_HOST and share >= HALF_FRAC
    is_unplaced = one.rule == ONE_BY_ONE and one.place is None
    return is_unplaced and kind in rules[one.rule].parts and share >= UNDER_HALF_FRAC


def _concerns(cause: RuleFacts | None, symptom: Finding) -> bool:
    """Whether a cause concerns the part that a finding locates: dispatch does not cause an op."""
    kind = symptom.measured.get("kind") if "worth_ms" in symptom.measured else None
    return kind is None or cause is None or not cause.parts or kind in cause.parts


def _causes(rules: Sequence[RuleFacts]) -> dict[str, tuple[str, ...]]:
    """Ids of the rules that name the cause of what each rule sees."""
    return {
        rule.id: (*rule.symptom_of, *(one.id for one in rules if rule.id in one.cause_of))
        for rule in rules
    }
