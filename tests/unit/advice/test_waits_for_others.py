"""Waiting for another thread or process is not work that could be left out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.advice.test_largest_part import account, first, part


def test_a_wait_for_another_thread_is_not_told_to_be_left_out() -> None:
    row = part(kind="library", first="queue.Queue.get", first_kind="library", first_frac=0.9)
    rival = {"thread": "feeder", "function": "load", "file": "train.py", "line": 7}
    found = first(account(row, rivals=[rival | {"busy_frac": 0.1, "loop_waits": False}]))
    assert found.title == "Waiting in queue.Queue.get takes 50% of the step"
    assert "Beside it thread feeder is in load (train.py:7) for 10% of it." in found.message
    assert found.place is not None and found.place.function != "load"
    assert not any("Leave" in action for action in found.actions)
    alone = first(account(row))
    assert "What other threads do meanwhile was not recorded." in alone.message


def test_where_nobody_is_at_work_a_time_limit_ends_the_wait() -> None:
    """A batcher waits out its window, with all who could ask waiting for their answers."""
    row = part(kind="library", first="queue.Queue.get", first_kind="library", first_frac=0.9)
    rival = {"thread": "feeder", "function": "load", "file": "train.py", "line": 7}
    found = account(row, rivals=[rival | {"busy_frac": 0.3, "loop_waits": False}])
    nobody = first(replace(found, nobody_frac=0.97))
    assert "No other thread of the process is at work meanwhile: a time limit" in nobody.message
    assert "feeder" not in nobody.message
    assert nobody.actions[0].startswith("Look for that limit.")
    assert not any("more threads" in action for action in nobody.actions)
    some = first(replace(account(row), nobody_frac=0.4))
    assert "are at work for a part of it" in some.message
    assert "not recorded" not in some.message


def test_who_is_at_work_for_most_of_a_wait_is_what_is_waited_for() -> None:
    call = "threading.Thread._wait_for_tstate_lock"
    row = part(kind="library", first=call, first_kind="library", first_frac=0.9)
    rival = {"thread": "t-9", "function": "render", "file": "serve.py", "line": 42, "count": 73}
    listed = [rival | {"busy_frac": 0.4, "loop_waits": False}]
    found = first(account(row, rivals=listed))
    assert found.title == (
        "Waiting for render (serve.py:42) on another thread takes 50% of the step"
    )
    assert "Beside it 73 threads such as t-9 are in render (serve.py:42)" in found.message
    assert found.place is not None
    assert (found.place.function, found.place.file, found.place.line) == ("render", "serve.py", 42)
    assert "ready sooner" in found.assumption


@pytest.mark.parametrize(
    ("call", "waits"),
    [
        ("threading.Condition.wait", True),
        ("concurrent.futures._base.Future.result", True),
        ("subprocess.Popen.communicate", True),
        ("multiprocessing.connection.Connection.recv", True),
        ("socket.SocketIO.readinto", True),
        ("gzip.GzipFile.readinto", False),
        ("requests.api.get", False),
        ("json.dumps", False),
        ("dict.get", False),
        ("myqueue.get", False),
        ("queue." * 30_000 + "go", False),  # a stranger's name is read once
    ],
)
def test_what_waits_for_others_is_known_by_its_public_name(call: str, waits: bool) -> None:
    row = part(kind="library", first=call, first_kind="library", first_frac=0.9)
    assert first(account(row)).title.startswith("Waiting in") == waits
