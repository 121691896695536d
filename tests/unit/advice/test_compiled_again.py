"""Why a program is compiled again: what its versions differ in decides what to do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stepscope.advice import RULES
from stepscope.advice.results import Results
from stepscope.analysis.host_activity import CallRow
from stepscope.result import Finding, Table
from stepscope.verdicts.sentences import chosen
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


@pytest.mark.parametrize(
    ("differs", "title", "said", "not_said"),
    [
        ("shapes", ": shapes change", "pad sequences", "static"),
        ("values", ": a value in it changes", "out of static_argnums", "pad"),
        ("nothing", ": the same program each time", "once, outside of the loop", "pad"),
    ],
)
def test_only_what_changed_is_to_be_kept(
    differs: str, title: str, said: str, not_said: str
) -> None:
    one = found(differs, "batch: f32[8], f32[9]" if differs == "shapes" else "")
    assert one.title == f"step (net.py:9) is compiled again in 100% of its calls{title}"
    actions = " ".join(chosen(text, "jax") for text in one.actions)
    assert said in actions and not_said not in actions
    assert set(one.code or {}) == {"jax"}


def test_the_arguments_or_the_line_are_named() -> None:
    assert "batch: f32[8], f32[9]." in found("shapes", "batch: f32[8], f32[9]").message
    assert "compiled into them, used at net.py:12:" in found("values", "net.py:12").message


def test_where_no_program_says_it_all_that_it_may_be_is_named() -> None:
    one = found("", line=None)
    assert one.title == "step is compiled again in 100% of its calls"
    assert len(one.actions) == 3
