"""Matches of causes with facts: findings with numbers, without words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast, overload

from stepscope.advice.catalogue import causes, effects, entries, thresholds
from stepscope.advice.conditions import first_failure
from stepscope.advice.render import not_met, silent, unknown
from stepscope.advice.results import Results
from stepscope.advice.signals import PROVIDERS, Facts
from stepscope.registry import Answer, Rule, RuleFacts, severity_of
from stepscope.result import Finding, Place, Ref, Severity

if TYPE_CHECKING:
    from stepscope.tables.recording.evidence import Evidence

_RULES: Final = "stepscope.advice.rules"


def match(
    cause: str,
    step_ms: float,
    saving_ms: float | None,
    confidence: float,
    *,
    cost_ms: float | None = None,
    low_ms: float | None = None,
    high_ms: float | None = None,
    severity: Severity | None = None,
    place: Place | None = None,
    evidence: tuple[Ref, ...] = (),
    details: tuple[str, ...] = (),
    more: Mapping[str, float | str | None] = MappingProxyType({}),
    **facts: float | str | None,
) -> Finding:
    """Return the finding of a cause, whose texts follow from its facts.

    Args:
        cause: Its id.
        step_ms: The mean step.
        saving_ms: What its change is expected to save; None unknown.
        confidence: 0-1.
        cost_ms: What it costs, which decides how grave it is; None: what it saves.
        low_ms: What it saves at least; None: by its effect.
        high_ms: What it saves at most; None: by its effect.
        severity: Where the loss does not decide.
        place: Where it is.
        evidence: Where to see it.
        details: Names that only ``explain`` lists.
        more: Further facts, by names that are made.
        **facts: What its texts name; those that are unknown are left out.
    """
    entry = causes()[cause]
    cost = saving_ms if cost_ms is None else cost_ms
    grave: Severity = "info"
    if severity is not None:
        grave = severity
    elif entry.severity == "overhead" and cost is not None:
        # What cannot be changed to a measurable effect is no alarm, whatever it costs.
        worth = saving_ms is None or saving_ms >= thresholds()["act"] * step_ms
        grave = severity_of(cost, step_ms) if worth else "info"
    known = {**more, **facts}
    measured = {name: value for name, value in known.items() if value is not None}
    measured |= {"step_time_ms": step_ms} if step_ms > 0 else {}
    if saving_ms is not None:
        measured["step_after_ms"] = step_ms - saving_ms
    if cost is not None:
        measured["cost_ms"] = cost
    return Finding(
        rule=entry.rule,
        cause=cause,
        severity=grave,
        saving_ms=saving_ms,
        saving_low_ms=low_ms,
        saving_high_ms=high_ms,
        confidence=confidence,
        message="",
        evidence=evidence,
        place=place,
        measured=measured,
        details=details,
    )


@cache
def rule_of(id_: str) -> Rule:
    """Return a rule of the catalogue, which imports its detector when it is asked."""
    entry = entries()[id_]

    def check(results: Results) -> Iterator[Answer]:
        if entry.steps and not _mean_step_ms(entry.steps, results) > 0:
            yield unknown("no_steps")
            return
        module, _, function = entry.detector.partition(":")
        detect = getattr(import_module(f"{_RULES}.{module}"), function) if module else None
        answers = detect(results) if detect else _by_conditions(id_, results)
        yield from (answers,) if isinstance(answers, Answer) else answers

    facts = entry.facts
    return Rule(
        id=id_,
        check=check,
        title=facts.title,
        needs=facts.needs,
        optional=facts.optional,
        adds=facts.adds,
        symptom_of=facts.symptom_of,
        cause_of=facts.cause_of,
        parts=facts.parts,
        threshold=entry.fires,
        evidence=cast("tuple[Evidence, ...]", entry.evidence),
        change=effects()[entry.effect] if entry.effect else None,
    )


def _mean_step_ms(tool: str, results: Results) -> float:
    if tool == "overview_page":
        return results.overview_page.steps.time_ms.mean
    step_ms: float = getattr(results, tool).step_time_ms
    return step_ms


def _by_conditions(id_: str, results: Results) -> Answer:
    """Return the finding of the first cause of a rule whose condition holds."""
    of_rule = [cause for cause in causes().values() if cause.rule == id_]
    facts = PROVIDERS[of_rule[0].facts](results)
    if not isinstance(facts, Facts):
        return facts
    for cause in of_rule:
        if (failure := first_failure(cause.when, facts.values)) is not None:
            continue
        saving = float(facts.values.get(cause.cost, 0.0)) if cause.cost else None
        if saving is not None and not saving > 0:
            return silent("no_gain")
        high = facts.values.get(cause.high)
        return match(
            cause.id,
            facts.step_ms,
            saving,
            cause.confidence,
            high_ms=None if saving is None or high is None else max(float(high), saving),
            place=facts.place,
            evidence=facts.evidence,
            more=facts.values,
        )
    return not_met(failure or ("", ""), facts.values)


class Rules(Sequence[Rule]):
    """The rules of the catalogue in order; its files are read when they are first asked for."""

    @cached_property
    def subjects(self) -> Mapping[str, str]:
        """What each rule is about, by id in order: the file that its cause is in."""
        return {id_: causes()[id_].subject for id_ in entries()}

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the rules, in order."""
        return tuple(self.subjects)

    @property
    def facts(self) -> tuple[RuleFacts, ...]:
        """What lists of rules know of each, in order."""
        return tuple(entries()[id_].facts for id_ in self.ids)

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, place: int) -> Rule: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Rule]: ...
    def __getitem__(self, place: int | slice) -> Rule | Sequence[Rule]:
        if isinstance(place, slice):
            return [rule_of(id_) for id_ in self.ids[place]]
        return rule_of(self.ids[place])
