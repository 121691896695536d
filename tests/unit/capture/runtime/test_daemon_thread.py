"""Threads that begin beside the program, and what goes on where none can begin."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import stepscope
from stepscope.capture import control
from stepscope.capture.runtime.daemon_thread import beside


@pytest.fixture
def none_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """As while the interpreter ends, from Python 3.12 on; those of a recording itself do begin."""
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name in ("stepscope-resuming", "stepscope-x"):
            raise RuntimeError("can't create new thread at interpreter shutdown")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)


def test_a_thread_does_what_it_is_for_and_holds_nobody_up() -> None:
    done: list[int] = []
    thread = beside("stepscope-x", done.append, 3)
    assert thread is not None and thread.daemon and thread.name == "stepscope-x"
    thread.join()
    assert done == [3]


@pytest.mark.usefixtures("none_begins")
def test_where_none_can_begin_nothing_is_raised() -> None:
    assert beside("stepscope-x", print) is None


@pytest.mark.usefixtures("none_begins")
def test_a_recording_that_was_set_aside_is_ended_all_the_same(tmp_path: Path) -> None:
    """A program under ``stepscope record`` that ends within its own recording."""
    launched = control.start(str(tmp_path / "launcher"), owner="launcher")
    try:
        own = control.start(str(tmp_path / "own"))
        assert control.end(own).finished_by == "stop"
        assert control._here.active is launched
    finally:
        told = control.end(launched)
    assert Path(told.path).is_file()
    assert stepscope.open(tmp_path / "launcher").profile.hosts
