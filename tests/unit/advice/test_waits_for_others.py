"""Waiting for another thread or process is not work that could be left out."""

from __future__ import annotations

from tests.unit.advice.test_largest_part import account, first, part


def test_a_wait_for_another_thread_is_not_told_to_be_left_out() -> None:
    row = part(kind="library", first="queue.Queue.get", first_kind="library", first_frac=0.9)
    rival = {"thread": "feeder", "function": "load", "file": "train.py", "line": 7}
    found = first(account(row, rivals=[rival | {"busy_frac": 0.1, "loop_waits": False}]))
    assert found.place is not None and found.place.function != "load"
    first(account(row))


def test_who_is_at_work_for_most_of_a_wait_is_what_is_waited_for() -> None:
    call = "threading.Thread._wait_for_tstate_lock"
    row = part(kind="library", first=call, first_kind="library", first_frac=0.9)
    rival = {"thread": "t-9", "function": "render", "file": "serve.py", "line": 42, "count": 73}
    listed = [rival | {"busy_frac": 0.4, "loop_waits": False}]
    found = first(account(row, rivals=listed))
    assert found.place is not None
    assert (found.place.function, found.place.file, found.place.line) == ("render", "serve.py", 42)
