"""The range of what a finding's change saves, from what its rule expects.

A rule measures what its change is made to. At least the share of it goes that changes of that
class take away; at most all of it, and with it what the account of the step shows to go with such
a part (``evidence.savings``). Severity follows: nothing is graver than its largest saving. A range
that is most of the step promises nothing, and says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import nan

from stepscope.advice.evidence.savings import widened, without_saving
from stepscope.advice.results import Results
from stepscope.registry import Rule, severity_of
from stepscope.result import Finding, Result, Severity

# What a change saves at least, where its rule does not say: as a share of what it expects.
_LEAST = 0.5
# A range that is wider than this share of the step tells nobody whether to begin.
_MOST_FRAC = 0.7
_SEVERITY: tuple[Severity, ...] = ("info", "low", "medium", "high")


def ranged(finding: Finding, rule: Rule, results: Mapping[str, Result]) -> Finding:
    """The finding with the least and the most that its change saves, and what that assumes."""
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
    severity = finding.severity
    if account is not None and account.step_time_ms > 0:
        gravest = severity_of(high, account.step_time_ms)
        severity = min(severity, gravest, key=_SEVERITY.index)
    complete = replace(
        finding,
        severity=severity,
        saving_ms=max(saving, low),
        saving_low_ms=low,
        saving_high_ms=high,
        assumption=finding.assumption or ("" if rule.change is None else rule.change.assumption),
    )
    step = nan if account is None else account.step_time_ms
    if not high - low > _MOST_FRAC * step:
        return complete
    within = f"{low / step:.0%} and {min(high / step, 1.0):.0%} of the {finding.saving_per}"
    return without_saving(complete, f"between {within}")
