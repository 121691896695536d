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


def found(differs: str, at: str = "", line: int | None = 9) -> Finding:
    results: dict[str, Any] = compiling("..X----.....X----...").results(
        "overview_page", "host_activity"
    )
    host = results["host_activity"]
    (row,) = host.calls.records()
    columns = {name: [getattr(row, name)] for name in CallRow.__annotations__}
    columns |= {"differs": [differs], "differs_at": [at], "file": ["/work/net.py"], "line": [line]}
    results["host_activity"] = replace(host, calls=Table(CallRow, columns))
    (one,) = RULE.check(Results(results))
    assert isinstance(one, Finding)
    return one
