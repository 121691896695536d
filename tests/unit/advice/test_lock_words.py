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
    assert found.place is not None
    assert (found.place.function, found.place.line, found.place.call) == (
        "write_log", 24, "time.sleep",
    )  # fmt: skip


def test_where_nobody_stands_out_it_is_the_wait_that_is_placed() -> None:
    some = HOLDER | {"wait_frac": 0.1, "call": ""}
    found = first(account(WAITS, lock_holders=[some]))
    assert found.place is not None and found.place.line == 13
