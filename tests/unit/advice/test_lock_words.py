"""Waits for a lock: who has it comes first, for that is what a person can change."""

from __future__ import annotations

from typing import Any

from tests.unit.advice.test_largest_part import account, first, part

WAITS = part(
    kind="library", name="handle", function="Service.handle", file="serve.py", line=13,
    time_ms=7.0, first="threading.Lock.acquire", first_kind="library",
)  # fmt: skip
HOLDER: dict[str, Any] = {
    "thread": "worker-1", "function": "write_log", "file": "serve.py", "line": 24,
    "call": "time.sleep", "wait_frac": 0.9,
}  # fmt: skip


def test_who_holds_it_is_named_placed_and_to_be_left_out() -> None:
    found = first(account(WAITS, lock_holders=[HOLDER]))
    assert found.title == (
        "Waiting for a lock takes 70% of the step; time.sleep in write_log (serve.py:24) holds it"
    )
    assert found.place is not None
    assert (found.place.function, found.place.line, found.place.call) == (
        "write_log", 24, "time.sleep",
    )  # fmt: skip
    assert "Service.handle (serve.py:13)" in found.message
    assert found.actions[0].startswith("Leave out time.sleep in write_log, or do it where the lock")


def test_who_holds_a_lock_that_others_wait_for_is_not_who_the_loop_waits_for() -> None:
    others = HOLDER | {"waiters": 3, "taken_in": "read", "function": "fetch", "wait_frac": 1.0}
    found = first(account(WAITS, lock_holders=[others, HOLDER]))
    assert found.title.endswith("time.sleep in write_log (serve.py:24) holds it")
    assert "fetch" not in found.message


def test_where_nobody_stands_out_it_is_the_wait_that_is_placed() -> None:
    some = HOLDER | {"wait_frac": 0.1, "call": ""}
    found = first(account(WAITS, lock_holders=[some]))
    assert found.title == "Waiting for a lock takes 70% of the step"
    assert "other threads are in write_log (serve.py:24) 10% of that time" in found.message
    assert found.place is not None and found.place.line == 13


def test_without_a_view_of_others_it_says_so() -> None:
    found = first(account(WAITS))
    assert "What other threads do meanwhile was not recorded" in found.message
    assert found.actions[0].startswith("Hold the lock only for what threads share")


def test_who_sleeps_may_be_woken() -> None:
    sleeps = part(
        kind="library", name="serve", function="serve", file="serve.py", line=34, time_ms=7.0,
        first="time.sleep", first_kind="library",
    )  # fmt: skip
    found = first(account(sleeps))
    assert found.title.startswith("time.sleep in serve (serve.py:34) takes 70%")
    assert found.actions[0].startswith("Instead of sleeping and asking again, wait to be woken")
