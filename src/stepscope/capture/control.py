"""Who records in this process: one recording at a time, kept through exit, signals and fork.

``start``/``stop`` and ``Profile`` have the shapes of ``tf.profiler.experimental``. Beyond them, a
recording that is not stopped is written when the process exits or gets SIGTERM. A child process
made by ``fork`` has no recording.
"""

from __future__ import annotations

import atexit
import logging
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from types import FrameType, TracebackType
from typing import Final

from stepscope.capture import tracing
from stepscope.capture.file.writer import Ring, Writer
from stepscope.capture.options import ProfilerOptions
from stepscope.capture.recorder import Note, Recorder
from stepscope.capture.recorders import recorders
from stepscope.capture.recording import Reason, Recording
from stepscope.capture.result import Capture
from stepscope.capture.runtime.daemon_thread import beside
from stepscope.capture.runtime.main_thread import run_waiting
from stepscope.capture.runtime.ticker import THREAD_PREFIX
from stepscope.errors import CaptureError
from stepscope.records import dataclass

# Who takes precedence: a higher rank takes the profilers from a lower one.
_RANK: Final = {"flight recorder": 0, "launcher": 1, "remote": 2, "person": 3}
#: Recordings that go on once the one that took the profilers has ended.
SET_ASIDE: Final = ("flight recorder", "launcher")
_TURN_SECONDS: Final = 0.05
# An ending program waits so long for a recording that another thread is starting.
_START_SECONDS, _SLICE_SECONDS = 10.0, 0.005
_log: Final = logging.getLogger("stepscope")


@dataclass(frozen=True, slots=True)
class ChildFile:
    """A child process's place in its parent's recording.

    Attributes:
        stem: Name of its file, without the ending.
        suffix: Appended to the names of its planes.
        origin_ns: Time zero of the parent's file.
    """

    stem: str
    suffix: str
    origin_ns: int


class _Process:
    """The state of this process: the recording that runs, and the one that was set aside for it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.active: Recording | None = None
        self.aside: Recording | None = None
        # Resumes the launcher's recording; pausing it again waits for this thread.
        self.resuming: threading.Thread | None = None
        # What ended by itself, until its owner's stop() asks for the result.
        self.ended: dict[str, Recording] = {}
        self.is_watched = False


_here = _Process()


def start(
    logdir: str | os.PathLike[str] | None,
    options: ProfilerOptions | None = None,
    *,
    owner: str = "person",
    run: str | None = None,
    part: ChildFile | None = None,
    origin_ns: int = 0,
    around: Callable[[tracing.Emitter], tracing.Emitter] | None = None,
    ring: Ring | None = None,
    sources: Sequence[Recorder] | None = None,
) -> Recording:
    """Start recording this process: all loaded frameworks, annotations, Python and the machine.

    Args:
        logdir: Where to write: a folder, or a URL that fsspec knows. None: a temporary folder.
        options: What to record.
        owner: "person", "remote" (a capture from outside), "launcher" or "flight recorder"; see
            ``_RANK``.
        run: Name of the run; the local time by default.
        part: Set in a child process, whose recording becomes part of its parent's.
        origin_ns: Time zero of the file, ``time.time_ns()``; now by default.
        around: Makes the emitter that annotations go to of that of the recorders.
        ring: Keeps the chunks instead of a file; only saved when asked to.
        sources: The recorders; a new one of each kind by default.

    Raises:
        CaptureError: A recording is already running. It continues, as does the program.
    """
    chosen = options or ProfilerOptions()
    with _here.lock:
        _make_room(owner)
        try:
            place = tempfile.mkdtemp(prefix="stepscope-") if logdir is None else os.fspath(logdir)
            writer = ring or Writer.open(place, run, part.stem if part else None)
            used = recorders() if sources is None else list(sources)
            recording = Recording(writer, chosen, owner, used, on_finish=_over)
            recording.around, recording.origin_ns = around, origin_ns
            if part is not None:
                recording.suffix, recording.origin_ns = part.suffix, part.origin_ns
            _here.active = recording
            _here.ended.pop(owner, None)
            _watch()
            try:
                recording.start()
            except BaseException:
                writer.discard()
                raise
        except BaseException:
            _here.active = None
            _take_back()
            raise
    return recording


def stop(save: bool = True, *, owner: str = "person") -> Capture:
    """End the recording and write it; with ``save=False`` discard it.

    Returns after at most ``ProfilerOptions.stop_seconds``; a longer export continues in the
    background, and the result says so.

    Raises:
        CaptureError: No recording is running. (The first ``stop`` after a budget ended one returns
            its result.)
    """
    with _here.lock:
        running = _here.active
        mine = running if running is not None and running.owner == owner else None
        recording = mine or _here.ended.get(owner)
        if recording is None:
            raise _nothing_records(running)
    return end(recording, save=save)


def active() -> Recording | None:
    """The recording that runs in this process, if any."""
    return _here.active


class Profile:
    """``with Profile(logdir):`` records what runs inside.

    Attributes:
        capture: The result, once the block has ended.
    """

    def __init__(
        self, logdir: str | os.PathLike[str] | None, options: ProfilerOptions | None = None
    ) -> None:
        self._logdir = logdir
        self._options = options
        self._recording: Recording | None = None
        self.capture: Capture | None = None

    def __enter__(self) -> Profile:
        self._recording = start(self._logdir, self._options)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._recording is not None:
            self.capture = end(self._recording)


def give_way(profiler: str) -> None:
    """Pause the launcher's recording: the program needs the frameworks' profilers.

    Args:
        profiler: The one that the program starts, for the recording's notes.
    """
    _pause_launcher(True, profiler)


def take_up() -> None:
    """Resume the launcher's recording after ``give_way``."""
    _pause_launcher(False)


def _pause_launcher(paused: bool, profiler: str = "") -> None:
    recording = _here.active
    if recording is not None and recording.owner == "launcher":
        _set_paused(recording, paused, profiler)


def _set_paused(recording: Recording, paused: bool, profiler: str = "") -> None:
    resuming = _here.resuming
    # In short turns: between them the main thread does what recorders ask it to do.
    while resuming is not None and resuming.is_alive():
        resuming.join(_TURN_SECONDS)
    recording.set_paused(paused, profiler)


def warmup() -> None:
    """Import what a recording needs, so that the first start is fast."""
    options = ProfilerOptions(sample_hz=0, telemetry_hz=0, memory=False)
    start(None, options)
    stop(save=False)


def _make_room(owner: str) -> None:
    running = _here.active
    if running is None or running.finished:
        return
    if _RANK[owner] <= _RANK[running.owner]:
        since = time.time() - running.origin_ns / 1e9
        who = "A capture from outside" if running.owner == "remote" else "This program"
        raise CaptureError(
            "This process is already being recorded.",
            where=running.writer.place,
            why=f"{who} started a recording {since:.1f} s ago, and a process has one profiler.",
            hint="Stop that recording first (stepscope.stop()), or wait for its end.",
            slug="capture-busy",
        )
    if running.owner in SET_ASIDE:
        _set_paused(running, True, "Stepscope")
        _here.aside = running
    else:
        running.finish("preempted")
        if _here.active is not running:  # what it had set aside goes on, and has to wait again
            _make_room(owner)


def _over(recording: Recording) -> None:
    """A recording has ended, for whatever reason: called by its keeper."""
    # No lock: its holder may be waiting for this very recording.
    if _here.active is recording:
        # In this order: a stop() in between finds it in one place or the other.
        _here.ended[recording.owner] = recording
        _here.active = None
    if _here.aside is recording:
        _here.aside = None
    _take_back()


def _take_back() -> None:
    """Resume the recording that was set aside, if there is one."""
    aside, _here.aside = _here.aside, None
    if aside is not None:
        _here.resuming = beside(THREAD_PREFIX + "resuming", aside.set_paused, False)
        _here.active = aside


def end(recording: Recording, *, save: bool = True) -> Capture:
    """End a recording that ``start`` returned; if it has ended, return its result."""
    capture = recording.finish("stop", save=save)
    with _here.lock:
        if _here.ended.get(recording.owner) is recording:
            del _here.ended[recording.owner]
        if _here.active is None and threading.current_thread() is threading.main_thread():
            _unwatch()
    return capture or _still_writing(recording)


def _still_writing(recording: Recording) -> Capture:
    seconds = recording.options.stop_seconds
    note = (
        f"Writing takes longer than {seconds:g} s and continues in the background; the recording "
        f"will be in {recording.writer.place}."
    )
    return Capture(
        recording.writer.place, 0, 0, 0.0, seconds, {}, (Note("still-writing", "warning", note),)
    )


def _nothing_records(recording: Recording | None) -> CaptureError:
    why = "It was not started, or has already been stopped."
    if recording is not None:
        why = f"The current recording belongs to another owner ({recording.owner}), who ends it."
    return CaptureError(
        "There is no recording to stop.",
        why=why,
        hint="Call stepscope.start(logdir) first, or use `with stepscope.Profile(logdir):`.",
        slug="not-recording",
    )


# --- how processes end ------------------------------------------------------------------------


def _watch() -> None:
    """Keep a recording through exit, SIGTERM and fork; done once."""
    if not _here.is_watched:
        _here.is_watched = True
        atexit.register(_at_exit)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_in_child)
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _on_sigterm)


def _unwatch() -> None:
    """Give SIGTERM back its default: a handler of Python's waits for the interpreter's turn."""
    if signal.getsignal(signal.SIGTERM) is _on_sigterm:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _finish_all(reason: Reason) -> None:
    for recording in (_here.active, _here.aside):
        if recording is None:
            continue
        is_file = not isinstance(recording.writer, Ring)
        if recording.finish(reason, save=is_file) is None and is_file:
            _log.warning(
                "stepscope: the program is ending, and writing %s takes longer than %g s: the rest "
                "is lost. A larger stop_seconds waits for it.",
                recording.writer.place,
                recording.options.stop_seconds,
            )


def _at_exit() -> None:
    _await_start()
    _finish_all("exit")


def _await_start() -> None:
    """Wait while another thread starts a recording: profilers that begin as libraries end crash."""
    until = time.monotonic() + _START_SECONDS
    while not _here.lock.acquire(blocking=False):
        if time.monotonic() > until:
            return
        # In short turns: between them the main thread does what recorders ask it to do.
        run_waiting()
        time.sleep(_SLICE_SECONDS)
    _here.lock.release()


def _on_sigterm(number: int, frame: FrameType | None) -> None:
    _finish_all("signal")
    # As if nobody had listened: the process ends by the signal, and its parent sees that.
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _in_child() -> None:
    """A forked process has a recording's memory but not its threads: drop the recording."""
    global _here
    left, _here = _here, _Process()
    _here.is_watched = left.is_watched
    tracing.switch(None)
    for recording in (left.active, left.aside):
        if recording is not None:
            recording.forked()
    _unwatch()
