"""What a finding's change saves, within bounds: of its parts first, and then as a range.

The account of the step says how much time each kind of part has: no rule saves more than the parts
it explains have. A rule measures what its change is made to. At least the share of it goes that
changes of that class take away; at most all of it, and with it what the account shows to go with
such a part (``evidence.savings``). Severity follows: nothing is graver than its largest saving. A
range that is most of the step promises nothing, and says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import nan
from typing import TYPE_CHECKING

from stepscope.advice.catalogue import causes
from stepscope.advice.evidence.savings import widened, without_saving
from stepscope.advice.render import phrase
from stepscope.advice.results import Results
from stepscope.advice.step_time import StepTime
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

if TYPE_CHECKING:
    from stepscope.analysis.step_account import StepAccount

# What a change saves at least, where its rule does not say: as a share of what it expects.
_LEAST = 0.5
# A range that is wider than this share of the step tells nobody whether to begin.
_MOST_FRAC = 0.7
# What a rule itself hardly believes is not an alarm, nor is what is little and doubtful.
_DOUBTFUL = 0.25
# How sure a saving can be of which one step was recorded.
_OF_ONE = 0.6


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
    if finding.confidence < _DOUBTFUL or is_little:
        severity = "info"
    confidence = finding.confidence
    if time.is_one and saving is not None:
        # A single step may be warming up, or hold what a recorder does around it.
        confidence = min(confidence, _OF_ONE)
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
        low = _LEAST * saving
    else:
        low = min(rule.change.least, 1.0) * saving
        low += rule.change.gains * (high - low)
    if account is not None and "input" in rule.parts and account.recording_ms > 0:
        # A range as wide as one may be still says more than none.
        widest = min(low, high - _MOST_FRAC * account.step_time_ms)
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
    if not high - low > _MOST_FRAC * step:
        return complete
    cause = causes().get(finding.cause)
    if cause is not None and cause.severity == "large":
        complete = replace(complete, severity="info")  # how much of it is lost is open as well
    shares = {"low_frac": low / step, "high_frac": min(high / step, 1.0)}
    return without_saving(complete, phrase("open_range", **shares, base=finding.saving_per))
