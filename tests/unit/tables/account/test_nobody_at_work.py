"""Waits in which no other thread is at work."""

from __future__ import annotations

from math import isnan

import pytest

from stepscope.formats.xspace import decode
from stepscope.schema import names
from stepscope.tables.account.account import account
from stepscope.tables.account.threads import nobody_frac
from stepscope.tables.core.profile import Host
from tests.profiles import space
from tests.profiles.model import Plane, line, plane

_GET = "$/usr/lib/python3.11/queue.py:150 Queue.get"
_WAIT = "$/usr/lib/python3.11/threading.py:300 Condition.wait"
_COLLECT = "$/home/me/serve.py:30 collect"
_ASK = "$/home/me/serve.py:60 ask"
_COUNT = "$/home/me/serve.py:80 count"


def found(*others: tuple[str, float, float], ran_us: float = -1) -> float:
    """Of the loop's thread, which waits throughout; the other's calls begin and last as given.

    Where it is known for how long the other ran, that is from the beginning on.
    """
    steps = [("train", 10_000 * at, 10_000, {"step_num": at, "_r": 1}) for at in range(10)]
    waits = [(one, 0, 100_000) for one in (_COLLECT, _GET, _WAIT)]
    threads = [line("MainThread", *waits, id=7)]
    if others:
        threads.append(line("web-1", *others, id=8))
    host = Host(
        "h",
        decode(
            space(
                plane(names.HOST_PLANE, line("main", *steps, id=7)),
                plane(names.PYTHON_SAMPLES_PLANE, *threads),
                *([_ran(ran_us)] if ran_us >= 0 else []),
            )
        ),
    )
    known = account(host)
    assert known is not None
    return nobody_frac(host, known)


def _ran(until_us: float) -> Plane:
    """Threads that ran, with the processor time that each used: the loop's ran at first."""
    used = {names.CPU_NS: 5000}
    ran = [(names.OUTSIDE_PYTHON, 0, until_us, used)] if until_us else []
    loop = line("MainThread", (names.IN_PYTHON, 0, 10, used), id=7)
    return plane(names.PYTHON_THREADS_PLANE, loop, line("web-1", *ran, id=8))


def test_all_who_could_ask_wait_too() -> None:
    assert found((_ASK, 0, 100_000), (_GET, 0, 100_000), (_WAIT, 0, 100_000)) == pytest.approx(1)


def test_one_that_counts_is_at_work() -> None:
    assert found((_COUNT, 0, 100_000)) == pytest.approx(0)
    part = (_ASK, 0.0, 100_000.0), (_COUNT, 0.0, 25_000.0), (_WAIT, 25_000.0, 75_000.0)
    # Of the steps that count, from 10 ms to 90, it counts until 25.
    assert found(*part) == pytest.approx(1 - 15 / 80)


def test_one_that_stands_at_a_line_and_does_not_run_waits_in_c() -> None:
    """``reply.get()`` of a queue written in C has no frame, and no name that a sampler knows."""
    assert found((_ASK, 0, 200_000), ran_us=0) == pytest.approx(1)
    assert found((_ASK, 0, 100_000), ran_us=100_000) == pytest.approx(0)


def test_one_that_takes_turns_for_the_lock_is_at_work_though_it_stands_still_for_a_while() -> None:
    part = (_ASK, 0.0, 60_000.0), (_COUNT, 60_000.0, 40_000.0)
    assert found(*part, ran_us=60_000) == pytest.approx(0)


def test_where_no_other_thread_was_seen_nothing_is_known() -> None:
    assert isnan(found())
