"""From what rules say to one list: savings within bounds, causes for parts, an order.

The account of the step says how much time each kind of part has. No rule saves more than the parts
it explains have; a rule that explains a large part takes the place of the finding that only locates
it, and gets that finding's place in the program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from stepscope.advice.eager_loops import (
    both,
    has_loop,
    is_the_program,
    mostly_in,
    of_loop,
    with_loop,
)
from stepscope.advice.results import Results
from stepscope.registry import NEGLIGIBLE_FRAC, RuleFacts
from stepscope.result import Finding, Likelihood, Place, Result, Severity
from stepscope.tables.traits.op_families import DOUBLE

if TYPE_CHECKING:
    from stepscope.analysis.step_account import StepAccount

LOCATED = "largest-part"
# Rules that locate time by one table alone: the account is more exact.
_LOCATORS = {
    "python-bound": ("python", "library", "unrecorded", "region"),
    "dominant-op": ("op",),
    "eager-execution": ("framework",),
}
_INPUT = "input"
# A pass over the data that is begun for one batch is not what a batch costs.
_RESTARTED = "restarted-pipeline"
# From this share within calls for the next batch on, a part is the input's.
_MOSTLY_INPUT = 0.5
# What tells that a wait is not the fault of what is waited for takes the place of what says it is.
_ACQUITS = {"late-hand-over": "input-bound"}
_ONLY_LOCATE = ("python-bound", "dominant-op")
_IDLE = "idle-device"
_OF_HOST = ("python", "library", "framework", "eager", "compile", "input")
# The tool whose rows are ops.
_OPS = "framework_op_stats"
# What voids other findings: a recording that is not whole, or mostly of the start.
_INCOMPLETE, _START_UP = "incomplete-profile", "start-up"

_SEVERITY: tuple[Severity, ...] = ("info", "low", "medium", "high")
# Shares of the step that a finding without a saving is ranked by.
_WORTH = {"info": 0.0, "low": 0.05, "medium": 0.5, "high": 1.0}
# A cause goes before a symptom if it can save this share of what the symptom costs: a wait of
# 0.2 ms does not explain launches of 2 ms, although it may be one of their causes.
_EXPLAINS_FRAC = 0.25
# What to do about such a wait is what its cause says; it has but a list of what may cause it.
_ONLY_SYMPTOM = ("input-bound",)
# A cause that is hardly believed explains nothing.
_SURE_CAUSE = 0.4
# A cause that accounts for this share of a symptom goes before it whatever else there is.
_MOSTLY_FRAC = 0.5
# A rule explains a part if it accounts for this share of it.
_SAME_FRAC = 0.4
# A rule says more than a part if it accounts for more than this many times its time.
_MORE = 1.01
# What a rule itself hardly believes is not an alarm, nor is what is little and doubtful.
_DOUBTFUL = 0.25
# A cause that is known and likely goes before a part that costs this many times as much, at most.
_NAMED = 1.35
# How sure a saving can be of which one step was recorded.
_OF_ONE = 0.6
# From these on a confidence is called likely, or possible.
_LIKELY, _POSSIBLE = 0.8, 0.5


@dataclass(frozen=True, slots=True)
class StepTime:
    """The mean step.

    Attributes:
        step_ms: Its length; None where there are no steps.
        whole_ms: The same, or the length of what was recorded in their place; None unknown.
        kinds_ms: Its parts by kind; None where the account does not bound what rules say.
        is_one: Whether only one was recorded, which need not be like the others.
        is_window: Whether there is none but the recording as a whole, or one that is a guess.
        is_recording: Whether there is none but the recording as a whole.
        known_ms: What of the whole anything was recorded in; None unknown.
    """

    step_ms: float | None
    whole_ms: float | None
    kinds_ms: Mapping[str, float] | None
    is_one: bool
    is_window: bool
    is_recording: bool
    known_ms: float | None = None


def step_time(results: Mapping[str, Result]) -> StepTime:
    """The step as the overview and the account have it."""
    overview = Results(results).optional.overview_page
    mean = float("nan") if overview is None else overview.steps.time_ms.mean
    account = Results(results).optional.step_account
    kinds: dict[str, float] | None = None
    # Beside a device several threads launch and wait: the tables of devices tell it better.
    if account is not None and account.step_count and not account.has_device:
        kinds = {}
        for part in account.parts.records():
            kinds[part.kind] = kinds.get(part.kind, 0.0) + part.time_ms
            if part.kind != _INPUT:  # what makes the batch on the loop's own thread
                kinds[_INPUT] = kinds.get(_INPUT, 0.0) + part.time_ms * (part.input_frac or 0.0)
    is_one = account is not None and account.step_count == 1
    is_guess = is_one and overview is not None and overview.steps.confidence < _POSSIBLE
    is_recording = account is not None and account.step_count > 0 and account.is_window
    is_recording |= overview is not None and overview.steps.source == "window"
    pod = Results(results).optional.pod
    if overview is None and pod is not None:
        mean = pod.step_ms  # of more recordings than any tool opens
    step = mean if mean > 0 else None
    recorded = account.step_time_ms if account is not None and account.step_time_ms > 0 else None
    return StepTime(
        step,
        step or recorded,
        kinds,
        is_one=is_one,
        is_window=is_guess or (account is not None and account.is_window),
        is_recording=is_recording,
        known_ms=None if recorded is None else recorded - _unrecorded_ms(account),
    )


def _unrecorded_ms(account: StepAccount | None) -> float:
    parts = [] if account is None else list(account.parts.records())
    return sum(part.time_ms for part in parts if part.kind == "unrecorded")


def bounded(finding: Finding, rule: RuleFacts, time: StepTime) -> Finding:
    """The finding with its saving within its parts; small ones never cry wolf."""
    saving, high = finding.saving_ms, finding.saving_high_ms
    high = saving if high is None else high
    severity = finding.severity
    if rule.parts and time.kinds_ms is not None and finding.rule != LOCATED:
        most = sum(time.kinds_ms.get(kind, 0.0) for kind in rule.parts)
        # A call that need not be made goes with all that it runs, of whatever kind.
        most = max(most, float(finding.measured.get("below_ms") or 0.0))
        high = high if high is None else min(high, most)
        saving = saving if saving is None else min(saving, most)
    is_little = severity == "low" and finding.confidence < _POSSIBLE
    if finding.confidence < _DOUBTFUL or is_little:
        severity = "info"
    confidence = finding.confidence
    if time.is_one and saving is not None:
        # A single step may be warming up, or hold what a recorder does around it.
        confidence = min(confidence, _OF_ONE)
        severity = _SEVERITY[min(_SEVERITY.index(severity), 0 if time.is_window else 2)]
    step = time.step_ms
    if saving is not None and step is not None and saving < NEGLIGIBLE_FRAC * step:
        severity = "info"
    return replace(
        finding,
        severity=severity,
        saving_ms=saving,
        saving_high_ms=high,
        saving_per="recording" if time.is_recording else "step",
        confidence=confidence,
        likelihood=likelihood(confidence),
    )


def likelihood(confidence: float) -> Likelihood:
    """A confidence in a word."""
    if confidence >= _LIKELY:
        return "likely"
    return "possible" if confidence >= _POSSIBLE else "doubtful"


def refined(findings: Sequence[Finding], rules: Mapping[str, RuleFacts]) -> list[Finding]:
    """Replace each part that a rule explains by the rule's finding, with the part's place."""
    located = [one for one in findings if one.rule == LOCATED]
    acquitted = {_ACQUITS[one.rule] for one in findings if one.rule in _ACQUITS}
    others = [one for one in findings if one.rule not in (LOCATED, *acquitted)]
    kept: list[Finding] = []
    for part in located:
        some = next((at for at, one in enumerate(others) if has_loop(one, part)), None)
        if some is not None:
            others[some] = mostly_in(_with_place(others[some], part), part)
    for part in located:
        loop = next((at for at, one in enumerate(others) if of_loop(one, part)), None)
        if loop is not None:
            others[loop] = with_loop(others[loop], part)
            continue
        same = [at for at, one in enumerate(others) if _explains_part(one, part, rules)]
        is_replaced = any(_replaces(others[at], part) for at in same)
        for at in same:
            if others[at].place is None:
                others[at] = _with_place(others[at], part)
        if not is_replaced:
            kept.append(part)
    # What only locates, and locates something else than the account does, adds nothing.
    others = [one for one in others if one.rule not in _ONLY_LOCATE or one.place or not located]
    return [*kept, *others]


def _replaces(one: Finding, part: Finding) -> bool:
    """Whether a finding takes a part's place.

    What only informs comes after all parts: if it took the place of one that informs as well, the
    largest part of the step would be told last.
    """
    return one.rule in _LOCATORS or one.severity != "info" or part.severity != "info"


def _explains_part(one: Finding, part: Finding, rules: Mapping[str, RuleFacts]) -> bool:
    kind, time = str(part.measured["kind"]), float(part.measured["part_ms"])
    facts = rules.get(one.rule)
    if facts is None:
        return False
    if _is_input(part) and _INPUT in facts.parts:  # one of several, of which the first has a place
        return (one.saving_high_ms or 0.0) >= _SAME_FRAC * time
    if kind not in facts.parts or one.place is not None:
        return False
    if kind == "op" and one.rule not in _LOCATORS and not _names_op(one, part):
        return False
    if one.rule in _LOCATORS:
        is_most = one.rule in _ONLY_LOCATE or time >= _SAME_FRAC * (one.saving_ms or 0.0)
        is_located = kind in _LOCATORS[one.rule] or is_the_program(part)
        return is_located and is_most and (kind != "op" or _is_layer(part))
    return (one.saving_high_ms or 0.0) >= _SAME_FRAC * time


def _is_input(part: Finding) -> bool:
    return float(part.measured.get("input_frac") or 0.0) >= _MOSTLY_INPUT


def _names_op(one: Finding, part: Finding) -> bool:
    """Whether a rule that lists the ops it is about lists the part's; true where it lists none."""
    listed = [row for ref in one.evidence if ref.tool == _OPS for row in ref.rows]
    return not listed or part.place is None or part.place.op in listed


def _is_layer(part: Finding) -> bool:
    """Whether an op is what layers are made of, so that less of it is what helps."""
    # Its patterns take 3 ms to compile, and the overview's few rules seldom ask.
    from stepscope.advice.evidence.op_families import family_of

    family = family_of("" if part.place is None else part.place.family)
    # Of several functions one may be needless: that comes before smaller layers.
    is_layer = family is not None and family.is_layer and "functions" not in part.measured
    return is_layer and part.measured.get("data_type") not in DOUBLE


def _with_place(one: Finding, part: Finding) -> Finding:
    """A rule's finding about a part that the account locates."""
    # A rule that accounts for more than the part, such as the gaps around it, says more.
    time = float(part.measured["part_ms"])
    says_more = one.rule not in _ONLY_LOCATE and (one.saving_ms or 0.0) > _MORE * time
    if one.rule in _LOCATORS and not says_more and not is_the_program(part):
        whole = replace(part, evidence=both(part.evidence, one.evidence))
        if one.rule not in _ONLY_LOCATE and one.severity == "info":
            return whole  # what only informs of a cause does not claim that it is this part's
        return replace(
            whole,
            rule=one.rule,
            code=one.code,
            threshold=one.threshold,
        )
    measured = dict(one.measured)
    if part.measured["kind"] == "copy" or one.saving_per == "recording":
        # What compute cannot hide of a copy is still where the step goes; of a recording without
        # steps nothing is an alarm. Both rank as the part.
        measured["worth_ms"] = part.measured["worth_ms"]
    evidence = both(one.evidence, part.evidence[:1])
    told = _of_input(one, part) if _is_input(part) else _said_where(one, part.place)
    return replace(told, place=part.place, evidence=evidence, measured=measured)


def _said_where(one: Finding, place: Place | None) -> Finding:
    """A finding that says the line which the account has for it."""
    if place is None or not (place.file and place.line) or place.function[:1] in ("", "<"):
        return one
    at = f"{place.file}:{place.line}"
    if at in one.message:
        return one
    return replace(one, message=f"{one.message} Most of it is below {place.function} ({at}).")


def _of_input(one: Finding, part: Finding) -> Finding:
    """A finding about input with the function that makes the batches.

    Where the thread waits for others to make them is no such function.
    """
    place = part.place
    is_wait = part.measured["kind"] == _INPUT
    if is_wait and one.rule != _RESTARTED:
        from stepscope.advice.evidence.received import of_received

        return of_received(one, float(part.measured.get("received_frac") or 0.0))
    if is_wait or place is None or not place.function or one.rule == _RESTARTED:
        return one
    at = f"{place.file}:{place.line}" if place.line else place.file
    call = f"{place.call} in " if place.call else ""
    return replace(
        one,
        message=f"{one.message} Most of it runs in {call}{place.function} ({at}).",
        actions=(*one.actions, f"Do less for each element in {place.function}: {_CHEAPER}"),
    )


_CHEAPER = (
    "what is the same in each pass once, before the loop; tables and files as arrays in memory; "
    "whole batches instead of single rows."
)


def _rank(one: Finding, time: StepTime) -> tuple[bool, bool, bool, float, int, str]:
    """What comes first: what voids the rest, then by saving; what only informs comes last.

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
        is_doubtful = one.confidence < _POSSIBLE
        saving *= one.confidence if is_doubtful else (1 + one.confidence) / 2
    return (
        not (_is_most(one, time) or (one.rule == _INCOMPLETE and one.severity != "info")),
        one.severity == "info" and not is_part,
        one.severity == "info" and one.rule == _INCOMPLETE,
        -saving,
        -_SEVERITY.index(one.severity),
        one.rule,
    )


def _named_first(ranked: list[Finding]) -> list[Finding]:
    """The same with a likely cause before parts without one that cost little more than it."""
    found: list[Finding] = []
    for one in ranked:
        at = len(found)
        is_cause = one.rule not in (LOCATED, *_LOCATORS) and one.severity != "info"
        while at and is_cause and one.confidence >= _LIKELY and _is_near(found[at - 1], one):
            at -= 1
        found.insert(at, one)
    return found


def _is_near(part: Finding, cause: Finding) -> bool:
    """Whether a part without a cause costs no more than some times what a cause saves."""
    if part.rule != LOCATED or part.severity != "info":
        return False
    return float(part.measured["worth_ms"]) <= _NAMED * (cause.saving_ms or 0.0)


def _is_most(one: Finding, time: StepTime) -> bool:
    """Whether what was recorded is of the start for its larger part."""
    known = time.known_ms if time.is_recording and time.known_ms else time.step_ms or 0.0
    return one.rule == _START_UP and 2 * (one.saving_ms or 0.0) > known


def ordered(
    findings: Sequence[Finding], rules: Sequence[RuleFacts], time: StepTime
) -> tuple[Finding, ...]:
    """By saving; a cause directly before the strongest of its symptoms that would outrank it.

    It stays where it is if it is a small one and something else in between saves more. A part
    with its place goes before what a rule says about the same kind without one.
    """
    ranked = _named_first(sorted(findings, key=lambda one: _rank(one, time)))
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
        is_most = most is None or cost is None or most >= _MOSTLY_FRAC * cost
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
        named = {ranked[other].rule for other in explaining[at]}
        explained_by = tuple(cause for cause in causes.get(one.rule, ()) if cause in named)
        told = replace(one, explained_by=explained_by)
        placed.append(_of_cause(told, ranked) if one.rule in _ONLY_SYMPTOM else told)

    for at in range(len(ranked)):
        place(at)
    return tuple(placed)


def _of_cause(one: Finding, ranked: Sequence[Finding]) -> Finding:
    """A symptom that says what to do about its causes, in place of what may cause such a one."""
    causes = [cause for cause in ranked if cause.rule in one.explained_by]
    if not causes:
        return one
    listed = " and ".join(f"“{cause.title}”" for cause in causes)
    told = replace(one, actions=(f"Do what {listed} says: this goes with it.",), code={})
    # One wait has one number: that of the cause which saves most.
    known = [cause for cause in causes if cause.saving_ms is not None]
    if not known or one.saving_ms is None:
        return told
    most = max(known, key=lambda cause: cause.saving_ms or 0.0)
    return replace(
        told,
        saving_ms=most.saving_ms,
        saving_low_ms=most.saving_low_ms,
        saving_high_ms=most.saving_high_ms,
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

    A doubtful cause may still come before a symptom that is believed no more than itself.
    """
    if cause.severity == "info" or cause.confidence < min(_SURE_CAUSE, symptom.confidence):
        return False
    most, cost = cause.saving_high_ms, symptom.saving_ms
    return most is None or cost is None or most >= _EXPLAINS_FRAC * cost


def _locates(part: Finding, one: Finding, rules: Mapping[str, RuleFacts]) -> bool:
    """Whether the account has the place of most of what one of its locators found."""
    if part.rule == LOCATED and one.rule == _IDLE:
        # What the host does while devices idle says more than that they do.
        is_host = str(part.measured["kind"]) in _OF_HOST
        return is_host and float(part.measured["part_ms"]) >= _MOSTLY_FRAC * (one.saving_ms or 0.0)
    if part.rule != LOCATED or one.rule not in _LOCATORS or one.place is not None:
        return False
    return str(part.measured["kind"]) in rules[one.rule].parts and (
        float(part.measured["part_ms"]) >= _SAME_FRAC * (one.saving_ms or 0.0)
    )


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
