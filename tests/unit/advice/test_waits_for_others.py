"""Waiting for another thread or process is not work that could be left out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.advice.test_largest_part import OWN_WAIT, account, first, part


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


def test_what_gathers_may_wait_out_its_window_beside_busy_threads() -> None:
    row = part(
        kind="library", function="Batcher.collect", first="queue.Queue.get", first_kind="library",
        first_frac=0.9,
    )  # fmt: skip
    found = first(replace(account(row), nobody_frac=0.4))
    assert found.actions[0].startswith("If it collects requests until a time limit")
    other = first(replace(account(row | {"function": "Queue.take"}), nobody_frac=0.4))
    assert "time limit" not in " ".join(other.actions)


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
    for found in (first(replace(known, nobody_frac=0.97)), first(replace(known, nobody_frac=0.1))):
        assert found.title == (
            "Waiting for 4 threads that take turns at a lock in Reader.read (train.py:82) takes "
            "50% of the step"
        )
        assert (
            "4 threads such as loader_2 take turns at a lock in Reader.read (train.py:82). "
            "Meanwhile the thread that holds it is in time.sleep in Store.get_range (train.py:50) "
            "for 97% of the wait, in zlib.decompress in Reader._fetch (train.py:73) for 20% of "
            "the wait."
        ) in found.message
        assert found.actions[0] == (
            "Do time.sleep in Store.get_range where the lock is not held, and time the loop."
        )
        assert found.actions[1].startswith("Hold the lock only for what threads share")
        said = " ".join((found.message, *found.actions))
        assert not any(words in said for words in ("more threads", "time limit", "crc32"))
        assert found.place is not None
        assert (found.place.function, found.place.line) == ("Reader.read", 82)


def test_a_lock_that_the_loop_itself_waits_for_is_no_turn_of_others() -> None:
    found = first(account(RESULT, lock_holders=[TURNS | OWN_WAIT]))
    assert found.title.startswith("Waiting in concurrent.Future.result")


def test_threads_that_wait_outside_are_told_and_no_time_limit() -> None:
    """Whether nobody is at work, or each for a little of the time."""
    outside = {
        "thread": "loader_2", "count": 4, "function": "Store.get_range", "file": "train.py",
        "line": 50, "call": "socket.recv", "wait_frac": 0.9,
    }  # fmt: skip
    waits = "wait in socket.recv in Store.get_range (train.py:50) for 90% of it."
    for nobody_frac in (0.97, 0.5):
        known = replace(account(RESULT, outside_waits=[outside]), nobody_frac=nobody_frac)
        found = first(known)
        assert f"Meanwhile 4 threads such as loader_2 {waits}" in found.message
        assert "time limit" not in found.message
        assert found.actions[0].startswith("Give what makes it more threads")
    one = replace(account(RESULT, outside_waits=[outside | {"count": 1}]), nobody_frac=0.97)
    assert f"Meanwhile thread loader_2 {waits.replace('wait', 'waits', 1)}" in first(one).message
    little = replace(
        account(RESULT, outside_waits=[outside | {"wait_frac": 0.3}]), nobody_frac=0.97
    )
    assert "a time limit ends the wait" in first(little).message


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


def test_what_another_thread_calls_of_a_library_says_what_to_do() -> None:
    row = part(kind="library", first="queue.Queue.get", first_kind="library", first_frac=0.9)
    rival = {"thread": "loader", "function": "Room.add", "file": "train.py", "line": 52}
    busy = rival | {"busy_frac": 0.5, "loop_waits": False}
    found = first(account(row, rivals=[busy | {"call": "numpy.convolve"}]))
    assert found.title.startswith("Waiting for numpy.convolve in Room.add (train.py:52) on another")
    assert "thread loader is in numpy.convolve in Room.add (train.py:52)" in found.message
    assert "scipy.signal.fftconvolve" in found.actions[0]
    # Somebody is at work: so no server waits to be asked.
    assert not any("nobody asks" in action for action in found.actions)


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
