"""The thread that works, where the main one only waits: a server's worker."""

from __future__ import annotations

from typing import Any

import pytest

from stepscope.formats.xspace import decode
from stepscope.schema import names
from stepscope.tables.account.account import account
from stepscope.tables.core.profile import Host
from tests.profiles import space
from tests.profiles.model import line, plane

MAIN = [("$serve.py:4 main", 0, 10_000), ("$serve.py:5", 0, 10_000), ("$time sleep", 0, 10_000)]
WORKER = [("$serve.py:9 work", 0, 9000), ("$serve.py:10", 0, 9000)]
LIBRARY = [("$/usr/lib/python3.11/threading.py:9 wait", 0, 10_000)]


def places(*threads: list[tuple[Any, ...]]) -> set[str]:
    """Functions that have the time of a recording without steps."""
    lines = [line("MainThread", *threads[0], id=1)]
    lines += [line(f"t{at}", *one, id=at + 2) for at, one in enumerate(threads[1:])]
    host = Host("h", decode(space(plane(names.PYTHON_SAMPLES_PLANE, *lines))))
    found = account(host)
    assert found is not None
    calls = found.frames
    assert calls is not None
    return {calls.names[int(calls.name[at])].function for at in calls.own.tolist() if at >= 0}


def test_a_main_thread_that_sleeps_gives_way_to_the_worker() -> None:
    assert places(MAIN, WORKER) == {"work"}


def test_a_worker_that_mostly_sleeps_between_requests_is_it_all_the_same() -> None:
    polls = [
        ("$serve.py:9 work", 0, 10_000),
        ("$serve.py:10", 0, 1000),
        ("$serve.py:12", 1000, 9000),
        ("$time sleep", 1000, 9000),
    ]
    assert places(MAIN, polls) == {"work"}


def test_one_that_works_itself_stays() -> None:
    assert places(MAIN[:2], WORKER) == {"main"}


@pytest.mark.parametrize("other", [LIBRARY, [(name, at, 400) for name, at, _ in WORKER]])
def test_one_stays_where_no_other_does_much(other: list[tuple[Any, ...]]) -> None:
    assert places(MAIN, other) == {"main"}


def test_of_several_it_is_the_busiest_and_waiting_for_a_lock_counts() -> None:
    waits = [
        ("$serve.py:20 handle", 0, 10_000),
        ("$serve.py:21", 0, 10_000),
        (names.PYTHON_CALL_MARK + names.LOCK_CALL, 0, 10_000),
    ]
    assert places(MAIN, WORKER, waits) == {"handle"}
