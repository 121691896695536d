"""The saving of a finding's change, within bounds: of its parts first, and then as a range.

The account of the step says how much time each kind of part has: no rule saves more than the parts
it explains have. A rule measures what its change is made to. At least the share of it goes that
changes of that class take away; at most all of it, and with it what the account shows to go with
such a part. The account was played again without each of its parts: what is left of a part's time
when only the part goes, in the mean and in the typical step, and when all goes with it that can.
How far the steps differ tells how well their mean is known.

Severity follows: nothing is graver than its largest saving. A range that is most of the step
promises nothing, and says so.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import isnan, nan
from typing import TYPE_CHECKING, Final

from stepscope.advice.catalogue import causes
from stepscope.advice.render import phrase
from stepscope.advice.results import Results
from stepscope.advice.step_time import StepTime
from stepscope.records import dataclass, replace
from stepscope.registry import (
    NEGLIGIBLE_FRAC,
    POSSIBLE,
    SEVERITIES,
    Rule,
    RuleFacts,
    likelihood_of,
    severity_of,
)
from stepscope.result import Finding, Result
from stepscope.tables.core.thresholds import (
    HALF_FRAC,
    LARGE_FRAC,
    MOST_FRAC,
    SOME_FRAC,
    WIDE_FRAC,
)

if TYPE_CHECKING:
    from stepscope.analysis.step_account import AccountPart, StepAccount
    from stepscope.registry import ChangeClass

# A mean is within as many standard errors of what it would be of many steps, 19 times of 20.
ERRORS: Final = 2.0
# Parts that are made of ops.
_OF_OPS: Final = ("op", "layer", "program", "function")
# Parts that are what a function does itself.
_OF_CODE: Final = ("python", "library")


def bounded(finding: Finding, rule: RuleFacts, time: StepTime) -> Finding:
    """The finding with its saving within its parts; small ones never cry wolf."""
    saving, high = finding.saving_ms, finding.saving_high_ms
    high = saving if high is None else high
    severity = finding.severity
    if rule.parts and time.kinds_ms is not None and "part_ms" not in finding.measured:
        most = sum(time.kinds_ms.get(kind, 0.0) for kind in rule.parts)
        # A call that need not be made goes with all that it runs, of whatever kind.
        most = max(most, float(finding.measured.get("below_ms") or 0.0))
        high = high if high is None else min(high, most)
        saving = saving if saving is None else min(saving, most)
    is_little = severity == "low" and finding.confidence < POSSIBLE
    # A rule with little confidence raises no alarm, nor does a small and doubtful loss.
    if finding.confidence < LARGE_FRAC or is_little:
        severity = "info"
    confidence = finding.confidence
    if time.is_one and saving is not None:
        # A single step may be warming up, or hold what a recorder does around it.
        confidence = min(confidence, POSSIBLE)
        severity = SEVERITIES[min(SEVERITIES.index(severity), 0 if time.is_window else 2)]
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
        likelihood=likelihood_of(confidence),
    )


def _without_recorder(low: float, account: StepAccount) -> float:
    """The least saving where an input's thread recorded very many events: its wait holds them all.

    What runs on the loop's own thread shrinks with its events, and its share stays.

    Returns:
        Milliseconds of the recorded step, with the share of it that goes of one without recorder.
    """
    step, cost = account.step_time_ms, account.recording_ms
    return max(low - cost, 0.0) * step / (step - cost)


def ranged(finding: Finding, rule: Rule, results: Mapping[str, Result]) -> Finding:
    """The finding with the least and the most that its change saves."""
    saving, low, high = finding.saving_ms, finding.saving_low_ms, finding.saving_high_ms
    if saving is None:
        return finding
    high = saving if high is None else max(saving, high)
    account = Results(results).optional.step_account
    is_part = "part_ms" in finding.measured  # whose range was played already
    if account is not None and rule.parts and not is_part and not account.has_device:
        beside = 1.0 if rule.change is None else rule.change.beside
        high = widened(account, rule.parts, high, beside)
    if low is not None:
        low = min(low, saving)
    elif rule.change is None:
        low = HALF_FRAC * saving
    else:
        low = min(rule.change.least, 1.0) * saving
        low += rule.change.gains * (high - low)
    if account is not None and "input" in rule.parts and account.recording_ms > 0:
        # A range as wide as one may be still says more than none.
        widest = min(low, high - WIDE_FRAC * account.step_time_ms)
        low = max(_without_recorder(low, account), widest)
    severity = finding.severity
    if account is not None and account.step_time_ms > 0:
        gravest = severity_of(high, account.step_time_ms)
        severity = min(severity, gravest, key=SEVERITIES.index)
    complete = replace(
        finding,
        severity=severity,
        saving_ms=max(saving, low),
        saving_low_ms=low,
        saving_high_ms=high,
    )
    # Damaged times leave steps without a length.
    step = nan if account is None or account.step_time_ms <= 0 else account.step_time_ms
    # A wider range tells nobody whether to begin.
    if not high - low > WIDE_FRAC * step:
        return complete
    cause = causes().get(finding.cause)
    if cause is not None and cause.severity == "large":
        complete = replace(complete, severity="info")  # how much of it is lost is open as well
    shares = {"low_frac": low / step, "high_frac": min(high / step, 1.0)}
    return without_saving(complete, phrase("open_range", **shares, base=finding.saving_per))


# ---------------------------------------------------------------------------- parts


@dataclass(frozen=True, slots=True)
class Saving:
    """A range, in ms per mean step.

    Attributes:
        low_ms: Where the least goes that a change of its kind takes away, and nothing with it.
        expected_ms: Between the two.
        high_ms: Where the part goes, and with it what surrounds it, of a step that may be shorter.
    """

    low_ms: float
    expected_ms: float
    high_ms: float


def saving_of(
    account: StepAccount, part: AccountPart, change: ChangeClass, expected: float
) -> Saving:
    """Return the saving of a change to a part.

    Args:
        account: Of the step.
        part: One of its parts.
        change: Its class: which share goes at least, and of what is beside it at most.
        expected: Share that is expected to go.
    """
    alone, typical, most = played(part)
    rest = account.step_time_ms - part.time_ms if change.overlaps else account.step_time_ms
    alone, typical = min(alone, rest), min(typical, rest)
    low = change.least * typical
    most = alone + change.beside * max(most - alone, 0.0)
    most = max(most, _of_its_function(account, part))
    high = max(min(upper_bound_ms(account, part, most), rest), expected * alone)
    low = min(low, high)
    low += change.gains * (high - low)
    return Saving(low, max(expected * alone, low), high)


def _of_its_function(account: StepAccount, part: AccountPart) -> float:
    """Return the saving of all parts of the function that a part is in; 0.0 where unknown.

    Who changes an op may find that the whole of what it belongs to is not needed. Where a function
    itself is to go, what it calls goes with it.
    """
    if not part.function or part.kind not in (*_OF_OPS, *_OF_CODE):
        return 0.0
    begin, end = f"{part.file}:", f" {part.function}"  # a caller is "file:line function"
    whole = sum(
        played(one)[0]
        for one in account.part_list()
        if (one.file, one.function) == (part.file, part.function)
        or (part.kind in _OF_CODE and one.caller.startswith(begin) and one.caller.endswith(end))
    )
    # A function with nearly all of the step is its loop, which cannot be left out.
    return whole if whole < (1 - SOME_FRAC) * account.step_time_ms else 0.0


def upper_bound_ms(account: StepAccount, part: AccountPart, most_ms: float) -> float:
    """The most that goes: its share of a step whose rest is shorter than on average.

    What steps differ by came from outside, or in few of them: the rest may be shorter by as many
    errors of the mean as are likely. Beside a device nothing is known of that.
    """
    step = account.step_time_ms
    if account.has_device or is_hidden(part) or not 0 < most_ms < step:
        return most_ms
    rest = (step - most_ms) * max(1 - ERRORS * error_frac(account), 0.0)
    return step * most_ms / (most_ms + rest)


def error_frac(account: StepAccount) -> float:
    """The standard error of the mean step, as a share of it; of a single one it is not known."""
    error = account.step_error_ms / account.step_time_ms
    return LARGE_FRAC if isnan(error) else error


def without_saving(finding: Finding, why: str) -> Finding:
    """The finding with the reason why it promises nothing in place of what it saves.

    Args:
        finding: It.
        why: A clause.
    """
    measured = {name: value for name, value in finding.measured.items() if name != "step_after_ms"}
    return replace(
        finding,
        saving_ms=None,
        saving_low_ms=None,
        saving_high_ms=None,
        assumption="",
        no_saving=why,
        measured=measured,
    )


def is_hidden(part: AccountPart) -> bool:
    """Whether much of it runs beside what the step would wait for without it."""
    return not part.alone_ms >= MOST_FRAC * part.time_ms


def played(part: AccountPart) -> tuple[float, float, float]:
    """Return its saving alone, in a typical step and at most; small parts were not played again."""
    if not part.alone_ms >= 0:
        return part.time_ms, part.time_ms, part.time_ms
    is_typical = part.typical_ms > 0 and not part.number("steps_frac") < HALF_FRAC
    return part.alone_ms, part.typical_ms if is_typical else part.alone_ms, part.most_ms


def widened(account: StepAccount, kinds: Collection[str], high_ms: float, beside: float) -> float:
    """Return the most that a change saves which takes so much from a part of these kinds.

    The part is the one of that size: what goes with it goes with the change in proportion.

    Args:
        account: Of the step.
        kinds: Of the parts that the change is made to.
        high_ms: What it takes from them at most.
        beside: The share that goes at most of what may go with them.
    """
    parts = [part for part in account.part_list() if part.kind in kinds and part.time_ms > 0]
    nearest = min(parts, key=lambda part: abs(part.time_ms - high_ms), default=None)
    if nearest is None:
        return high_ms
    extra = beside * max(played(nearest)[2] - nearest.time_ms, 0.0)
    most = high_ms + extra * min(high_ms / nearest.time_ms, 1.0)
    step = account.step_time_ms
    if nearest.kind == "input" and most < step:
        # Threads that make batches take cores and memory bandwidth from the rest of the step.
        most += LARGE_FRAC * most / step * (step - most)
    return min(upper_bound_ms(account, nearest, most), step)
