"""Threads that the loop waits for and that take turns at a lock: who, where and who holds it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.formats.xspace import decode
from stepscope.schema import names
from stepscope.tables.account.account import account
from stepscope.tables.account.threads import LockHolder, loop_waits, turns_at_locks
from stepscope.tables.core.profile import Host
from tests.profiles import space
from tests.profiles.model import line, plane

Call = tuple[str, float, float]
LIBRARY = "$/usr/lib/python3.11"
LOCK = names.PYTHON_CALL_MARK + names.LOCK_CALL
RESULT, WAIT = (
    f"{LIBRARY}/concurrent/futures/_base.py:428 Future.result",
    f"{LIBRARY}/threading.py:288 Condition.wait",
)
WORKER, GET = (
    f"{LIBRARY}/concurrent/futures/thread.py:69 _worker",
    f"{LIBRARY}/queue.py:150 Queue.get",
)
NEXT, READ, FETCH = (
    "$/me/train.py:105 Loader.next",
    "$/me/train.py:80 Reader.read",
    "$/me/store.py:49 Store.fetch",
)
SLEEP = "$time sleep"
END = 100_000.0


def waits(start: float, length: float) -> list[Call]:
    """The lock that is asked for in line 82."""
    return [(READ, start, length), ("$/me/train.py:82", start, length), (LOCK, start, length)]


def holds(start: float, length: float, line_at: int = 83) -> list[Call]:
    """Sleeps in what is called from within the lock."""
    return [
        (READ, start, length),
        (f"$/me/train.py:{line_at}", start, length),
        (FETCH, start, length),
        ("$/me/store.py:50", start, length),
        (SLEEP, start, length),
    ]


def in_turn(of: int, count: int, *, turn: float = 5000.0, until: float = END) -> list[Call]:
    """Calls of thread ``of``: it has the lock in each ``count``-th turn, and asks for it else."""
    found: list[Call] = []
    for at in range(int(until / turn)):
        found += holds(at * turn, turn) if at % count == of else waits(at * turn, turn)
    return found


def host_of(loop: list[Call], *others: list[Call]) -> Host:
    steps = [("train", 10_000 * at, 10_000, {"step_num": at, "_r": 1}) for at in range(10)]
    threads = [line("MainThread", *loop, id=7)] + [
        line(f"loader_{at}", *one, id=8 + at) for at, one in enumerate(others) if one
    ]
    return Host(
        "h",
        decode(
            space(
                plane(names.HOST_PLANE, line("main", *steps, id=7)),
                plane(names.PYTHON_SAMPLES_PLANE, *threads),
            )
        ),
    )


LOOP: list[Call] = [(one, 0.0, END) for one in (NEXT, "$/me/train.py:108", RESULT, WAIT)]


def found(*others: list[Call], loop: list[Call] = LOOP) -> list[LockHolder]:
    host = host_of(loop, *others)
    one = account(host)
    assert one is not None
    asked = loop_waits(host, one)
    return [] if asked is None else turns_at_locks(*asked)


def test_the_lock_its_taker_and_who_holds_it_are_told() -> None:
    (one,) = found(*(in_turn(at, 4) for at in range(4)))
    assert (one.taken_in, one.taken_file, one.taken_line) == ("Reader.read", "/me/train.py", 82)
    assert (one.function, one.line, one.call) == ("Store.fetch", 50, "time.sleep")
    assert one.waiters == 3
    assert one.wait_frac == pytest.approx(1)
    assert one.thread.startswith("loader_")


@given(st.integers(2, 6), st.sampled_from([1000.0, 2500.0, 5000.0]))
def test_of_any_number_of_threads_all_but_one_wait(count: int, turn: float) -> None:
    (one,) = found(*(in_turn(at, count, turn=turn) for at in range(count)))
    assert one.waiters == count - 1
    assert one.wait_frac == pytest.approx(1)


def test_a_lock_for_which_all_wait_as_it_is_handed_over_has_no_more_threads() -> None:
    turns = [in_turn(at, 4, until=75_000) + waits(75_000, 1000) for at in range(4)]
    (one,) = found(*turns)
    assert one.waiters == 3


def test_a_lock_that_is_contended_for_little_of_the_wait_is_not_told() -> None:
    assert found(*(in_turn(at, 4, until=50_000) for at in range(4)))  # 40 of 80 ms that count
    assert found(*(in_turn(at, 4, until=45_000) for at in range(4))) == []


def test_a_pool_that_waits_for_work_takes_no_turns() -> None:
    idle = [(one, 0.0, END) for one in (WORKER, GET, WAIT)]
    assert found(idle, idle) == []


def test_locks_of_conditions_and_queues_are_not_the_programs() -> None:
    get: list[Call] = [(one, 0.0, END) for one in (READ, GET, WAIT, LOCK)]
    assert found(get, get, holds(0, END)) == []


def test_who_waits_for_a_condition_gave_its_lock_up() -> None:
    gave_up: list[Call] = [(READ, 0, END), ("$/me/train.py:83", 0, END), (WAIT, 0, END)]
    assert found(waits(0, END), gave_up) == []


def test_who_waits_for_a_lock_that_nobody_is_seen_with_takes_no_turns() -> None:
    elsewhere: list[Call] = [("$/me/train.py:200 watch", 0, END), (SLEEP, 0, END)]
    assert found(waits(0, END), elsewhere) == []


def test_what_several_do_at_once_is_not_done_with_the_lock() -> None:
    """Two prepare in line 90 at once, beside one that holds the lock in line 83."""
    (one,) = found(waits(0, END), holds(0, END), holds(0, END, 90), holds(0, END, 90))
    assert one.wait_frac == pytest.approx(1)
    assert found(waits(0, END), holds(0, END, 90), holds(0, END, 90)) == []


def test_a_function_that_only_takes_the_lock_is_told_by_its_caller() -> None:
    guard: list[Call] = [
        (READ, 0, END),
        ("$/me/train.py:82", 0, END),
        ("$/me/guards.py:3 Guard.__enter__", 0, END),
        ("$/me/guards.py:4", 0, END),
        (LOCK, 0, END),
    ]
    (one,) = found(guard, holds(0, END))
    assert (one.taken_in, one.taken_file, one.taken_line) == ("Reader.read", "/me/train.py", 82)


def test_functions_of_one_name_in_two_files_are_two() -> None:
    other: list[Call] = [
        (call.replace("/me/train.py", "/me/labels.py"), at, length)
        for call, at, length in holds(0, END)
    ]
    assert found(waits(0, END), other) == []


def test_a_loop_that_waits_for_the_lock_itself_or_for_nothing_asks_nobody() -> None:
    turns = [in_turn(at, 3) for at in range(3)]
    assert found(*turns, loop=waits(0, END)) == []
    assert found(*turns, loop=[("$/me/train.py:120 main", 0, END)]) == []
    assert found(loop=LOOP) == []


def test_a_device_is_no_thread() -> None:
    device: list[Call] = [
        (one, 0.0, END) for one in (NEXT, "$/x/site-packages/jax/_src/api.py:2277 device_get")
    ]
    assert found(*(in_turn(at, 3) for at in range(3)), loop=device) == []
