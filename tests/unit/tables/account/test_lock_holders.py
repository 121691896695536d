"""Who has the lock that the loop waits for: places of other threads, by their share of the wait."""

from __future__ import annotations

from typing import Any

import pytest

from stepscope.formats.xspace import decode
from stepscope.schema import names
from stepscope.tables.account.account import account
from stepscope.tables.account.threads import lock_holders
from stepscope.tables.core.profile import Host
from tests.profiles import space
from tests.profiles.model import line, plane

LOCK = names.PYTHON_CALL_MARK + names.LOCK_CALL
# A request waits for the lock in the first 8 of 10 ms.
WAITS = [
    ("$serve.py:4 main", 0, 10_000),
    ("$serve.py:10 handle", 0, 10_000),
    ("$serve.py:11", 0, 8000),
    (LOCK, 0, 8000),
    ("$serve.py:12", 8000, 2000),
]
HOLDS = [
    ("$serve.py:4 main", 0, 6000),
    ("$serve.py:10 handle", 0, 6000),
    ("$serve.py:14", 0, 6000),
    ("$serve.py:20 write", 0, 6000),
    ("$serve.py:21", 0, 6000),
    ("$time sleep", 0, 6000),
]


def made(*threads: list[tuple[Any, ...]]) -> Host:
    lines = [line(f"worker-{at}", *one, id=at + 1) for at, one in enumerate(threads)]
    return Host("h", decode(space(plane(names.PYTHON_SAMPLES_PLANE, *lines))))


def found(*threads: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    host = made(*threads)
    one = account(host)
    assert one is not None
    return [
        (held.thread, held.function, held.line, held.call, pytest.approx(held.wait_frac))
        for held in lock_holders(host, one)
    ]


def test_it_sleeps_with_the_lock_in_its_hand() -> None:
    assert found(WAITS, HOLDS) == [("worker-1", "write", 21, "time.sleep", 6 / 8)]


def test_who_sleeps_elsewhere_does_not_hold_it() -> None:
    poller = [
        ("$serve.py:30 poll", 0, 10_000),
        ("$serve.py:31", 0, 10_000),
        ("$time sleep", 0, 10_000),
    ]
    assert found(WAITS, HOLDS, poller) == [("worker-1", "write", 21, "time.sleep", 6 / 8)]
    assert found(WAITS, poller) == []


def test_the_lock_may_be_taken_in_another_function() -> None:
    other = [("$stats.py:4 count", 0, 5000), ("$stats.py:6", 0, 5000)]
    assert found(WAITS, other)[0][:4] == ("worker-1", "count", 6, "")
