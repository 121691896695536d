"""The thread that works, where the main one only waits: a server's worker."""

from __future__ import annotations

from typing import Any

from stepscope.formats.xspace import decode
from stepscope.schema import names
from stepscope.tables.account.account import account
from stepscope.tables.core.profile import Host
from tests.profiles import space
from tests.profiles.model import line, plane

MAIN = [("$serve.py:4 main", 0, 10_000), ("$serve.py:5", 0, 10_000), ("$time sleep", 0, 10_000)]
WORKER = [("$serve.py:9 work", 0, 9000), ("$serve.py:10", 0, 9000)]


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
