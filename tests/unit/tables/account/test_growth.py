"""Ops that grow in number from step to step."""

from __future__ import annotations

from stepscope.tables.account.account import Growth, account
from tests.profiles import event
from tests.unit.tables.account.test_account import host


def grown(*steps: str) -> Growth | None:
    one = host(
        f"""
        /host:CPU
          python   {"".join("S---------" for _ in steps)}
          "        {"".join(f"{one:.<10}" for one in steps)}
        """,
        A=event("aten/mul:mul"),
        B=event("aten/mm:mm"),
    )
    found = account(one)
    assert found is not None
    return found.growth


def test_each_step_has_more_than_the_one_before() -> None:
    assert grown("BA", "BAA", "BAAA", "BAAAA") == Growth(2, 5, 3.5, "aten/mul")


def test_a_few_more_of_many_are_no_growth() -> None:
    assert grown(*("A" * count for count in (6, 7, 8, 9))) is not None
    steps = host(
        f"""
        /host:CPU
          python   {"S-----------------------------" * 4}
          "        {"".join("A" * count + "." * (30 - count) for count in (20, 21, 22, 23))}
        """,
        A=event("aten/mul:mul"),
    )
    found = account(steps)
    assert found is not None and found.growth is None
