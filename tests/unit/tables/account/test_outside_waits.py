"""Where other threads wait for a clock or another machine, while the loop waits for them."""

from __future__ import annotations

import pytest

from stepscope.tables.account.account import account
from stepscope.tables.account.threads import OutsideWait, loop_waits, outside_waits
from tests.unit.tables.account.test_turns_at_locks import (
    END,
    GET,
    LOOP,
    SLEEP,
    WAIT,
    WORKER,
    Call,
    holds,
    host_of,
)

DECODE = "$/me/train.py:70 decode"


def found(*others: list[Call]) -> list[OutsideWait]:
    host = host_of(LOOP, *others)
    one = account(host)
    assert one is not None
    asked = loop_waits(host, one)
    return [] if asked is None else outside_waits(*asked)


def fetches(idle: float) -> list[Call]:
    """Sleeps below the program's function but for the last ``idle`` of the time."""
    return [*holds(0, END - idle), (DECODE, END - idle, idle)]


def test_threads_that_fetch_are_told_with_their_place_and_number() -> None:
    (one,) = found(fetches(30_000), fetches(20_000))
    assert (one.function, one.line, one.call) == ("Store.fetch", 50, "time.sleep")
    assert (one.thread, one.count) == ("loader_1", 2)
    # Of 10 to 90 ms one of them at least sleeps until 80.
    assert one.wait_frac == pytest.approx(7 / 8)


def test_who_never_does_anything_else_makes_nothing() -> None:
    assert found(fetches(0)) == []


def test_a_pool_that_waits_for_work_is_not_outside() -> None:
    idle: list[Call] = [(one, 0.0, END) for one in (WORKER, GET, WAIT)]
    server: list[Call] = [("$/usr/lib/python3.11/socketserver.py:215 serve_forever", 0, END - 9000)]
    assert found(idle, [*server, (SLEEP, 0, END - 9000)]) == []
