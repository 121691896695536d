"""A recorder that fails, or a recording that cannot begin: the others end, the program goes on."""

from __future__ import annotations

import errno
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.capture import control, step_clock, tracing
from stepscope.capture import recording as recording_module
from stepscope.capture.budget import Price, RecordingBudget, SessionLimit
from stepscope.capture.file.writer import Writer
from stepscope.capture.launch.child_process import finished_children
from stepscope.capture.options import ProfilerOptions
from stepscope.capture.recorder import Note, Recorded
from stepscope.capture.recorders.annotations import AnnotationRecorder
from stepscope.capture.recorders.python_sampler import PythonSampler
from stepscope.capture.recording import Recording
from stepscope.capture.runtime.ticker import Ticker
from stepscope.tables.recording.completeness import completeness
from tests.profiles import parse


class Double:
    """A recorder that counts how often it was begun and ended, and fails on request."""

    def __init__(self, name: str = "double", **does: Callable[[], Any]) -> None:
        self.name = name
        self.begun = self.ended = 0
        self._does = does

    def _do(self, what: str) -> Any:
        return self._does.get(what, lambda: None)()

    def unavailable(self) -> str | None:
        return None if self._do("unavailable") is None else "not now"

    def start(self, options: ProfilerOptions) -> None:
        self.begun += 1
        self._do("start")

    def collect(self) -> Recorded:
        self.ended += 1
        self._do("collect")
        return Recorded()

    def drop(self) -> None:
        self.ended += 1
        self._do("drop")


def raising(error: BaseException) -> Callable[..., Any]:
    def fail(*_: object) -> None:
        raise error

    return fail


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Callable[..., Recording]]:
    """Makes recordings by these recorders; all are ended."""
    made: list[Recording] = []

    def make(*recorders: Any, **options: Any) -> Recording:
        chosen = ProfilerOptions(telemetry_hz=0, **options)
        made.append(Recording(Writer.open(str(tmp_path)), chosen, "person", list(recorders)))
        return made[-1]

    yield make
    for one in made:
        if one._keeper.is_alive():
            one.finish("stop", save=False)
    tracing.switch(None)


def test_an_interrupted_start_leaves_nothing_running(begin: Callable[..., Recording]) -> None:
    before = sys.getswitchinterval()
    sampler, first = PythonSampler(), Double()
    interrupted = Double(start=raising(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        begin(first, sampler, interrupted).start()
    assert (first.begun, first.ended) == (1, 1)
    assert interrupted.ended == 1
    assert sys.getswitchinterval() == pytest.approx(before)
    assert "stepscope-sampler" not in {one.name for one in threading.enumerate()}
    assert tracing.emitter() is None


def test_a_recording_without_a_thread_to_keep_it_leaves_nothing_running(
    begin: Callable[..., Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Double()
    recording = begin(first, AnnotationRecorder())
    monkeypatch.setattr(recording._keeper, "start", raising(RuntimeError("can't start new thread")))
    with pytest.raises(RuntimeError, match="new thread"):
        recording.start()
    assert (first.begun, first.ended) == (1, 1)
    assert tracing.emitter() is None


def test_a_keeper_that_fails_ends_the_recorders(begin: Callable[..., Recording]) -> None:
    asked: list[None] = []

    def fails_later() -> str | None:
        asked.append(None)
        if len(asked) > 1:
            raise ValueError("a framework half torn down")
        return "not loaded"

    first = Double()
    recording = begin(first, Double("late", unavailable=fails_later))
    recording.start()
    assert recording.wait(60)
    assert (first.begun, first.ended) == (1, 1)
    assert recording.capture is not None and recording.capture.finished_by == "error"


def test_one_that_cannot_be_dropped_does_not_keep_the_others_running(
    begin: Callable[..., Recording],
) -> None:
    first, last = Double("first"), Double("last")
    recording = begin(first, Double("stuck", drop=raising(RuntimeError("busy"))), last)
    recording.start()
    capture = recording.finish("stop", save=False)
    assert (first.ended, last.ended) == (1, 1)
    assert capture is not None and capture.finished_by == "stop"
    assert not recording.writer.path.exists()


def test_a_sampler_that_gets_no_thread_puts_the_switch_interval_back(
    begin: Callable[..., Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sys.getswitchinterval()
    monkeypatch.setattr(Ticker, "start", raising(RuntimeError("can't start new thread")))
    recording = begin(PythonSampler())
    recording.start()
    assert sys.getswitchinterval() == pytest.approx(before)
    assert "new thread" in recording.notes[0].message


def test_what_is_lost_is_not_counted(
    begin: Callable[..., Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    append, refused, is_due = Writer.append, threading.Event(), threading.Event()

    def refuse(writer: Writer, pieces: Any) -> None:
        monkeypatch.setattr(Writer, "append", append)
        refused.set()
        raise OSError(errno.ENOSPC, "No space left on device")

    due = Double()
    due.is_stale = lambda: is_due.is_set() and not refused.is_set()  # type: ignore[attr-defined]
    recording = begin(AnnotationRecorder(), due, chunk_seconds=None)
    recording.start()
    with tracing.Trace("lost"):
        pass
    monkeypatch.setattr(Writer, "append", refuse)
    is_due.set()
    assert refused.wait(60)
    with tracing.Trace("kept"):
        pass
    capture = recording.finish("stop")
    assert capture is not None
    assert [note.slug for note in capture.warnings if note.severity == "error"] == ["chunk-lost"]
    assert (capture.events, capture.counts) == (1, {"annotations": 1})
    assert (
        sum(
            len(line.events)
            for plane in parse(capture.xspace()).planes
            if plane.name == "/host:CPU"
            for line in plane.lines
        )
        == 1
    )


def test_a_recording_that_no_disk_takes_has_no_events(
    begin: Callable[..., Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Writer, "replace", raising(OSError(errno.ENOSPC, "No space left")))
    recording = begin(AnnotationRecorder())
    recording.start()
    with tracing.Trace("lost"):
        pass
    capture = recording.finish("stop")
    assert capture is not None and capture.events == 0
    slugs = [note.slug for note in capture.warnings]
    assert "chunk-lost" in slugs and "no-events" not in slugs


def test_who_asks_first_decides_though_the_budget_is_spent_meanwhile(
    begin: Callable[..., Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = begin(Double(), stop_seconds=0.01)

    def spent(_: RecordingBudget) -> str:
        recording.finish("stop", save=False)  # as another thread may at this moment
        return "1 s"

    monkeypatch.setattr(RecordingBudget, "spent", spent)
    recording.start()
    assert recording.wait(60)
    assert recording.capture is not None and recording.capture.finished_by == "stop"
    assert not recording.writer.path.exists()


def test_a_recording_that_ends_is_always_to_be_found(
    begin: Callable[..., Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ended(dict[str, Recording]):
        def __setitem__(self, owner: str, ended: Recording) -> None:
            found.append(control.active() is ended)
            super().__setitem__(owner, ended)

    found: list[bool] = []
    state = control._Process()
    state.active, state.ended = begin(Double()), Ended()
    monkeypatch.setattr(control, "_here", state)
    control._over(state.active)
    assert found == [True]
    assert state.active is None


def test_a_program_that_ends_before_all_is_written_says_so(
    begin: Callable[..., Recording],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    may_end = threading.Event()
    state = control._Process()
    state.active = begin(Double(collect=may_end.wait), stop_seconds=0.01)
    monkeypatch.setattr(control, "_here", state)
    state.active.start()
    control._finish_all("exit")
    may_end.set()
    assert "is lost" in caplog.text and state.active.writer.place in caplog.text


@pytest.mark.parametrize("name", ["copy", "12_copy", "9" * 30, "²"])
def test_a_file_that_only_looks_like_a_childs_is_none(tmp_path: Path, name: str) -> None:
    (tmp_path / f"host_1.child-{name}.xplane.pb").touch()
    assert finished_children(tmp_path, "host_1") == []


def test_without_waiting_the_program_goes_on_once_nothing_records(
    begin: Callable[..., Recording],
) -> None:
    may_convert = threading.Event()

    class Slow(Double):
        def collect(self) -> Any:
            taken = super().collect()

            def converted() -> Recorded:
                may_convert.wait(60)
                return taken

            return converted

    slow = Slow()
    recording = begin(slow, stop_seconds=600.0)
    recording.start()
    # On a thread of its own, so that waiting for the export fails here instead of hanging.
    hook = threading.Thread(target=recording.finish, args=("stop",), kwargs={"wait": False})
    hook.start()
    hook.join(30)
    went_on, ended = not hook.is_alive(), slow.ended
    was_written = recording.finished
    may_convert.set()
    assert recording.wait(60)
    assert went_on and ended == 1 and not was_written


def test_a_forked_child_does_not_wait_for_what_its_parent_writes(
    begin: Callable[..., Recording],
) -> None:
    recording = begin(Double())
    recording._process = -1  # as it is to a child
    said: list[bool] = []
    waiting = threading.Thread(target=lambda: said.append(recording.wait()), daemon=True)
    waiting.start()
    waiting.join(10)
    recording._is_finished = True
    assert said == [False]


def test_a_signal_at_any_line_of_an_end_ends_the_recording(
    begin: Callable[..., Recording],
) -> None:
    """A pool's worker that ends by itself gets SIGTERM from its parent meanwhile."""
    recording = begin(Double())
    recording.start()
    lines = 0

    def interrupt(*_: object) -> Any:
        nonlocal lines
        sys.settrace(None)  # a handler is not interrupted itself
        lines += 1
        recording.finish("signal", wait=False)
        sys.settrace(enter)
        return interrupt

    def enter(frame: Any, *_: object) -> Any:
        return interrupt if frame.f_globals.get("__name__") != __name__ else None

    def end() -> None:
        sys.settrace(enter)
        recording.finish("exit")
        sys.settrace(None)

    ending = threading.Thread(target=end, daemon=True)
    ending.start()
    ending.join(60)
    assert not ending.is_alive() and recording.finished and lines > 3


def test_a_recording_that_steps_aside_during_its_delay_begins_after_it(
    begin: Callable[..., Recording],
) -> None:
    double = Double()
    recording = begin(double, delay_ms=150, max_seconds=60.0)
    recording.start()
    recording.set_paused(True)
    assert double.begun == 0
    recording.set_paused(False)
    assert not recording.finished
    until(lambda: double.begun == 1)
    done = recording.finish("stop")
    assert done is not None
    assert done.finished_by == "stop"
    assert double.ended == 1


def test_a_recording_that_stands_aside_when_its_delay_ends_begins_when_it_may(
    begin: Callable[..., Recording],
) -> None:
    double = Double()
    recording = begin(double, delay_ms=50)
    recording.start()
    recording.set_paused(True)
    until(lambda: recording._started_ns > 0)
    assert double.begun == 0
    recording.set_paused(False)
    assert double.begun == 1


def until(reached: Callable[[], bool]) -> None:
    """Wait for it; a minute at most."""
    deadline = time.monotonic() + 60
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_a_pause_for_another_profiler_is_told(begin: Callable[..., Recording]) -> None:
    recording = begin(Double())
    recording.start()
    recording.set_paused(True, "JAX's own profiler")
    recording.set_paused(False)
    done = recording.finish("stop")
    assert done is not None
    (note,) = (one for one in done.warnings if one.slug == "paused")
    assert note.severity == "warning" and "JAX's own profiler" in note.message


def test_a_pause_until_the_end_is_told_too(begin: Callable[..., Recording]) -> None:
    recording = begin(Double())
    recording.start()
    recording.set_paused(True, "JAX's own profiler")
    done = recording.finish("exit")
    assert done is not None and "paused" in {note.slug for note in done.warnings}


def test_recorders_leave_out_what_costs_most_if_ending_takes_longer_than_recording(
    begin: Callable[..., Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SessionLimit, "is_reached", lambda *_: True)
    monkeypatch.setattr(Price, "rest_seconds", lambda *_: 10.0)
    monkeypatch.setattr(recording_module, "_MANY_EVENTS", -1)
    monkeypatch.setattr(Recording, "_main_thread_seconds", lambda _: 100.0)
    double, lightened = Double("torch"), threading.Event()

    def lighten(seconds: float) -> Note:
        lightened.set()
        return Note("lighter", "info", "Less is recorded.")

    double.lighten = lighten  # type: ignore[attr-defined]
    recording = begin(double, price=1.2)
    recording.start()
    assert lightened.wait(60)
    until(lambda: double.ended == 1)
    done = recording.finish("stop")
    assert done is not None and "lighter" in {note.slug for note in done.warnings}
    with stepscope.open(done.path) as session:
        said = [one for host in session.profile.hosts for one in completeness(host).diagnostics]
        assert ("less-detail", "info", "Less is recorded.") in [
            (one.slug, one.severity, one.message) for one in said
        ]
    # It rests until the end: it is not begun a second time.
    assert (double.begun, double.ended) == (1, 1)


@pytest.mark.parametrize(
    ("compiled_seconds_ago", "is_wanted"), [(1000.0, True), (0.0, False), (-math.inf, False)]
)
def test_executions_are_not_counted_while_the_program_compiles(
    begin: Callable[..., Recording], compiled_seconds_ago: float, is_wanted: bool
) -> None:
    """A rest right after a long compilation is all that a short program has."""
    recorder: Any = Double("jax")
    recorder.probe = lambda _options, _seconds: Recorded()
    recorder.compiled_at = time.monotonic() - compiled_seconds_ago
    recording = begin(recorder, price=1.2)
    (slot,) = recording._slots
    slot.state = "running"
    recording._session_begun = time.monotonic() - 100
    assert recording._is_step_wanted() is is_wanted


@pytest.mark.parametrize(("steps", "is_noted"), [(5, True), (1, False)])
def test_steps_of_which_none_was_recorded_are_noted(
    begin: Callable[..., Recording], steps: int, is_noted: bool
) -> None:
    recording = begin(Double("torch"), price=1.2)
    recording.start()
    recording._clock.pause()  # as while events are written
    for _step in range(steps):
        step_clock.hear(step_clock.OPTIMIZER)
    capture = recording.finish("stop")
    assert capture is not None
    noted = [note for note in capture.warnings if note.slug == "no-step-recorded"]
    assert bool(noted) is is_noted
    assert step_clock._followers == ()
