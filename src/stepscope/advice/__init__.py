"""One file per rule; ``RULES`` is the one ordered list, ``advise`` runs it."""

from __future__ import annotations

from typing import Any

from stepscope.advice import (
    eager_execution,
    full_precision,
    input_bound,
    launch_bound,
    slow_steps,
)
from stepscope.registry import Rule
from stepscope.result import Finding

RULES: tuple[Rule, ...] = (
    input_bound.RULE,
    launch_bound.RULE,
    full_precision.RULE,
    eager_execution.RULE,
    slow_steps.RULE,
)

_SEVERITY = ("info", "low", "medium", "high")


def advise(results: dict[str, Any]) -> tuple[Finding, ...]:
    """What the rules find in these results (by tool id), what saves most first.

    A rule whose results are missing is not run: absence of evidence is not a finding.
    """
    found = [
        finding
        for rule in RULES
        if all(need in results for need in rule.needs)
        for finding in rule.check(results)
    ]
    return tuple(
        sorted(
            found,
            key=lambda one: (-(one.saving_ms or 0.0), -_SEVERITY.index(one.severity), one.rule),
        )
    )
