"""The last seconds of the program, kept in memory, and written when something goes wrong.

Nobody knows beforehand which step will be slow. The flight recorder samples Python, reads counters
and keeps annotations and steps all the time; a dump is a recording of the last half minute. It is
written for a slow step (the second one: the first may be a compilation), an exception that ends the
program, SIGUSR2, and ``stepscope dump PID``.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import signal
import socket
import stat
import statistics
import sys
import tempfile
import threading
import time
from collections import deque
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Final

import numpy as np

from stepscope.capture import control, step_clock, tracing
from stepscope.capture.file import logdir as places
from stepscope.capture.file.assemble import Assembly, Pieces
from stepscope.capture.file.compact import compact
from stepscope.capture.file.writer import Ring, Writer
from stepscope.capture.options import ProfilerOptions
from stepscope.capture.recorder import Recorded
from stepscope.capture.recorders.annotations import AnnotationRecorder
from stepscope.capture.recorders.garbage_collector import GarbageCollector
from stepscope.capture.recorders.python_sampler import PythonSampler
from stepscope.capture.recorders.telemetry import Telemetry
from stepscope.capture.recording import Recording
from stepscope.capture.runtime.daemon_thread import beside
from stepscope.capture.runtime.main_thread import run_waiting
from stepscope.capture.runtime.ticker import THREAD_PREFIX
from stepscope.errors import CaptureError
from stepscope.formats.xspace.plane_writer import PlaneWriter, Stat
from stepscope.schema import names

_KEPT_SECONDS: Final = 30.0
_KEPT_BYTES: Final = 64 << 20
# A chunk of nine threads costs 60 ms, however long it is.
_CHUNK_SECONDS: Final = 15.0
# Looks of 20 to 300 µs each.
_SAMPLE_HZ: Final = 20.0
_TELEMETRY_HZ: Final = 1.0
# A step is slow from three times the usual one on, if it also is 50 ms longer; what is usual is
# known after 20 steps.
_SLOW_TIMES: Final = 3.0
_SLOW_NS: Final = 50_000_000
_USUAL_STEPS, _FEWEST_STEPS = 100, 20
_DUMPED_SLOW_STEP: Final = 2
# Slow steps come in groups, and disks fill up.
_BETWEEN_SECONDS: Final = 60.0
_MAX_SLOW_DUMPS: Final = 5
_MAX_KEPT_STEPS: Final = 100_000
_WAIT_SECONDS: Final = 60.0
_SLICE_SECONDS: Final = 0.005
_SOCKET_ENDING: Final = ".dump"
_MAX_ANSWER_BYTES: Final = 64 << 10
_log: Final = logging.getLogger("stepscope")


class FlightRecorder:
    """The flight recorder of this process; as a recorder it keeps the steps that hooks report.

    Args:
        logdir: Folder or URL for the dumps.
    """

    name = "steps"

    def __init__(self, logdir: str | os.PathLike[str]) -> None:
        self._logdir = os.fspath(logdir)
        self._ring = Ring(self._logdir, _KEPT_SECONDS, _KEPT_BYTES)
        self._recording: Recording | None = None
        self._surest = step_clock.SurestSteps()
        # Number, begin and end of each step (``time.perf_counter_ns()``).
        self._steps: deque[tuple[int, int, int]] = deque(maxlen=_MAX_KEPT_STEPS)
        self._count = 0
        self._usual: deque[int] = deque(maxlen=_USUAL_STEPS)
        self._slow_steps = self._slow_dumps = 0
        self._dumped_at = -_BETWEEN_SECONDS
        self._socket: socket.socket | None = None
        self._excepthook = sys.excepthook

    # --- a recorder -------------------------------------------------------------------------

    def unavailable(self) -> str | None:
        """Always there."""
        return None

    def start(self, options: ProfilerOptions) -> None:
        """Nothing to do: hooks report steps all the time."""

    def collect(self) -> Recorded:
        """The steps since the last time, where the program does not mark them itself."""
        steps = [self._steps.popleft() for _ in range(len(self._steps))]
        if not steps or self._surest.source == step_clock.MARKER:
            return Recorded()  # markers are annotations, which another recorder keeps
        number, begin, end = np.array(steps, np.int64).T
        plane = PlaneWriter(names.HOST_PLANE)
        plane.line(
            threading.main_thread().native_id or 0,
            "python",
            metadata=np.full(len(steps), plane.name(self._surest.source)),
            start_ns=begin + time.time_ns() - time.perf_counter_ns(),
            duration_ns=end - begin,
            stats=[Stat(names.STEP_NUM, number, np.arange(len(steps)))],
        )
        return Recorded(plane.xspace(), plane.events)

    def drop(self) -> None:
        """Forget the steps."""
        self._steps.clear()

    # --- when to dump -----------------------------------------------------------------------

    def begin(self) -> None:
        """Record from now on, unless somebody records this process already.

        Raises:
            CaptureError: This process is being recorded.
        """
        options = ProfilerOptions(
            sample_hz=_SAMPLE_HZ,
            telemetry_hz=_TELEMETRY_HZ,
            memory=False,
            chunk_seconds=_CHUNK_SECONDS,
        )
        self._recording = control.start(
            self._logdir,
            options,
            owner="flight recorder",
            ring=self._ring,
            sources=[
                AnnotationRecorder(),
                PythonSampler(first_looks=0),
                GarbageCollector(),
                Telemetry(),
                self,
            ],
        )
        step_clock.follow(self._heard)
        tracing.set_base(step_clock.marker_emitter())
        sys.excepthook = self._raised
        is_main = threading.current_thread() is threading.main_thread()
        usr2: int = getattr(signal, "SIGUSR2", 0)
        if is_main and usr2 and signal.getsignal(usr2) is signal.SIG_DFL:
            signal.signal(usr2, self._signalled)
        self._listen()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    def _heard(self, source: str, which: object, begin_ns: int, end_ns: int) -> None:
        """Called on the program's thread at each step."""
        if self._surest.is_new_place(source, which):
            self._steps.clear()
            self._usual.clear()
        begin = self._surest.begin_ns(source, which, begin_ns, end_ns)
        if not begin:
            return
        self._steps.append((self._count, begin, end_ns))
        length, usual = end_ns - begin, self._usual
        if length > _SLOW_NS and len(usual) >= _FEWEST_STEPS:
            usual_ns = statistics.median(usual)
            if length > max(_SLOW_TIMES * usual_ns, usual_ns + _SLOW_NS):
                self._was_slow(length, usual_ns)
        usual.append(length)
        self._count += 1

    def _other(self) -> Recording | None:
        """The recording that has taken its place for a while."""
        active = control.active()
        return None if active is self._recording else active

    def _was_slow(self, length_ns: int, usual_ns: float) -> None:
        if self._other() is not None:
            return
        self._slow_steps += 1
        is_soon = time.monotonic() < self._dumped_at + _BETWEEN_SECONDS
        if self._slow_steps < _DUMPED_SLOW_STEP or is_soon or self._slow_dumps >= _MAX_SLOW_DUMPS:
            return
        self._slow_dumps += 1
        self._dump(
            f"step {self._count:,} took {length_ns / 1e6:,.0f} ms, usually {usual_ns / 1e6:.3g} ms"
        )

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        self._dump("the process got SIGUSR2")

    def _raised(
        self,
        kind: type[BaseException],
        error: BaseException,
        traceback: TracebackType | None,
    ) -> None:
        self._excepthook(kind, error, traceback)
        if issubclass(kind, Exception) and self._other() is None:
            self._dump(f"the program raised {kind.__name__}").wait()

    # --- the dump ---------------------------------------------------------------------------

    def _dump(self, reason: str) -> _Dump:
        """Ask for a dump, which the recording's keeper writes."""
        self._dumped_at = time.monotonic()
        dump = _Dump(self._ring, self._logdir, reason)
        other = self._other()
        if self._recording is None or self._recording.finished:
            dump.fail("the recording has ended")
        elif other is not None:
            dump.fail(f"{other.writer.place} is being recorded and has them")
        else:
            self._recording.snapshot(dump.write)
        return dump

    def _listen(self) -> None:
        """Answer ``stepscope dump``, where the system has sockets with a name."""
        if not hasattr(socket, "AF_UNIX"):
            return
        try:
            folder = _folder(create=True)
            for left in folder.glob(f"*{_SOCKET_ENDING}"):
                if not _is_alive(left.stem) or left.stem == str(os.getpid()):
                    left.unlink(missing_ok=True)
            path = folder / f"{os.getpid()}{_SOCKET_ENDING}"
            listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            listening.bind(str(path))
            listening.listen()
        except (OSError, CaptureError) as error:
            _log.info("stepscope: `stepscope dump` cannot reach this process: %s", error)
            return
        self._socket = listening
        atexit.register(self._forget_name)
        beside(f"{THREAD_PREFIX}dump", self._answer, listening)

    def _forget_name(self) -> None:
        with contextlib.suppress(OSError):
            (_folder() / f"{os.getpid()}{_SOCKET_ENDING}").unlink()

    def _answer(self, listening: socket.socket) -> None:
        while True:
            try:
                asking, _ = listening.accept()
            except OSError:  # closed
                return
            with contextlib.suppress(OSError), asking:
                dump = self._dump("somebody asked for it")
                dump.wait()
                asking.sendall(f"{dump.place}\n{dump.problem}".encode("utf-8", "replace"))

    def _forked(self) -> None:
        """A forked child has none of the threads: it has no flight recorder."""
        step_clock.unfollow(self._heard)
        tracing.set_base(None)
        if sys.excepthook == self._raised:
            sys.excepthook = self._excepthook
        if hasattr(signal, "SIGUSR2") and signal.getsignal(signal.SIGUSR2) == self._signalled:
            signal.signal(signal.SIGUSR2, signal.SIG_DFL)
        if self._socket is not None:
            self._socket.close()
            atexit.unregister(self._forget_name)


class _Dump:
    """One dump on its way into a file."""

    def __init__(self, ring: Ring, logdir: str, reason: str) -> None:
        self._ring, self._logdir, self._reason = ring, logdir, reason
        self._is_over = False
        self.place = self.problem = ""

    def write(self, tail: Pieces) -> None:
        """Write the file; called by the recording's keeper."""
        try:
            file = Writer.open(self._logdir, f"{places.run_name()}_dump")
            because = f"The last {_KEPT_SECONDS:g} s, because {self._reason}."
            said = Assembly(0)
            said.add_stats(names.HOST_PLANE, {names.IMPORTED: because})
            self._ring.save(file, [*tail, *said.pieces()])
            notes = compact(file, _WAIT_SECONDS)
            file.deliver()
            self.place = file.place
            _log.warning("stepscope: %s: %s", because.removesuffix("."), file.place)
            for note in (*file.notes, *notes):
                _log.warning("stepscope: %s", note.message)
        except Exception as error:  # the recording goes on whatever happens to a dump
            self.fail(f"{error}")
        self._is_over = True

    def fail(self, problem: str) -> None:
        """There is no file, for this reason."""
        self.problem, self._is_over = problem, True
        _log.warning("stepscope: the last seconds could not be written: %s.", problem)

    def wait(self) -> None:
        """Wait until the file is there, at most a minute."""
        until = time.monotonic() + _WAIT_SECONDS
        # In slices: between them the main thread does what recorders ask it to do.
        while not self._is_over and time.monotonic() < until:
            run_waiting()
            time.sleep(_SLICE_SECONDS)
        if not self._is_over:
            self.fail(f"it took longer than {_WAIT_SECONDS:g} s")


_recorder: FlightRecorder | None = None


def begin(logdir: str | os.PathLike[str]) -> None:
    """Keep the last seconds of this process from now on; once per process.

    Raises:
        CaptureError: This process has a flight recorder, or is being recorded.
    """
    global _recorder
    if _recorder is not None:
        raise CaptureError(
            "This process already has a flight recorder.",
            hint="Call stepscope.init(flight_recorder=…) once.",
            slug="flight-recorder",
        )
    recorder = FlightRecorder(logdir)
    recorder.begin()
    _recorder = recorder


# --- from another process -----------------------------------------------------------------------


def ask(process: int) -> str:
    """Have a process write its last seconds; returns the place of the recording.

    Raises:
        CaptureError: It has no flight recorder, belongs to somebody else, or cannot write.
    """
    path = _folder() / f"{process}{_SOCKET_ENDING}"
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
            asking.settimeout(_WAIT_SECONDS + 1)
            asking.connect(str(path))
            answer = b""
            while len(answer) < _MAX_ANSWER_BYTES and (piece := asking.recv(_MAX_ANSWER_BYTES)):
                answer += piece
    except (OSError, AttributeError) as error:
        raise CaptureError(
            f"Process {process} has no flight recorder.",
            why=f"Nobody listens at {path} ({error}).",
            hint="Start the program with stepscope.init(flight_recorder=LOGDIR), as this user. "
            + _others(),
            slug="flight-recorder",
        ) from error
    place, _, problem = answer.decode("utf-8", "replace").partition("\n")
    if not place:
        raise CaptureError(
            f"Process {process} could not write its last seconds.",
            why=problem or "It gave no answer.",
            slug="flight-recorder",
        )
    return place


def _others() -> str:
    pids = sorted(path.stem for path in _folder().glob(f"*{_SOCKET_ENDING}"))
    return f"Processes that have one: {', '.join(filter(_is_alive, pids)) or 'none'}."


def _is_alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except (OSError, ValueError, OverflowError):
        return False
    return True


def _folder(*, create: bool = False) -> Path:
    """Where sockets of this user are.

    Raises:
        CaptureError: Somebody else has made it.
    """
    given = os.environ.get("XDG_RUNTIME_DIR", "")
    user: Any = getattr(os, "getuid", lambda: "user")()
    folder = Path(given or tempfile.gettempdir()) / f"stepscope-{user}"
    if create:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != user or found.st_mode & 0o077:
            raise CaptureError(
                "The folder for `stepscope dump` is not ours.",
                where=str(folder),
                why="Another user made it, or others may write to it.",
                hint="Remove it, or set XDG_RUNTIME_DIR to a folder of this user.",
                slug="flight-recorder",
            )
    return folder
