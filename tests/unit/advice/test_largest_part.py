"""Findings about faults that no rule knows: largest-part, gil-contention, their order."""

from __future__ import annotations

from dataclasses import replace
from math import nan
from typing import Any

import pytest

from stepscope.advice import RULES, advise
from stepscope.analysis.step_account import (
    FactRow,
    OuterCallRow,
    OwnerRow,
    PartRow,
    ShareRow,
    StepAccount,
)
from stepscope.registry import Answer, Rule, Silence, Unknown
from stepscope.result import Advice, Finding, R, Ref, Severity, Table, columns_of
from stepscope.verdicts.other_threads import LockHolderRow, RivalRow
from tests.labelled.synthetic import GOOD
from tests.unit.advice.asking import ask

STEP_MS, ERROR_MS = 10.0, 0.5
PART: dict[str, Any] = {
    "kind": "python",
    "name": "prepare",
    "function": "prepare",
    "file": "train.py",
    "line": 12,
    "caller": "train.py:40 main",
    "within": "",
    "op": "",
    "first": "prepare",
    "first_kind": "python",
    "first_frac": 1.0,
    "time_ms": 5.0,
    "step_frac": 0.5,
    "alone_ms": 5.0,
    "typical_ms": 5.0,
    "most_ms": 5.5,
    "runs": 1.0,
    "steps_frac": 1.0,
    "growth": float("nan"),
    "input_frac": 0.0,
    "is_apart": False,
    "roles": "",
    "every": float("nan"),
    "is_burst": False,
    "first_step_frac": 0.125,
    "data_type": "",
    "on_device": False,
    "is_launched": False,
    "is_source": False,
    "is_program": False,
}


_ONE_THREAD = {"call": "", "count": 1, "takes_turns": False, "makes_input": False}


def part(**changes: Any) -> dict[str, Any]:
    found = PART | changes
    found["is_burst"] = found["every"] == found["every"]
    if "time_ms" in changes:
        found["step_frac"] = changes["time_ms"] / STEP_MS
        played = dict.fromkeys(("alone_ms", "typical_ms", "most_ms"), changes["time_ms"])
        found |= played | changes
    return found


def op(family: str, time_ms: float, **changes: Any) -> dict[str, Any]:
    return part(
        kind="op", name=family, op=f"model/{family}", function="", file="", line=0, caller="",
        time_ms=time_ms, **{"first": f"model/{family}", "first_kind": "op"} | changes,
    )  # fmt: skip


def account(
    *parts: dict[str, Any],
    rivals: list[dict[str, Any]] | None = None,
    lock_holders: list[dict[str, Any]] | None = None,
) -> StepAccount:
    rows = list(parts)
    return StepAccount(
        headline="",
        step_time_ms=STEP_MS,
        step_error_ms=ERROR_MS,
        step_count=8,
        is_window=False,
        busy_ms=sum(row["time_ms"] for row in rows if row["kind"] == "op"),
        has_device=False,
        has_python=True,
        has_events=True,
        has_ops=True,
        recorder_ms=0.0,
        growth=None,
        unused_gradients=None,
        repeated_gradients=None,
        unclaimed_gradients=None,
        parts=Table(PartRow, {name: [row[name] for row in rows] for name in columns_of(PartRow)}),
        facts=_facts(rows),
        shares=_shares(rows),
        owners=Table.empty(OwnerRow),
        calls=Table.empty(OuterCallRow),
        rivals=_table(RivalRow, rivals, _ONE_THREAD),
        lock_holders=_table(LockHolderRow, lock_holders, {}),
    )


def _facts(rows: list[dict[str, Any]]) -> Table[FactRow]:
    known = [
        (part, name, value)
        for part, row in enumerate(rows)
        for name, value in row.items()
        if name not in {*columns_of(PartRow), "roles"} and value not in ("", False)
    ]
    return Table(
        FactRow,
        {
            "part": [part for part, _name, _value in known],
            "fact": [name for _part, name, _value in known],
            "number": [nan if isinstance(value, str) else float(value) for *_, value in known],
            "text": [value if isinstance(value, str) else "" for *_, value in known],
        },
    )


def _shares(rows: list[dict[str, Any]]) -> Table[ShareRow]:
    listed = [(part, role) for part, row in enumerate(rows) for role in row["roles"].split()]
    empty: dict[str, Any] = {"name": "", "share_frac": nan, "function": "", "file": "", "op": ""}
    made = [empty | {"line": None, "part": part, "role": role} for part, role in listed]
    return _table(ShareRow, made, {})


def _table(row: type[R], listed: list[dict[str, Any]] | None, usual: dict[str, Any]) -> Table[R]:
    names = columns_of(row)
    return Table(row, {name: [(usual | one)[name] for one in listed or []] for name in names})


def told(found: StepAccount, *more: Rule) -> Advice:
    wanted = ("largest-part", "gil-contention")
    rules = [rule for rule in RULES if rule.id in wanted]
    return advise({"step_account": found}, [*rules, *more])


def first(found: StepAccount, *more: Rule) -> Finding:
    return told(found, *more).findings[0]


def saying(id_: str, saving_ms: float, *parts: str) -> Rule:
    def check(_results: Any) -> Any:
        yield Finding(id_, "medium", saving_ms, 0.9, f"{id_} costs {saving_ms}", cause=id_)

    return Rule(id_, check, parts=parts)


def locating(saving_ms: float) -> Rule:
    """A rule that locates by a table of calls what the account has lines of."""
    return saying("eager-execution", saving_ms, "framework", "eager")


def test_a_part_with_its_place_comes_before_the_same_without_one() -> None:
    loop = part(kind="eager", name="report", function="report", time_ms=5.0, op="Sum")
    rest = part(kind="framework", function="main", time_ms=2.0)
    found = told(account(loop, rest), locating(7.0)).findings
    assert [(one.rule, one.place is None) for one in found[:2]] == [
        ("largest-part", False),
        ("eager-execution", True),
    ]
    small = told(
        account(loop | {"time_ms": 2.0}, part(kind="framework", time_ms=5.0)), locating(7.0)
    )
    assert small.findings[0].place is not None


@pytest.mark.parametrize(
    ("severity", "says"), [("medium", "eager-execution"), ("info", "largest-part")]
)
def test_a_rule_that_only_informs_does_not_claim_a_part(severity: Severity, says: str) -> None:
    """A program of PyTorch runs op by op as usual: that by itself explains nothing."""

    def check(_results: Any) -> Any:
        yield Finding(
            "eager-execution",
            severity,
            5.0,
            0.7,
            "op by op",
            evidence=(Ref("trace_viewer", "ops"),),
        )

    rule = Rule("eager-execution", check, parts=("framework", "eager"))
    found = first(account(part(kind="framework", time_ms=5.0)), rule)
    assert found.rule == says
    assert "ops" in {one.what for one in found.evidence}


@pytest.mark.parametrize(
    ("changes", "severity"),
    [
        ({}, "info"),  # all steps do it, and two of eight were interrupted in it
        ({"every": 3.0}, "high"),  # a rhythm is the program's
        ({"typical_ms": 0.0}, "high"),  # other steps do nothing of it
        ({"runs": 2.0}, "high"),  # one call, which may be slow now and then
    ],
)
def test_what_was_interrupted_is_no_alarm(changes: dict[str, float], severity: str) -> None:
    torn = {"runs": 50.0, "steps_frac": 0.25, "typical_ms": 0.4, "every": 0.0, "is_burst": True}
    row = part(time_ms=2.0) | torn | changes
    assert first(account(row)).severity == severity


def test_what_is_worth_a_change_is_told_though_several_ops_take_longer() -> None:
    rows = [op(name, 2.2) for name in ("Conv2D", "MatMul", "Relu", "MaxPool")]
    found = first(account(*rows, part(time_ms=1.2)))
    assert found.place is not None
    assert found.place.function == "prepare"


@pytest.mark.parametrize("optimizer", ["Adam", "SGD", "RMSprop", "Lion"])
def test_the_programs_optimizer_is_kept(optimizer: str) -> None:
    """``fused=True`` raises TypeError in the others."""
    overview = ask(GOOD).result("overview_page")
    of_torch = replace(overview, environment=replace(overview.environment, framework="PyTorch"))
    update = account(op(f"{optimizer} update", 5.0))
    rules = [rule for rule in RULES if rule.id == "largest-part"]
    found = advise({"step_account": update, "overview_page": of_torch}, rules).findings[0]
    code = found.code["pytorch"]
    assert optimizer in code
    assert ("fused=True" in code) == (optimizer in ("Adam", "SGD"))


@pytest.mark.parametrize(
    ("task", "call", "cause"),
    [
        ("Inference", "queue.Queue.get", "part-idle-service"),
        ("Training", "queue.Queue.get", "part-python-waits"),
        ("Training", "recv", "part-python-waits"),
        ("Inference", "threading.Thread.join", "part-python-waits"),
    ],
)
def test_a_server_that_waits_for_requests_promises_no_saving_by_it(
    task: str, call: str, cause: str
) -> None:
    overview = ask(GOOD).result("overview_page")
    page = replace(overview, environment=replace(overview.environment, task_type=task))
    waits = part(kind="library", first=call, first_kind="library", first_frac=0.9, time_ms=7.0)
    rules = [rule for rule in RULES if rule.id == "largest-part"]
    results = {"step_account": account(waits, op("MatMul", 2.0)), "overview_page": page}
    found = next(one for one in advise(results, rules).findings if one.cause == cause)
    assert (found.saving_ms is None) == (cause == "part-idle-service")


def test_the_recorders_own_work_is_no_fault() -> None:
    answers = told(account(part(kind="recorder", name="recorder", time_ms=9.0)))
    assert answers.findings == ()


def test_answers_are_of_the_kinds_a_rule_may_give() -> None:
    kinds = (Finding, Silence, Unknown)
    assert set(kinds) == set(Answer.__args__)
