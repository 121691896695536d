"""Waiting for another thread or process is not work that could be left out."""

from __future__ import annotations

from typing import Any

from tests.unit.advice.test_largest_part import account, first, part


def test_a_wait_for_another_thread_is_not_told_to_be_left_out() -> None:
    row = part(kind="library", first="queue.Queue.get", first_kind="library", first_frac=0.9)
    rival = {"thread": "feeder", "function": "load", "file": "train.py", "line": 7}
    found = first(account(row, rivals=[rival | {"busy_frac": 0.1, "loop_waits": False}]))
    assert found.place is not None and found.place.function != "load"
    first(account(row))


TURNS: dict[str, Any] = {
    "thread": "loader_2", "function": "Store.get_range", "file": "train.py", "line": 50,
    "call": "time.sleep", "wait_frac": 0.97, "waiters": 3, "taken_in": "Reader.read",
    "taken_file": "train.py", "taken_line": 82,
}  # fmt: skip
RESULT = part(kind="library", first="concurrent.Future.result", first_kind="library")


def test_threads_that_take_turns_at_a_lock_are_told_with_it() -> None:
    other = TURNS | {"function": "Reader._fetch", "line": 73, "call": "zlib.decompress"}
    shares = [TURNS, other | {"wait_frac": 0.2}, other | {"wait_frac": 0.01, "call": "zlib.crc32"}]
    rival = {"thread": "loader_1", "function": "work", "file": "train.py", "line": 7}
    rivals = [rival | {"busy_frac": 0.9, "loop_waits": False}]
    known = account(RESULT, lock_holders=shares, rivals=rivals)
    found = first(known)
    assert found.place is not None
    assert (found.place.function, found.place.line) == ("Reader.read", 82)


def test_who_is_at_work_for_most_of_a_wait_is_what_is_waited_for() -> None:
    call = "threading.Thread._wait_for_tstate_lock"
    row = part(kind="library", first=call, first_kind="library", first_frac=0.9)
    rival = {"thread": "t-9", "function": "render", "file": "serve.py", "line": 42, "count": 73}
    listed = [rival | {"busy_frac": 0.4, "loop_waits": False}]
    found = first(account(row, rivals=listed))
    assert found.place is not None
    assert (found.place.function, found.place.file, found.place.line) == ("render", "serve.py", 42)
