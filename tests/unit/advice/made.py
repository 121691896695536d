"""Results made of a few rows, for rules about what no played loop has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import nan
from typing import Any

from stepscope.advice import RULES, advise
from stepscope.advice.results import Results
from stepscope.analysis.host_activity import (
    CallRow,
    HostActivity,
    OptimizerRow,
    PythonRow,
    SideRow,
)
from stepscope.analysis.step_account import (
    FactRow,
    OuterCallRow,
    OwnerRow,
    PartRow,
    ShareRow,
    StepAccount,
)
from stepscope.registry import Answer, Rule
from stepscope.result import Advice, Finding, R, Result, Table, columns_of
from stepscope.verdicts.other_threads import LockHolderRow, RivalRow

STEP_MS, ERROR_MS = 10.0, 0.5
Fields = dict[str, Any]


def table(schema: type[R], rows: Iterable[Fields]) -> Table[R]:
    """A table of these rows, which need say only what matters; no other column is theirs."""
    listed = list(rows)
    columns = {name: note for name, (note, _) in columns_of(schema).items()}
    assert not {name for row in listed for name in row} - columns.keys(), "a column of that name"
    nothing = {name: {str: "", bool: False}.get(kind, 0) for name, kind in columns.items()}
    return Table(schema, {name: [(nothing | row)[name] for row in listed] for name in columns})


def host_activity(*calls: Fields, **changes: Any) -> HostActivity:
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
        calls=table(CallRow, calls),
        side_work=Table.empty(SideRow),
        optimizers=Table.empty(OptimizerRow),
        python=Table.empty(PythonRow),
    )
    return replace(plain, **changes)


PART: Fields = {
    "kind": "python",
    "name": "prepare",
    "function": "prepare",
    "file": "train.py",
    "line": 12,
    "caller": "train.py:40 main",
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
    "growth": nan,
    "every": nan,
    "first_step_frac": 0.125,
    "roles": "",
}


def part(**changes: Any) -> Fields:
    """A part of the step: half of it, in a function of the program's."""
    found = PART | changes
    found["is_burst"] = found["every"] == found["every"]
    if "time_ms" in changes:
        found["step_frac"] = changes["time_ms"] / STEP_MS
        played = dict.fromkeys(("alone_ms", "typical_ms", "most_ms"), changes["time_ms"])
        found |= played | changes
    return found


def op(family: str, time_ms: float, **changes: Any) -> Fields:
    """Ops of one family, whose line is not known."""
    nowhere = {"function": "", "file": "", "line": 0, "caller": ""}
    known = {"kind": "op", "name": family, "op": f"model/{family}", "time_ms": time_ms}
    known |= nowhere | {"first": f"model/{family}", "first_kind": "op"}
    return part(**known | changes)


def call(name: str, time_ms: float = 5.0, **changes: Any) -> Fields:
    """A function of a library that the program calls, or waits in."""
    known = {"kind": "library", "first": name, "first_kind": "library", "first_frac": 0.9}
    return part(time_ms=time_ms, **known | changes)


def account(
    *parts: Fields, rivals: Iterable[Fields] = (), lock_holders: Iterable[Fields] = ()
) -> StepAccount:
    """The account of steps of 10 ms on a host, known to 0.5 ms."""
    columns = columns_of(PartRow)
    known = [
        (at, name, value)
        for at, row in enumerate(parts)
        for name, value in row.items()
        if name not in {*columns, "roles"} and value not in ("", False)
    ]
    facts: list[Fields] = [
        {"part": at, "fact": name}
        | ({"text": value, "number": nan} if isinstance(value, str) else {"number": float(value)})
        for at, name, value in known
    ]
    shares = [
        {"part": at, "role": role, "share_frac": nan, "line": None}
        for at, row in enumerate(parts)
        for role in row["roles"].split()
    ]
    return StepAccount(
        headline="",
        step_time_ms=STEP_MS,
        step_error_ms=ERROR_MS,
        step_count=8,
        is_window=False,
        busy_ms=sum(row["time_ms"] for row in parts if row["kind"] == "op"),
        has_device=False,
        has_python=True,
        has_events=True,
        has_ops=True,
        recorder_ms=0.0,
        growth=None,
        unused_gradients=None,
        repeated_gradients=None,
        unclaimed_gradients=None,
        parts=table(PartRow, [{k: row[k] for k in row if k in columns} for row in parts]),
        facts=table(FactRow, facts),
        shares=table(ShareRow, shares),
        owners=Table.empty(OwnerRow),
        calls=Table.empty(OuterCallRow),
        rivals=table(RivalRow, ({"count": 1} | one for one in rivals)),
        lock_holders=table(LockHolderRow, lock_holders),
    )


def with_owners(of: StepAccount, *owners: Fields, **changes: Any) -> StepAccount:
    """The account with owners of time."""
    return replace(of, owners=table(OwnerRow, owners), **changes)


def with_calls(of: StepAccount, *calls: Fields, **changes: Any) -> StepAccount:
    """The account with calls of the program's functions."""
    return replace(of, calls=table(OuterCallRow, calls), **changes)


def answer(rule_id: str, **results: Result) -> Answer:
    """The first thing that a rule says of these results."""
    rule = next(rule for rule in RULES if rule.id == rule_id)
    return next(iter(rule.check(Results(results))))


def finding(rule_id: str, **results: Result) -> Finding:
    """The same, which must be a finding."""
    found = answer(rule_id, **results)
    assert isinstance(found, Finding), found
    return found


def told(
    of: StepAccount,
    *more: Rule,
    wanted: tuple[str, ...] = ("largest-part", "gil-contention"),
    **results: Any,
) -> Advice:
    """What is advised of an account, and other results, by the wanted rules and more."""
    rules = [rule for rule in RULES if rule.id in wanted]
    return advise({"step_account": of, **results}, [*rules, *more])


def first(of: StepAccount, *more: Rule) -> Finding:
    """What comes first of it."""
    return told(of, *more).findings[0]


def outcome(advice: Advice, rule: str) -> str:
    """What became of a rule."""
    (checked,) = [one for one in advice.checked if one.rule == rule]
    return checked.outcome


def saying(id_: str, saving_ms: float | None, *parts: str, **known: Any) -> Rule:
    """A rule that always finds the same."""
    severity = known.pop("severity", "medium")
    cause_of = known.pop("cause_of", ())

    def check(_results: Any) -> Any:
        found = {"cause": id_} | known
        yield Finding(id_, severity, saving_ms, 0.9, f"{id_} costs {saving_ms}", **found)

    return Rule(id_, check, parts=parts, cause_of=cause_of)
