"""A program's start: known work as spans, and looks at the main thread for any other moment.

A thread of ours looks at the main thread 100 times a second: its line in the program and its system
call, its processor time and time in the processor's queue, and the bytes that the process read. The
kernel keeps these numbers, so a look at a thread that holds the interpreter (it loads a library,
say) comes late but loses nothing. It ends when steps have become steady.
"""

from __future__ import annotations

import os
import platform
import sys
import threading
import time
from contextlib import suppress
from types import FrameType
from typing import Final, NamedTuple

import numpy as np

from stepscope.capture import step_clock
from stepscope.capture.options import ProfilerOptions
from stepscope.capture.recorder import Recorded
from stepscope.capture.runtime import start_spans
from stepscope.capture.runtime.at_work import is_at_work
from stepscope.capture.runtime.frame_names import FrameNames
from stepscope.capture.runtime.start_spans import StartSpan
from stepscope.capture.runtime.thread_frames import is_ours, no_collection
from stepscope.capture.runtime.ticker import Ticker
from stepscope.formats.xspace.plane_writer import PlaneWriter, Stat
from stepscope.schema import names

_HZ: Final = 100.0
# A start of minutes is looked at as closely only in its first one.
_CLOSE_NS, _SELDOM = 60 * 10**9, 10
_MOST_LOOKS: Final = 100_000
_STEADY_STEPS, _STEADY_SPREAD = names.START_STEADY_STEPS, names.START_STEADY_SPREAD
# Steps that never become steady end the start after this many and this long.
_MOST_STEPS, _MOST_STEPS_NS = 50, 5 * 10**9
# A process that reads this fast reads files, though its main thread does not wait for a disk:
# pages are in memory (the thread computes), or a slow reader fetches them (it waits otherwise).
_READ_BYTES_PER_NS: Final = 0.02
_SLOWLY_READ_BYTES_PER_NS: Final = 0.002
_LEAST_READ_BYTES: Final = 1 << 15
_HALF: Final = 0.5
# Other threads that used less of the time than this do nothing that one could wait for.
_IDLE: Final = 0.05

# System calls by the reason to wait in them.
_CALLS: Final[dict[str, dict[str, tuple[int, ...]]]] = {
    "x86_64": {
        "disk": (0, 2, 4, 5, 6, 17, 19, 21, 40, 74, 75, 78, 217, 257, 262, 295, 332),
        "network": (42, 43, 44, 45, 46, 47, 288, 299, 307),
        "poll": (7, 23, 232, 270, 271, 281),
        "lock": (72, 73),
        "threads": (202,),
        "processes": (61, 247),
        "sleep": (35, 230),
        "device": (16,),
    },
    "aarch64": {
        "disk": (48, 56, 61, 63, 65, 67, 69, 71, 79, 80, 82, 83, 291),
        "network": (202, 203, 206, 207, 211, 212, 242),
        "poll": (22, 72, 73),
        "lock": (25, 32),
        "threads": (98,),
        "processes": (95, 260),
        "sleep": (101, 115),
        "device": (29,),
    },
}
_WAIT_OF: Final = {
    number: wait
    for wait, numbers in _CALLS.get(platform.machine(), {}).items()
    for number in numbers
}
# A fault in a page that is not in memory blocks without a system call.
_PAGE_FAULT: Final = -1
# Reason to wait in a file of the standard library, if the system hides the call.
_WAIT_IN: Final = {
    "subprocess.py": "processes",
    "socket.py": "network",
    "ssl.py": "network",
    "selectors.py": "network",
    "threading.py": "threads",
    "queue.py": "threads",
}
# Functions that stand for a kind of work: kind and name, by file and function.
_KNOWN: Final = {
    ("socket.py", "getaddrinfo"): ("look-up", "name look-up"),
    ("subprocess.py", "_wait"): ("processes", "subprocess"),
    ("subprocess.py", "communicate"): ("processes", "subprocess"),
    ("subprocess.py", "_execute_child"): ("processes", "subprocess"),
    ("popen_fork.py", "poll"): ("processes", "multiprocessing"),
    ("triton_heuristics.py", "autotune_to_one_config"): ("autotuning", "Triton"),
    ("select_algorithm.py", "autotune"): ("autotuning", "Inductor"),
    ("autotuner.py", "run"): ("autotuning", "Triton"),
    ("_api.py", "acquire"): ("lock", "file lock"),
    ("file_baton.py", "wait"): ("lock", "build of an extension"),
}


class _Look(NamedTuple):
    """The main thread at a moment; times and bytes count from its start."""

    now_ns: int
    cpu_ns: int
    queue_ns: int
    others_ns: int
    bytes: int


class _Stretch(NamedTuple):
    """The main thread from one look to a later one, in one state."""

    begin_ns: int
    end_ns: int
    key: tuple[str, str, str, str]  # kind, name, place, wait
    cpu_ns: int
    queue_ns: int
    bytes: int


class _Kernel:
    """The main thread's files in /proc; a missing file reads as unknown."""

    def __init__(self) -> None:
        thread = threading.main_thread()
        task = f"/proc/self/task/{thread.native_id}"
        self._call = _opened(f"{task}/syscall")
        self._schedule = _opened(f"{task}/schedstat")
        self._io = _opened("/proc/self/io")
        self._clock = (
            time.pthread_getcpuclockid(thread.ident)
            if hasattr(time, "pthread_getcpuclockid") and thread.ident is not None
            else None
        )

    def look(self, now_ns: int) -> _Look:
        """The numbers of now."""
        schedule, io = _read(self._schedule).split(), _read(self._io).split()
        cpu_ns = 0 if self._clock is None else time.clock_gettime_ns(self._clock)
        read = max(int(io[1]), int(io[9])) if len(io) > 9 else 0
        queue_ns = int(schedule[1]) if len(schedule) > 1 else 0
        return _Look(now_ns, cpu_ns, queue_ns, time.process_time_ns() - cpu_ns, read)

    def waits_for(self) -> tuple[str, str]:
        """Reason for which the thread is blocked, and the file; "" while it runs, or if hidden."""
        words = _read(self._call).split()
        if not words or words[0] == "running":
            return "", ""
        number = int(words[0])
        if number == _PAGE_FAULT:
            return "disk", ""
        wait = _WAIT_OF.get(number, "unknown")
        if wait != "disk" or len(words) < 2:
            return "network" if wait == "poll" else wait, ""
        return _of_file(int(words[1], 16))

    def close(self) -> None:
        """Close the files."""
        for file in (self._call, self._schedule, self._io):
            if file is not None:
                with suppress(OSError):
                    os.close(file)
        self._call = self._schedule = self._io = None


def _of_file(descriptor: int) -> tuple[str, str]:
    """Reason to wait in a read, and the name of the file."""
    try:
        path = os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115  # at each look
    except OSError:
        return "disk", ""
    if path.startswith("socket:"):
        return "network", ""
    if path.startswith("pipe:"):
        return "processes", ""
    return "disk", os.path.basename(path)  # noqa: PTH119  # at each look


def _opened(path: str) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


def _read(file: int | None) -> str:
    if file is None:
        return ""
    try:
        return os.pread(file, 512, 0).decode("ascii", "replace")
    except OSError:
        return ""


class StartUp:
    """Recorder ``start_up``."""

    name = "start_up"
    goes_on = True

    def __init__(self) -> None:
        self._ticker: Ticker | None = None
        self._looks: _Looks | None = None
        self._has_begun = False

    def unavailable(self) -> str | None:
        """A program that runs already has started."""
        if start_spans.active() is None and self._looks is None:
            return "A start is recorded from the program's begin: stepscope record."
        return None

    @property
    def is_over(self) -> bool:
        """Whether steps have become steady, or nothing is recorded."""
        return self._looks is None or self._looks.is_over

    def start(self, options: ProfilerOptions) -> None:
        """Begin with the process; later calls go on."""
        spans = start_spans.active()
        if spans is None or self._looks is not None:
            return
        self._looks = _Looks(spans)
        step_clock.follow(self._looks.heard)
        self._ticker = Ticker("start", _HZ, self._looks.take)
        self._ticker.start()

    def cut(self) -> Recorded | None:
        """Hand over the events so far; it goes on."""
        if self._looks is not None and self._looks.is_over:
            return self.collect()
        return None if self._looks is None else self._looks.recorded(is_last=False)

    def collect(self) -> Recorded:
        """End, and write it."""
        looks = self._stop()
        return Recorded() if looks is None else looks.recorded(is_last=True)

    def drop(self) -> None:
        """End and forget."""
        self._stop()

    def forked(self) -> None:
        """A forked child starts with everything loaded."""
        self._ticker = None
        self._stop()

    def _stop(self) -> _Looks | None:
        ticker, self._ticker = self._ticker, None
        looks, self._looks = self._looks, None
        if ticker is not None:
            ticker.stop()
        if looks is not None:
            start_spans.stop()
            step_clock.unfollow(looks.heard)
            looks.close()
        return looks


class _Looks:
    """Looks at the main thread of a process, and the first steps that hooks heard of.

    Attributes:
        is_over: Steps have become steady.
    """

    def __init__(self, spans: start_spans.StartSpans) -> None:
        self.is_over = False
        self._spans = spans
        self._begun_ns = time.time_ns()
        self._ident = threading.main_thread().ident
        self._names = FrameNames()
        self._kernel = _Kernel()
        self._last = look = self._kernel.look(self._begun_ns)
        self._last_state = ("", "")
        spans.take()  # what our own start imported
        key = ("interpreter", "before the program", "", "unknown")
        if spans.is_late:
            key = ("program", "the time before stepscope.init()", "", "unknown")
        self._stretches = [
            _Stretch(spans.exec_ns, self._begun_ns, key, look.cpu_ns, look.queue_ns, 0)
        ]
        self._ticks = 0
        self._steps = step_clock.FirstSteps()
        self._has_begin = False
        # The time of day and the clock of steps, at one moment.
        self._clocks = time.time_ns(), time.perf_counter_ns()

    def heard(self, source: str, which: object, begin_ns: int, end_ns: int) -> None:
        """A step has ended; called on the program's thread."""
        if not self.is_over:
            self._steps.add(source, which, begin_ns, end_ns)

    def take(self, now_ns: int, late_ns: int) -> None:
        """Look."""
        if self.is_over:
            return
        self._ticks += 1
        if now_ns - self._begun_ns > _CLOSE_NS and self._ticks % _SELDOM:
            return
        if len(self._stretches) > _MOST_LOOKS or self._is_steady():
            self.is_over = True
            start_spans.stop()
            return
        look, state = self._kernel.look(now_ns), self._kernel.waits_for()
        with no_collection():
            frame = sys._current_frames().get(self._ident or 0)
        self._add(look, state, frame)

    def _add(self, look: _Look, state: tuple[str, str], frame: FrameType | None) -> None:
        before = self._last
        length = max(look.now_ns - before.now_ns, 1)
        cpu, queue = look.cpu_ns - before.cpu_ns, look.queue_ns - before.queue_ns
        size = look.bytes - before.bytes
        wait, file = state if state[0] else self._last_state
        kind, name, place, hint = self._site(frame)
        others_idle = look.others_ns - before.others_ns < _IDLE * length
        if cpu + queue >= _HALF * length:
            wait = ""
        elif wait in ("", "unknown"):
            # It waited between samples: where other threads compute, mostly for them.
            wait = hint or ("unknown" if others_idle else "threads")
        if wait == "threads" and others_idle:
            # None of the process's own threads can be what it waits for, but a session may.
            wait = "lock"
            if is_at_work():
                kind, name, place, wait = "recorder", "Stepscope", "", ""
        rate = _SLOWLY_READ_BYTES_PER_NS if wait else _READ_BYTES_PER_NS
        is_read = size >= max(_LEAST_READ_BYTES, rate * length)
        if kind == "program" and (wait == "disk" or is_read):
            kind = "reading"
            name = f"{name}: {file}" if file else name
        elif kind == "program" and wait == "processes":
            kind = "processes"
        self._last, self._last_state = look, state
        key, size = (kind, name, place, wait), size if is_read else 0
        last = self._stretches[-1] if self._stretches else None
        if last is not None and last.key == key and last.end_ns == before.now_ns:
            self._stretches[-1] = _Stretch(
                last.begin_ns, look.now_ns, key,
                last.cpu_ns + cpu, last.queue_ns + queue, last.bytes + size,
            )  # fmt: skip
        else:
            self._stretches.append(_Stretch(before.now_ns, look.now_ns, key, cpu, queue, size))

    def _site(self, frame: FrameType | None) -> tuple[str, str, str, str]:
        """Kind of work, its name, line of the program, and a library's reason to wait."""
        if frame is None:
            return "program", "end of the program", "", ""
        if is_ours(frame):
            return "recorder", "Stepscope", "", ""
        kind, name, hint, has_ours = "program", "", "", False
        innermost = frame
        at: FrameType | None = frame
        while at is not None:
            code = at.f_code
            short = code.co_filename.rpartition("/")[2]
            if not hint:
                hint = _WAIT_IN.get(short, "")
            known = _KNOWN.get((short, code.co_name))
            if known is not None and kind == "program":
                kind, name = known
            if self._names.is_own(code):
                function = getattr(code, "co_qualname", code.co_name)
                place = f"{code.co_filename}:{at.f_lineno}"
                return kind, name or function.replace("<module>", short), place, hint
            has_ours = has_ours or is_ours(at)
            at = at.f_back
        if has_ours:
            return "recorder", "Stepscope", "", ""  # a library works for it before the program
        code = innermost.f_code
        return kind, name or f"{self._names.file(code.co_filename)} {code.co_name}", "", hint

    def _is_steady(self) -> bool:
        steps = self._steps.surest()[1]
        if len(steps) <= _STEADY_STEPS:
            return False
        lengths = [end - begin for begin, end in steps]
        wall_ns, clock_ns = self._clocks
        is_long = len(steps) >= _MOST_STEPS and sum(lengths) >= _MOST_STEPS_NS
        has_compiled = self._spans.compiled_ns - wall_ns > steps[-_STEADY_STEPS][0] - clock_ns
        last = lengths[-_STEADY_STEPS:]
        return is_long or (not has_compiled and max(last) <= _STEADY_SPREAD * min(last))

    def close(self) -> None:
        """Look no more."""
        self.is_over = True
        self._kernel.close()

    def recorded(self, *, is_last: bool) -> Recorded:
        """Events since the last time, as a plane."""
        stretches, self._stretches = self._stretches, []
        spans = self._spans.take()
        if not self._has_begin:
            self._has_begin = True
            exec_ns, ours_ns = self._spans.exec_ns, self._spans.installed_ns
            python = f"Python {platform.python_version()}"
            if not self._spans.is_late:
                spans = [
                    StartSpan("interpreter", python, "", exec_ns, ours_ns),
                    StartSpan("recorder", "Stepscope", "", ours_ns, self._begun_ns),
                    *spans,
                ]
        plane = PlaneWriter(names.START_PLANE)
        _write_spans(plane, spans)
        _write_stretches(plane, stretches)
        if is_last:
            self._write_steps(plane)
        return Recorded(plane.xspace(), plane.events) if plane.events else Recorded()

    def _write_steps(self, plane: PlaneWriter) -> None:
        source, steps = self._steps.surest()
        if not steps:
            return
        wall_ns, clock_ns = self._clocks
        begin = np.asarray([one[0] for one in steps], np.int64) + (wall_ns - clock_ns)
        length = np.asarray([one[1] - one[0] for one in steps], np.int64)
        name = plane.name("step", stats={names.START_KIND: source})
        plane.line(
            3,
            names.START_STEPS_LINE,
            metadata=np.full(len(begin), name),
            start_ns=begin,
            duration_ns=length,
        )


def _write_spans(plane: PlaneWriter, spans: list[StartSpan]) -> None:
    if not spans:
        return
    metadata = [
        plane.name(
            span.name,
            stats={
                names.START_KIND: span.kind,
                names.START_PLACE: span.place,
                names.START_CACHE: span.cache,
            },
        )
        for span in spans
    ]
    begin = np.asarray([span.begin_ns for span in spans], np.int64)
    plane.line(
        1,
        names.START_SPANS_LINE,
        metadata=np.asarray(metadata),
        start_ns=begin,
        duration_ns=np.asarray([span.end_ns for span in spans], np.int64) - begin,
        stats=[Stat(names.START_BYTES, np.asarray([span.bytes for span in spans], np.int64))],
    )


def _write_stretches(plane: PlaneWriter, stretches: list[_Stretch]) -> None:
    if not stretches:
        return
    metadata = []
    for stretch in stretches:
        kind, name, place, wait = stretch.key
        stats = {names.START_KIND: kind, names.START_PLACE: place, names.START_WAIT: wait}
        metadata.append(plane.name(name, stats=dict(stats)))
    columns = {
        names.START_CPU: [one.cpu_ns for one in stretches],
        names.START_QUEUE: [one.queue_ns for one in stretches],
        names.START_BYTES: [one.bytes for one in stretches],
    }
    begin = np.asarray([one.begin_ns for one in stretches], np.int64)
    plane.line(
        2,
        names.START_LOOKS_LINE,
        metadata=np.asarray(metadata),
        start_ns=begin,
        duration_ns=np.asarray([one.end_ns for one in stretches], np.int64) - begin,
        stats=[Stat(name, np.asarray(values, np.int64)) for name, values in columns.items()],
    )
