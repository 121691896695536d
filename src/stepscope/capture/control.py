"""Who records in this process: one recording at a time, and what becomes of it when things end.

``start``/``stop`` and ``Profile`` have the shapes of ``tf.profiler.experimental``. Beyond them, a
recording that nobody stops is written when the process exits or gets SIGTERM; in a child process
after ``fork`` there is none.
"""

from __future__ import annotations

import atexit
import logging
import os
import signal
import tempfile
import threading
import time
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Final

from stepscope.capture import tracing
from stepscope.capture.file.writer import Writer
from stepscope.capture.options import ProfilerOptions
from stepscope.capture.recorder import Note
from stepscope.capture.recorders import recorders
from stepscope.capture.recording import Reason, Recording
from stepscope.capture.result import Capture
from stepscope.capture.runtime.daemon_thread import beside
from stepscope.capture.runtime.ticker import THREAD_PREFIX
from stepscope.errors import CaptureError

# Who may take the profilers from whom: a person goes before everybody.
_RANK: Final = {"launcher": 0, "remote": 1, "person": 2}
_TURN_SECONDS: Final = 0.05
_log: Final = logging.getLogger("stepscope")


@dataclass(frozen=True, slots=True)
class Part:
    """A child process's place in its parent's recording.

    Attributes:
        stem: Name of its file, without the ending.
        suffix: Put behind the names of its planes.
        origin_ns: Where the parent's time begins.
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
        # Has the launcher's recording go on; whoever wants it to wait lets this end first.
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
    part: Part | None = None,
) -> Recording:
    """Begin to record this process: all loaded frameworks, annotations, Python and the machine.

    Args:
        logdir: Where to write: a folder, or a URL that fsspec knows. None: a temporary folder.
        options: What to record.
        owner: "person", or who acts for one: "remote" gives way to a person.
        run: Name of the run; the local time by default.
        part: Set in a child process, whose recording becomes part of its parent's.

    Raises:
        CaptureError: Something records already. The program and that recording go on.
    """
    chosen = options or ProfilerOptions()
    with _here.lock:
        _make_room(owner)
        try:
            place = tempfile.mkdtemp(prefix="stepscope-") if logdir is None else os.fspath(logdir)
            writer = Writer.open(place, run, part.stem if part else None)
            recording = Recording(writer, chosen, owner, recorders(), on_finish=_over)
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
    """End the recording and write it; with ``save=False`` forget it.

    Returns at the latest after ``ProfilerOptions.stop_seconds``; an export that takes longer goes
    on beside the program and the result says so.

    Raises:
        CaptureError: Nothing records (a recording that its budget has ended counts, once).
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
        capture: What the recording came to, once the block has ended.
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


def give_way() -> None:
    """Have the launcher's recording let go of the frameworks' profilers: the program wants them."""
    _pause_launcher(True)


def take_up() -> None:
    """Have the launcher's recording go on, after ``give_way``."""
    _pause_launcher(False)


def _pause_launcher(paused: bool) -> None:
    recording = _here.active
    if recording is not None and recording.owner == "launcher":
        _set_paused(recording, paused)


def _set_paused(recording: Recording, paused: bool) -> None:
    resuming = _here.resuming
    # In short turns: between them the main thread does what recorders ask it to do.
    while resuming is not None and resuming.is_alive():
        resuming.join(_TURN_SECONDS)
    recording.set_paused(paused)


def warmup() -> None:
    """Load what a recording needs, so that its first start costs the program nothing."""
    options = ProfilerOptions(sample_hz=0, telemetry_hz=0, memory=False)
    start(None, options)
    stop(save=False)


def _make_room(owner: str) -> None:
    running = _here.active
    if running is None or running.finished:
        return
    if _RANK[owner] <= _RANK[running.owner]:
        since = time.time() - running.origin_ns / 1e9
        who = "a capture from outside" if running.owner == "remote" else "this program"
        raise CaptureError(
            "Something records already in this process.",
            where=running.writer.place,
            why=f"It was started {since:.1f} s ago by {who}, and one process has one profiler.",
            hint="Stop it first (stepscope.stop()), or let it end; it goes on undisturbed.",
            slug="capture-busy",
        )
    if running.owner == "launcher":
        _set_paused(running, True)
        _here.aside = running
    else:
        running.finish("preempted")
        if _here.active is not running:  # what it had set aside goes on, and has to wait again
            _make_room(owner)


def _over(recording: Recording) -> None:
    """A recording has ended, for whatever reason: called by its keeper."""
    # No lock: whoever holds it may be waiting for this very recording.
    if _here.active is recording:
        # In this order: a stop() in between finds it in one place or the other.
        _here.ended[recording.owner] = recording
        _here.active = None
    if _here.aside is recording:
        _here.aside = None
    _take_back()


def _take_back() -> None:
    """Have the recording that was set aside go on, if there is one."""
    aside, _here.aside = _here.aside, None
    if aside is not None:
        _here.resuming = beside(THREAD_PREFIX + "resuming", aside.set_paused, False)
        _here.active = aside


def end(recording: Recording, *, save: bool = True) -> Capture:
    """End a recording that ``start`` gave; one that has ended gives its result."""
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
        f"Writing takes longer than {seconds:g} s and goes on beside the program; the recording "
        f"will be in {recording.writer.place}."
    )
    return Capture(
        recording.writer.place, 0, 0, 0.0, seconds, {}, (Note("still-writing", "warning", note),)
    )


def _nothing_records(recording: Recording | None) -> CaptureError:
    why = "It was not started, or is stopped already."
    if recording is not None:
        why = f"What records here was started by another owner ({recording.owner}), who ends it."
    return CaptureError(
        "There is no recording to stop.",
        why=why,
        hint="Call stepscope.start(logdir) first, or use `with stepscope.Profile(logdir):`.",
        slug="not-recording",
    )


# --- how processes end ------------------------------------------------------------------------


def _watch() -> None:
    """See to it that a recording outlives exit, SIGTERM and fork; done once."""
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
        if recording is not None and recording.finish(reason) is None:
            _log.warning(
                "stepscope: the program ends and the writing of %s takes longer than %g s: what is "
                "not written yet is lost. A larger stop_seconds waits for it.",
                recording.writer.place,
                recording.options.stop_seconds,
            )


def _at_exit() -> None:
    _finish_all("exit")


def _on_sigterm(number: int, frame: FrameType | None) -> None:
    _finish_all("signal")
    # As if nobody had listened: the process ends by the signal, and its parent sees that.
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _in_child() -> None:
    """A forked process has the memory of a recording but not its threads: it forgets it."""
    global _here
    left, _here = _here, _Process()
    _here.is_watched = left.is_watched
    tracing.switch(None)
    for recording in (left.active, left.aside):
        if recording is not None:
            recording.forked()
    _unwatch()
