"""A loop of the program's that runs the same ops one by one has a place of its own."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import cast

from stepscope.advice.rules.host.eager_execution import _outer
from stepscope.analysis.step_account import StepAccount


def test_a_loop_of_the_program_says_more_than_the_call_that_runs_it() -> None:
    """Pictures cut one by one on the host: to compile the call that does so helps little."""

    @dataclass
    class Rows:
        rows: list[SimpleNamespace]

        def records(self) -> list[SimpleNamespace]:
            return self.rows

    def account(caller: str) -> StepAccount:
        owner = SimpleNamespace(kind="framework", name="aten/copy_", below="views (a.py:9)")
        owners = [SimpleNamespace(**vars(owner), time_ms=5.0)]
        loop = SimpleNamespace(kind="eager", function="view", caller=caller, time_ms=4.0)
        tables = {"owners": owners, "parts": [loop]}
        told = {name: Rows(rows) for name, rows in tables.items()}
        return cast(StepAccount, SimpleNamespace(step_time_ms=10.0, **told))

    assert _outer(account("a.py:7 views")) is None
    found = _outer(account("a.py:7 others"))
    assert found is not None and found.function == "views"


def test_a_call_of_long_ops_is_not_named_for_the_few_it_hands_over() -> None:
    """Copies of a whole table, or a model's convolutions, take what no compiler saves."""

    class Listed(list[SimpleNamespace]):
        def records(self) -> list[SimpleNamespace]:
            return list(self)

    def account(op_ms: float) -> StepAccount:
        made = [("framework", 2.0), ("op", op_ms)]
        owners = [
            SimpleNamespace(kind=kind, name="aten/mul", below="refresh (a.py:9)", time_ms=time)
            for kind, time in made
        ]
        tables = {"owners": Listed(owners), "parts": Listed()}
        return cast("StepAccount", SimpleNamespace(step_time_ms=20.0, **tables))

    few, many = _outer(account(op_ms=4.0)), _outer(account(op_ms=8.0))
    assert few is not None and few.function == "refresh"
    assert many is None
