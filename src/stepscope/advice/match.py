"""Matches of causes with facts: findings with numbers, without words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache, cached_property
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast, overload

from stepscope.advice.catalogue import RuleEntry, causes, effects, entries, threshold
from stepscope.advice.conditions import first_failure
from stepscope.advice.render import below, not_met, silent, unknown
from stepscope.advice.results import Results
from stepscope.advice.signals import PROVIDERS, Facts
from stepscope.registry import Answer, Rule, RuleFacts, Silence, severity_of
from stepscope.result import Finding, Place, Ref, Severity
from stepscope.tables.core.thresholds import ACT_FRAC

if TYPE_CHECKING:
    from stepscope.tables.recording.evidence import Evidence

_RULES: Final = "stepscope.advice.rules"


class Case(Results):
    """The results that a rule reads, with the step that its costs are shares of.

    Attributes:
        rule: The rule.
        step_ms: The mean step; 0.0 where the rule does without.
        sure: 0-1, how sure the steps are; a condition's confidence holds for any.
    """

    __slots__ = ("rule", "step_ms", "sure")

    def __init__(self, rule: RuleEntry, results: Results) -> None:
        super().__init__(results.found)
        self.rule, self.sure = rule, 1.0
        self.step_ms = 0.0
        if rule.steps == "overview_page":
            steps = results.overview_page.steps
            self.step_ms = steps.time_ms.mean
            self.sure = steps.confidence if rule.detector else 1.0
        elif rule.steps:
            self.step_ms = getattr(results, rule.steps).step_time_ms

    def below(self, cost_ms: float, least_frac: float | None = None) -> Silence:
        """Return that a cost is too small a share of the step; None: the rule's least."""
        least = threshold(self.rule.least) if least_frac is None else least_frac
        return below(cost_ms, self.step_ms, least)

    def judged(self, answer: Answer) -> Answer:
        """Return the answer, or that what it found costs less than the rule's least."""
        if not isinstance(answer, Finding) or not self.rule.least:
            return answer
        measured, least = answer.measured, threshold(self.rule.least)
        cost, step = (float(measured.get(name, 0.0)) for name in ("cost_ms", "step_time_ms"))
        is_costly = "cost_ms" not in measured or cost >= least * step
        return answer if is_costly else below(cost, step, least)

    def match(
        self,
        cause: str,
        saving_ms: float | None = None,
        *,
        sure: float = 1.0,
        step_ms: float | None = None,
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
        """Return the finding of a cause.

        Args:
            cause: Its id, from which its texts follow.
            saving_ms: What its change is expected to save; None: by the cause's shares of its cost.
            sure: 0-1, how sure it is here, of what it is usually.
            step_ms: The mean step where it is not the case's.
            cost_ms: What it costs, which decides how grave it is; None: what it saves.
            low_ms: What it saves at least; None: by the cause's shares, or by its effect.
            high_ms: What it saves at most; None: the same.
            severity: Where the loss does not decide.
            place: Where it is.
            evidence: Where to see it.
            details: Names that only ``explain`` lists.
            more: Further facts, by names that are made.
            **facts: What its texts name; those that are unknown are left out.
        """
        entry = causes()[cause]
        step = self.step_ms if step_ms is None else step_ms
        cost = saving_ms if cost_ms is None else cost_ms
        if entry.goes and cost is not None and saving_ms is None:
            low_ms, saving_ms, most_ms = (share * cost for share in entry.goes)
            high_ms = min(max(most_ms, high_ms or 0.0), step)
        grave: Severity = "info"
        if severity is not None:
            grave = severity
        elif entry.severity == "overhead" and cost is not None:
            # A cost without a measurable saving is no alarm.
            worth = saving_ms is None or saving_ms >= ACT_FRAC * step
            grave = severity_of(cost, step) if worth else "info"
        known = {**more, **facts}
        measured = {name: value for name, value in known.items() if value is not None}
        measured |= {"step_time_ms": step} if step > 0 else {}
        if saving_ms is not None:
            measured["step_after_ms"] = step - saving_ms
        if cost is not None:
            measured["cost_ms"] = cost
        return Finding(
            rule=entry.rule,
            cause=cause,
            severity=grave,
            saving_ms=saving_ms,
            saving_low_ms=low_ms,
            saving_high_ms=high_ms,
            confidence=round(entry.confidence * sure * self.sure, 2),
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
        case = Case(entry, results)
        if entry.steps and not case.step_ms > 0:
            yield unknown("no_steps")
            return
        module, _, function = entry.detector.partition(":")
        detect = getattr(import_module(f"{_RULES}.{module}"), function) if module else None
        answers = detect(case) if detect else _by_conditions(id_, case)
        yield from map(case.judged, (answers,) if isinstance(answers, Answer) else answers)

    return Rule(
        **{one.name: getattr(entry.facts, one.name) for one in fields(RuleFacts)},
        check=check,
        threshold=entry.fires,
        evidence=cast("tuple[Evidence, ...]", entry.evidence),
        change=effects()[entry.effect] if entry.effect else None,
    )


def _by_conditions(id_: str, case: Case) -> Answer:
    """Return the finding of the first cause of a rule whose condition holds."""
    of_rule = [cause for cause in causes().values() if cause.rule == id_]
    facts = PROVIDERS[of_rule[0].facts](case)
    if not isinstance(facts, Facts):
        return facts
    for cause in of_rule:
        if (failure := first_failure(cause.when, facts.values)) is not None:
            continue
        saving = float(facts.values.get(cause.cost, 0.0)) if cause.cost else None
        if saving is not None and not saving > 0:
            return silent("no_gain")
        high = facts.values.get(cause.high)
        return case.match(
            cause.id,
            saving,
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
        """Return the subject of each rule, by id in order: the file that its cause is in."""
        return {id_: causes()[id_].subject for id_ in entries()}

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the rules, in order."""
        return tuple(self.subjects)

    @property
    def facts(self) -> tuple[RuleFacts, ...]:
        """Return the facts of each rule for lists, in order."""
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
