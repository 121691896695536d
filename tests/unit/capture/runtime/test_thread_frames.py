"""Stacks of other threads are taken without a collection of garbage in their midst."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType

import pytest

from stepscope.capture.recorders.python_sampler import _Looks
from stepscope.capture.runtime.thread_frames import no_collection, stacks

pytestmark = pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="from Python 3.12 on collections wait for an instruction"
)


@pytest.fixture
def eager_collector() -> Iterator[None]:
    """A collection is due after every allocation."""
    before = gc.get_threshold()
    gc.set_threshold(1)
    yield
    gc.set_threshold(*before)


@pytest.fixture
def deep_thread() -> Iterator[threading.Thread]:
    """A thread that waits 100 calls deep, in frames that have no objects yet."""
    ready, end = threading.Event(), threading.Event()

    def down(calls: int) -> None:
        if calls:
            down(calls - 1)
        else:
            ready.set()
            end.wait()

    thread = threading.Thread(target=down, args=(100,))
    thread.start()
    ready.wait()
    yield thread
    end.set()
    thread.join()


def collections_during(call: Callable[[], None]) -> list[str]:
    """The functions in which a collection began while ``call`` ran."""
    seen: list[str] = []

    def note(phase: str, _: object) -> None:
        if phase == "start":
            seen.append(sys._getframe(1).f_code.co_name)

    gc.callbacks.append(note)
    try:
        call()
    finally:
        gc.callbacks.remove(note)
    return seen


@pytest.mark.usefixtures("eager_collector", "deep_thread")
def test_no_collection_begins_while_stacks_are_taken() -> None:
    looks = _Looks()
    seen = collections_during(lambda: looks.take(0, 0))
    assert max(map(len, looks._frames)) > 100
    assert not {"_stack_of", "_add"} & set(seen)
    found: dict[int, list[FrameType]] = {}
    seen = collections_during(lambda: found.update(stacks()))
    assert max(map(len, found.values())) > 100
    assert not {"_chain", "<dictcomp>"} & set(seen)


def test_stacks_are_those_of_all_threads_innermost_first(deep_thread: threading.Thread) -> None:
    found = stacks()
    asking = found[threading.get_ident()]
    assert asking[0] is sys._getframe(), "none of ours before the program's"
    deep = [frame.f_code.co_name for frame in found[deep_thread.ident or 0]]
    assert deep.count("down") == 101
    assert deep.index("wait") < deep.index("down") < deep.index("run")


def test_a_thread_that_returns_during_a_collection_crashes_nothing() -> None:
    code = """
import gc, sys, threading
from stepscope.capture.recorders.python_sampler import _Looks
ready, end = threading.Event(), threading.Event()
def down(calls):
    if calls:
        return down(calls - 1)
    ready.set(); end.wait()
thread = threading.Thread(target=down, args=(300,)); thread.start(); ready.wait()
def finalizer(phase, _):  # any that lets go of the GIL; here the thread ends meanwhile
    if sys._getframe(1).f_code.co_name == "_stack_of":
        end.set(); thread.join()
gc.callbacks.append(finalizer); gc.set_threshold(1)
_Looks().take(0, 0)
gc.callbacks.clear(); end.set(); thread.join()
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0


@pytest.mark.usefixtures("eager_collector")
def test_collections_are_on_again_afterwards_and_off_where_they_were_off() -> None:
    with no_collection():
        with no_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.disable()
    try:
        with no_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
def test_a_child_that_is_forked_meanwhile_collects() -> None:
    code = """
import gc, os, threading
from stepscope.capture.runtime.thread_frames import no_collection, stacks
inside, forked = threading.Event(), threading.Event()
def look():
    with no_collection():
        inside.set(); forked.wait()
thread = threading.Thread(target=look); thread.start(); inside.wait()
assert not gc.isenabled()
child = os.fork()
if not child:
    on = gc.isenabled()
    with no_collection():
        off = not gc.isenabled()
    os._exit(0 if on and off and gc.isenabled() else 1)
status = os.waitpid(child, 0)[1]
forked.set(); thread.join()
raise SystemExit(os.waitstatus_to_exitcode(status))
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0
