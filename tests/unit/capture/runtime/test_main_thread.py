"""Something done on the main thread for another one."""

from __future__ import annotations

import hashlib
import os
import select as select_module
import signal
import threading
import time
from collections.abc import Callable
from functools import partial

import pytest

from stepscope.capture.runtime.main_thread import (
    _Pending,
    on_main_thread,
    prepare,
    run_waiting,
)
from stepscope.errors import CaptureError

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGURG"), reason="this system has no SIGURG")


def from_another_thread(
    call: Callable[[], object], *, seconds: float, meanwhile: Callable[[], object]
) -> list[BaseException | None]:
    """What asking for a call ended with, while the main thread does something."""
    ended: list[BaseException | None] = []

    def ask() -> None:
        time.sleep(0.1)  # the main thread is at what it does meanwhile
        try:
            on_main_thread(call, seconds=seconds)
        except BaseException as error:
            ended.append(error)
        else:
            ended.append(None)

    thread = threading.Thread(target=ask)
    thread.start()
    meanwhile()
    thread.join(10)
    return ended


def select(seconds: float) -> None:
    select_module.select([], [], [], seconds)


def python(seconds: float) -> Callable[[], None]:
    """A main thread that runs Python."""

    def run() -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            pass

    return run


def test_it_runs_at_once_on_the_main_thread_itself() -> None:
    seen: list[int] = []
    on_main_thread(lambda: seen.append(threading.get_ident()), seconds=0)
    assert seen == [threading.main_thread().ident]


@pytest.mark.timed
def test_another_threads_call_runs_between_two_instructions_of_the_main_thread() -> None:
    seen: list[int] = []
    ended = from_another_thread(
        lambda: seen.append(threading.get_ident()), seconds=5, meanwhile=python(0.3)
    )
    assert ended == [None]
    assert seen == [threading.main_thread().ident]


def test_what_it_raises_reaches_the_thread_that_asked_and_no_other() -> None:
    def fails() -> None:
        raise ZeroDivisionError

    ended = from_another_thread(fails, seconds=5, meanwhile=python(0.3))
    assert [type(one) for one in ended] == [ZeroDivisionError]


@pytest.mark.parametrize(
    "wait", [partial(time.sleep, 1.5), partial(threading.Event().wait, 1.5), partial(select, 1.5)]
)
def test_a_main_thread_that_waits_is_woken_for_it(wait: Callable[[], object]) -> None:
    prepare()
    seen: list[float] = []
    begin = time.monotonic()
    ended = from_another_thread(
        lambda: seen.append(time.monotonic() - begin), seconds=1.4, meanwhile=wait
    )
    assert ended == [None]
    assert seen[0] < 1.2
    assert time.monotonic() - begin > 1.4  # it went on waiting after that


def test_a_handler_of_the_programs_own_stays() -> None:
    def theirs(*_: object) -> None:
        return None

    before = signal.signal(signal.SIGURG, theirs)
    try:
        prepare()
        assert signal.getsignal(signal.SIGURG) is theirs
    finally:
        signal.signal(signal.SIGURG, before)


@pytest.mark.timed
def test_a_main_thread_that_computes_is_given_up_and_the_call_forgotten() -> None:
    def computes() -> None:
        # Some 2 s: also on a busy machine longer than the other thread takes to give up.
        hashlib.pbkdf2_hmac("sha256", b"x" * 64, b"y" * 64, 6_000_000)

    seen: list[int] = []
    (error,) = from_another_thread(lambda: seen.append(1), seconds=0.1, meanwhile=computes)
    assert isinstance(error, CaptureError)
    assert error.anchor == "main-thread-busy"
    python(0.1)()  # now it could run, but nobody waits for it
    assert seen == []


@pytest.mark.timed
def test_many_calls_one_after_the_other() -> None:
    seen: list[int] = []

    def ask() -> None:
        for number in range(100):
            on_main_thread(partial(seen.append, number), seconds=5)

    thread = threading.Thread(target=ask)
    thread.start()
    while thread.is_alive():
        python(0.01)()
    assert seen == list(range(100))


@pytest.mark.timed
@pytest.mark.parametrize("count", [8])
def test_several_threads_at_once(count: int) -> None:
    seen: list[int] = []
    threads = [
        threading.Thread(
            target=on_main_thread, args=(lambda: seen.append(1),), kwargs={"seconds": 5}
        )
        for _ in range(count)
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        python(0.01)()
    assert len(seen) == count


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_what_was_on_its_way_at_a_fork_is_done_in_the_parent_only() -> None:
    """The interpreter hands the child a copy of the calls that wait."""
    done: list[int] = []
    pending = _Pending(lambda: done.append(os.getpid()))
    child = os.fork()
    if child == 0:
        pending.run(None)
        os._exit(len(done))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    pending.run(None)
    assert done == [os.getpid()]


def test_handler_that_waits_for_the_asking_thread_runs_after_the_call() -> None:
    """SIGTERM comes while a profiler begins on the main thread, and its handler ends the recording.

    Ending takes a call on the main thread, too, which waits in the handler.
    """
    ended, order = threading.Event(), list[str]()

    def handler(*_: object) -> None:
        order.append("handler")
        until = time.monotonic() + 10
        while not ended.is_set() and time.monotonic() < until:
            run_waiting()
            time.sleep(0.001)

    def begin() -> None:
        signal.raise_signal(signal.SIGTERM)
        for _ in range(100):  # a handler would run between two of these
            time.sleep(0)
        order.append("begun")

    def ask() -> None:
        on_main_thread(begin, seconds=5)
        while "handler" not in order:
            time.sleep(0.001)
        on_main_thread(lambda: order.append("ended"), seconds=5)
        ended.set()

    prepare()
    before = signal.signal(signal.SIGTERM, handler)
    asking = threading.Thread(target=ask)
    try:
        asking.start()
        asking.join(10)
    finally:
        asking.join(10)
        signal.signal(signal.SIGTERM, before)
    assert ended.is_set()
    assert order == ["begun", "handler", "ended"]


def test_ctrl_c_within_a_call_reaches_the_program() -> None:
    def ask() -> None:
        on_main_thread(lambda: signal.raise_signal(signal.SIGINT), seconds=5)

    prepare()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    asking = threading.Thread(target=ask)
    try:
        with pytest.raises(KeyboardInterrupt):
            asking.start()
            asking.join(10)
            time.sleep(5)
    finally:
        asking.join(10)
        signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_child_that_is_forked_within_a_call_keeps_its_handlers() -> None:
    codes: list[int] = []

    def fork() -> None:
        child = os.fork()
        if child == 0:
            os._exit(signal.getsignal(signal.SIGTERM) is not signal.default_int_handler)
        codes.append(os.waitpid(child, 0)[1])

    def begin() -> None:
        forking = threading.Thread(target=fork)
        forking.start()
        forking.join(10)

    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        assert from_another_thread(begin, seconds=5, meanwhile=python(0.3)) == [None]
    finally:
        signal.signal(signal.SIGTERM, before)
    assert codes == [0]
