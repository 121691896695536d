"""Results made of a few rows, for rules about what no played loop has."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from stepscope.advice import RULES
from stepscope.advice.results import Results
from stepscope.analysis.host_activity import (
    CallRow,
    HostActivity,
    OptimizerRow,
    PythonRow,
    SideRow,
)
from stepscope.analysis.step_account import OuterCallRow, OwnerRow, StepAccount
from stepscope.registry import Answer
from stepscope.result import Finding, Result, Row, Table, columns_of


def table(schema: type[Row], rows: list[dict[str, Any]]) -> Table[Any]:
    """A table of these rows, which need say only what matters; no other column is theirs."""
    columns = {name: note for name, (note, _) in columns_of(schema).items()}
    assert not {name for row in rows for name in row} - columns.keys(), "a column of that name"
    nothing = {name: {str: "", bool: False}.get(kind, 0) for name, kind in columns.items()}
    return Table(schema, {name: [(nothing | row)[name] for row in rows] for name in columns})


def host_activity(*calls: dict[str, Any], **changes: Any) -> HostActivity:
    """Steps of 20 ms in which the host computes for half of the time, with calls of functions."""
    plain = HostActivity(
        headline="",
        step_time_ms=20.0,
        step_count=8,
        step_source="marked",
        computing_ms=10.0,
        input_ms=0.0,
        idle_ms=10.0,
        eager_ops=0.0,
        calls=table(CallRow, list(calls)),
        side_work=Table.empty(SideRow),
        optimizers=Table.empty(OptimizerRow),
        python=Table.empty(PythonRow),
    )
    return replace(plain, **changes)


def with_owners(account: StepAccount, *owners: dict[str, Any], **changes: Any) -> StepAccount:
    """The account with owners of time."""
    return replace(account, owners=table(OwnerRow, list(owners)), **changes)


def with_calls(account: StepAccount, *calls: dict[str, Any], **changes: Any) -> StepAccount:
    """The account with calls of the program's functions."""
    return replace(account, calls=table(OuterCallRow, list(calls)), **changes)


def answer(rule_id: str, **results: Result) -> Answer:
    """The first thing that a rule says of these results."""
    rule = next(rule for rule in RULES if rule.id == rule_id)
    return next(iter(rule.check(Results(results))))


def finding(rule_id: str, **results: Result) -> Finding:
    """The same, which must be a finding."""
    found = answer(rule_id, **results)
    assert isinstance(found, Finding), found
    return found
