"""Why a program is compiled again: what its versions differ in decides what to do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from stepscope.advice import RULES
from stepscope.advice.results import Results
from stepscope.analysis.host_activity import CallRow
from stepscope.result import Finding, Table
from tests.unit.advice.test_host_side import compiling

RULE = next(rule for rule in RULES if rule.id == "recompilation")


def found(
    differs: str,
    at: str = "",
    line: int | None = 9,
    *,
    confidence: float | None = None,
    more: int = 1,
) -> Finding:
    results: dict[str, Any] = compiling("..X----.....X----...").results(
        "overview_page", "host_activity"
    )
    host, page = results["host_activity"], results["overview_page"]
    if confidence is not None:
        guess = replace(page.steps, confidence=confidence)
        results["overview_page"] = replace(page, steps=guess)
    (row,) = host.calls.records()
    columns = {name: [getattr(row, name)] for name in CallRow.__annotations__}
    columns |= {"differs": [differs], "differs_at": [at], "file": ["/work/net.py"], "line": [line]}
    columns |= {"calls": [more * row.calls], "built": [more * row.built]}
    results["host_activity"] = replace(host, calls=Table(CallRow, columns))
    (one,) = RULE.check(Results(results))
    assert isinstance(one, Finding)
    return one


def test_a_function_compiled_often_is_no_set_up_where_steps_are_a_guess() -> None:
    once, often = found("shapes", confidence=0.45), found("shapes", confidence=0.45, more=2)
    assert once.severity == "info" != often.severity
    assert often.confidence > once.confidence
