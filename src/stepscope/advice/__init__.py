"""The rules of the catalogue: ``RULES`` is the one ordered list, ``advise`` runs it.

The order of findings: by what fixing them is expected to save, except that a cause stands where
the strongest of the symptoms stands that it explains in good part. A starved step saves more on
paper ("input costs 40 ms") than the serial map that starves it ("threads save 35 ms"), but it is
the map that a person can change. The symptom itself waits until all that is as grave is listed, if
its cause's remedy is the only one that it has.

``step_time`` measures the step, ``savings`` bounds what a finding saves and gives it a range,
``merge`` makes one finding of a rule's and of the part it explains, ``rank`` puts them in order,
``render`` fills the texts of the ``catalogue``. What rules share is in ``evidence``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from stepscope.advice.match import Rules
from stepscope.advice.merge import merged
from stepscope.advice.rank import ordered, remedies_first
from stepscope.advice.render import (
    assumption_of,
    complete,
    not_recorded,
    note_of,
    proved,
    reason_of,
    unknown,
)
from stepscope.advice.results import Results
from stepscope.advice.savings import bounded, ranged
from stepscope.advice.step_time import StepTime, step_time
from stepscope.registry import Answer, Rule, Silence, Unknown
from stepscope.result import Advice, Checked, Finding, Outcome, Result

# Outcomes of rules in words.
_OUTCOMES: Final[Mapping[Outcome, str]] = {
    "fired": "found",
    "silent": "not found",
    "unknown": "not enough data",
    "failed": "the rule failed",
}
RULES = Rules()


def advise(
    results: Mapping[str, Result],
    rules: Iterable[Rule] = RULES,
    missing: Mapping[str, str] | None = None,
) -> Advice:
    """Return the findings of the rules in these results, and the outcome of every rule.

    Args:
        results: Results by tool id.
        rules: The rules to run.
        missing: Why a tool has no result here, by tool id.
    """
    ran = list(rules)
    results = {
        tool: one.as_recorded() if isinstance(one, Result) else one for tool, one in results.items()
    }
    time = step_time(results)
    facts = {rule.id: rule for rule in (*RULES, *ran)}
    findings: list[Finding] = []
    checked: list[Checked] = []
    for rule in ran:
        found: list[Finding] = []
        quiet: list[Silence | Unknown] = []
        try:
            for answer in _answers(rule, results, missing or {}):
                if isinstance(answer, Finding):
                    found.append(_completed(answer, facts.get(answer.rule, rule), time))
                else:
                    quiet.append(answer)
        except Exception as error:  # a broken rule, maybe a stranger's, must not cost the others
            checked.append(
                Checked(rule.id, rule.title, "failed", f"{type(error).__name__}: {error}")
            )
            continue
        findings += found
        checked.append(_outcome(rule, found, quiet, time))
    subjects, fired = RULES.subjects, {one.rule for one in findings}
    # A part of the step carries the rule that is about its kind.
    checked = [
        replace(one, outcome="fired", reason="") if one.rule in fired else one for one in checked
    ]
    checked = [
        replace(one, subject=subjects.get(one.rule, ""), said=_OUTCOMES[one.outcome])
        for one in checked
    ]
    placed = ordered(merged(findings, facts), ran, time)
    savings = remedies_first(
        [ranged(proved(one, results), facts[one.rule], results) for one in placed]
    )
    return Advice(
        complete(map(time.undisturbed, savings), results, time), tuple(checked), note_of(time)
    )


def _answers(
    rule: Rule, results: Mapping[str, Result], missing: Mapping[str, str]
) -> Iterator[Answer]:
    lacking = [need for need in rule.needs if need not in results]
    if lacking:
        why = missing.get(lacking[0])
        yield Unknown(why) if why else unknown("no_result", tool=lacking[0])
        return
    overview = Results(results).optional.overview_page
    blind = None if overview is None else not_recorded(overview, *rule.evidence)
    if blind is not None:
        yield blind
    else:
        # A rule sees what it declares: what it forgot to is missing everywhere, not on some days.
        yield from rule.check(Results({id_: results[id_] for id_ in rule.reads if id_ in results}))


def _outcome(
    rule: Rule, found: list[Finding], quiet: list[Silence | Unknown], time: StepTime
) -> Checked:
    if found:
        return Checked(rule.id, rule.title, "fired")
    unknown = next((one for one in quiet if isinstance(one, Unknown)), None)
    decisive = unknown or next(iter(quiet), None)
    reason = ""
    if decisive is not None:
        reason = reason_of(decisive, is_recording=time.is_recording)
    return Checked(rule.id, rule.title, "silent" if unknown is None else "unknown", reason)


def _completed(finding: Finding, rule: Rule, time: StepTime) -> Finding:
    """The finding with what its rule says once for all, and its savings within bounds."""
    whole = replace(
        finding,
        title=finding.title or ("" if finding.cause else rule.title),
        threshold=finding.threshold or rule.threshold,
        assumption=finding.assumption or assumption_of(rule.change, finding),
        wrong_when=finding.wrong_when or rule.wrong_when,
    )
    return bounded(whole, rule, time)
