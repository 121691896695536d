"""What Python was doing: samples of the stacks of all threads.

A thread of ours takes ``sys._current_frames()`` at ``sample_hz``. The program is not instrumented,
so it runs at full speed between two looks; a look costs 20 to 100 µs. Consecutive equal stacks
become one slice, equal callers become one slice around several: the result nests like a flame
graph, on the clock of the ops.

A look needs the GIL. A thread that runs Python releases it in a C call that does so, or after
``sys.getswitchinterval()``, 5 ms: looks would miss shorter Python functions and see the call after
them instead (of 3 ms of Python and 3 ms of sleep, they saw 1 % and 99 %). So the interval is 0.2 ms
while sampling, which costs programs whose threads compete for the GIL a few per cent, others
nothing. How late each look was is recorded as a counter, and says how busy the GIL was.
"""

from __future__ import annotations

import dis
import functools
import re
import sys
import threading
import time
import weakref
from array import array
from types import CodeType, FrameType
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.capture.options import ProfilerOptions
from stepscope.capture.recorder import Collected, Note, Recorded
from stepscope.capture.runtime.c_calls import CCalls
from stepscope.capture.runtime.frame_names import FrameNames
from stepscope.capture.runtime.thread_frames import no_collection
from stepscope.capture.runtime.ticker import THREAD_PREFIX, Ticker
from stepscope.formats.xspace.plane_writer import PlaneWriter, Stat
from stepscope.quantities import share_words
from stepscope.schema import names

I64 = NDArray[np.int64]

# A slice ends this many periods after its last look when no other look followed.
_PERIODS_OF_A_GAP: Final = 3.0
_DEEPEST: Final = 250
# A thread in C code that used less of the time than this waits for something.
_IDLE_FRAC: Final = 0.05
_SWITCH_SECONDS: Final = 0.0002
# A recording begins with so many looks at ten times the rate: of five steps of 8 ms, 100 a second
# would be four looks. They cost 6 to 30 ms in all.
_FIRST_LOOKS: Final = 300
_FIRST_TIMES, _MOST_HZ = 10.0, 1000.0
# Looks at exact intervals see the same line of a loop whose steps take as long.
_SPREAD_FRAC: Final = 0.5
# Looks that came late by half a period or more, as a share, from which a note is made.
_LATE_FRAC: Final = 0.25
# A stack as the sampler keeps it: ids of code objects and places in them, innermost first.
_Key = tuple[int, ...]
_IS_LINUX: Final = sys.platform == "linux"
# Of a clock's number on Linux: of one thread, and the time it was scheduled.
_THREAD, _SCHEDULED = 4, 2
# At these instructions alone a thread in Python code gives the GIL up to one that asks for it.
# (Calls do so as well, but a thread at a call may as well be in C code that needs no GIL.)
_GIVES_UP: Final = re.compile("RESUME|.*JUMP_(?:BACKWARD|ABSOLUTE)")


class _States(NamedTuple):
    """What a thread did from one look to the next: 1 in Python code, 0 not; -1 ns is not known."""

    in_python: I64
    start_ns: I64
    length_ns: I64
    cpu_ns: I64


class PythonSampler:
    """Recorder ``python_sampler``.

    Args:
        first_looks: So many looks at ten times the rate begin each chunk.
    """

    name = "python_sampler"

    def __init__(self, first_looks: int = _FIRST_LOOKS) -> None:
        self._first_looks = first_looks
        self._ticker: Ticker | None = None
        self._looks = _Looks()
        self._switch_seconds: float | None = None

    def unavailable(self) -> str | None:
        """Only where the interpreter does not show its frames."""
        if not hasattr(sys, "_current_frames"):
            return "This Python does not show the stacks of its threads (sys._current_frames)."
        return None

    def start(self, options: ProfilerOptions) -> None:
        """Begin to look; nothing happens at 0 Hz."""
        self._looks = _Looks()
        self._ticker = None
        if options.sample_hz > 0:
            self._looks.period_ns = int(1e9 / options.sample_hz)
            first = (self._first_looks, min(_FIRST_TIMES * options.sample_hz, _MOST_HZ))
            self._ticker = Ticker(
                "sampler",
                options.sample_hz,
                self._looks.take,
                first=(first[0], max(first[1], options.sample_hz)),
                spread_frac=_SPREAD_FRAC,
            )
            self._hasten()
            self._ticker.start()

    def collect(self) -> Collected:
        """End; the looks as slices."""
        ticker, looks = self._stop(), self._looks
        self._looks = _Looks()
        if ticker is None or not looks.times:
            return Recorded()
        return functools.partial(self._converted, ticker, looks)

    def _converted(self, ticker: Ticker, looks: _Looks) -> Recorded:
        plane, threads = looks.plane(), looks.threads_plane()
        return Recorded(
            plane.xspace() + threads.xspace(),
            plane.events + threads.events,
            tuple(_notes(ticker, looks)),
        )

    def drop(self) -> None:
        """End and forget."""
        self._stop()
        self._looks = _Looks()

    def forked(self) -> None:
        """A child process is not sampled: its threads get their switch interval back."""
        self._ticker = None
        self._relax()

    def _stop(self) -> Ticker | None:
        ticker, self._ticker = self._ticker, None
        if ticker is not None:
            ticker.stop()
            self._relax()
        return ticker

    def _hasten(self) -> None:
        """Let threads have the GIL sooner, unless the program has seen to that itself."""
        self._switch_seconds = sys.getswitchinterval()
        if self._switch_seconds > _SWITCH_SECONDS:
            sys.setswitchinterval(_SWITCH_SECONDS)

    def _relax(self) -> None:
        """As it was, unless the program has changed it meanwhile."""
        before, self._switch_seconds = self._switch_seconds, None
        is_ours = abs(sys.getswitchinterval() - _SWITCH_SECONDS) < 1e-9
        if before is not None and before > _SWITCH_SECONDS and is_ours:
            sys.setswitchinterval(before)


class _Looks:
    """Every look: when, how late, and per thread which stack it had.

    Stacks are kept once: a training loop has some ten of them, so a look is a few numbers.
    """

    def __init__(self) -> None:
        self.period_ns = 0
        self.times = array("q")
        self.late_ns = array("q")
        self._look = array("q")  # per thread and look: which look,
        self._thread = array("q")  # which row in self._threads,
        self._stack = array("q")  # the row in self._frames,
        self._cpu_ns = array("q")  # and the processor time it had used (-1: not known).
        self._index: dict[_Key, int] = {}
        self._frames: list[list[tuple[CodeType, int]]] = []  # outermost first, with lines
        self._leaves: list[tuple[int, str]] = []  # by stack: where its innermost frame is, of what
        self._in_python: list[bool] = []  # by stack: in Python code, not in a call of C code
        self._threads: list[tuple[int, str]] = []  # thread id of the system, name
        self._idents: list[int] = []  # and what the thread library calls it
        # By the id of its object, which is held weakly: the program may want its memory back.
        self._thread_index: dict[int, tuple[weakref.ref[threading.Thread], int]] = {}
        self._unnamed: dict[int, tuple[int, int]] = {}  # by number: the row, its last look
        # Code objects seen stay alive, so that no id is given twice.
        self._codes: dict[int, CodeType] = {}

    def take(self, now_ns: int, late_ns: int) -> None:
        """Look once; called on the sampler's thread with the GIL held."""
        look = len(self.times)
        self.times.append(now_ns)
        self.late_ns.append(late_ns)
        alive = {one.ident: one for one in threading.enumerate()}
        with no_collection():
            for ident, frame in sys._current_frames().items():
                thread = alive.get(ident)
                if thread is None or not thread.name.startswith(THREAD_PREFIX):  # not ours
                    stack = self._stack_of(frame)
                    row = self._thread_of(ident, thread, look)
                    used = cpu_ns(self._threads[row][0])
                    self._look.append(look)
                    self._thread.append(row)
                    self._stack.append(stack)
                    self._cpu_ns.append(used)

    def _thread_of(self, ident: int, thread: threading.Thread | None, look: int) -> int:
        """The row of a thread. Its object tells it apart: numbers are given again to others."""
        if thread is None:
            row, _ = self._unnamed.get(ident, (-1, -1))
            if row < 0:
                row = self._add_thread(ident, f"thread {ident}", ident)
            self._unnamed[ident] = (row, look)
            return row
        seen, known = self._thread_index.get(id(thread), (None, -1))
        if seen is None or seen() is not thread:
            number = thread.native_id or ident
            # One of C++, or one that has just begun, has no object until it asks for its own.
            row, last = self._unnamed.pop(ident, (-1, -2))
            if last == look - 1:
                known, self._threads[row] = row, (number, thread.name)
            else:
                known = self._add_thread(number, thread.name, ident)
            self._thread_index[id(thread)] = weakref.ref(thread), known
        return known

    def _add_thread(self, number: int, name: str, ident: int) -> int:
        self._threads.append((number, name))
        self._idents.append(ident)
        return len(self._threads) - 1

    def _stack_of(self, leaf: FrameType) -> int:
        places: list[int] = []
        frame: FrameType | None = leaf
        while frame is not None and len(places) < 2 * _DEEPEST:
            places.append(id(frame.f_code))
            places.append(frame.f_lasti)
            frame = frame.f_back
        key = tuple(places)
        known = self._index.get(key)
        return known if known is not None else self._add(key, leaf)

    def _add(self, key: _Key, leaf: FrameType) -> int:
        frames: list[tuple[CodeType, int]] = []
        frame: FrameType | None = leaf
        while frame is not None and len(frames) < _DEEPEST:
            self._codes[id(frame.f_code)] = frame.f_code
            frames.append((frame.f_code, frame.f_lineno or 0))
            frame = frame.f_back
        self._frames.append(frames[::-1])
        self._leaves.append((leaf.f_lasti, str(leaf.f_globals.get("__name__", ""))))
        self._in_python.append(wants_gil(leaf.f_code, leaf.f_lasti))
        self._index[key] = len(self._frames) - 1
        return self._index[key]

    def plane(self) -> PlaneWriter:
        """The looks as slices, one line per thread."""
        plane = PlaneWriter(names.PYTHON_SAMPLES_PLANE)
        depth_nodes, node_name = self._tree(plane)
        times, late = self._columns(self.times, self.late_ns)
        look, thread, stack, _cpu = self._seen()
        first, ident = np.zeros(1, np.int64), np.asarray(self._idents, np.int64)
        for row, (number, name) in enumerate(self._threads):
            mine = thread == row
            if not mine.any():  # first seen in a look that never ended
                continue
            slices = _slices(times, look[mine], depth_nodes[stack[mine]], self.period_ns)
            plane.line(
                number,
                name,
                metadata=node_name[slices[0]],
                start_ns=slices[1],
                duration_ns=slices[2],
                stats=[Stat(names.THREAD_IDENT, ident[row : row + 1], first)],
            )
        lateness = plane.name("Python sampling lateness", stats={"unit": "ms"})
        plane.line(
            0,
            names.COUNTER_LINE,
            metadata=np.full(len(times), lateness),
            start_ns=times,
            stats=[Stat(names.COUNTER_VALUE, late / 1e6)],
        )
        plane.stat("sample_hz", 1e9 / self.period_ns)
        plane.stat("samples", len(times))
        plane.stat("sample_lateness_ms", float(np.median(late)) / 1e6)
        return plane

    def threads_plane(self) -> PlaneWriter:
        """Who ran, one line per thread: slices in Python code and in C code, with their time.

        A thread that waits in C code for something else has none.
        """
        plane = PlaneWriter(names.PYTHON_THREADS_PLANE)
        metadata = plane.names((names.OUTSIDE_PYTHON, names.IN_PYTHON))
        times, _late = self._columns(self.times, self.late_ns)
        look, thread, stack, cpu = self._seen()
        in_python = np.asarray(self._in_python, np.int64)
        for row, (number, name) in enumerate(self._threads):
            mine = thread == row
            if not mine.any():
                continue
            states = _states(times, look[mine], in_python[stack[mine]], cpu[mine], self.period_ns)
            if len(states.in_python):
                known = np.flatnonzero(states.cpu_ns >= 0)
                plane.line(
                    number,
                    name,
                    metadata=metadata[states.in_python],
                    start_ns=states.start_ns,
                    duration_ns=states.length_ns,
                    stats=[Stat(names.CPU_NS, states.cpu_ns[known], known)] if len(known) else [],
                )
        return plane

    def _seen(self) -> list[I64]:
        """Look, thread, stack and processor time of every thread that a look saw."""
        return self._columns(self._look, self._thread, self._stack, self._cpu_ns)

    def _columns(self, *columns: array[int]) -> list[I64]:
        """Columns as long as the shortest: a look that never ended has only some of its numbers."""
        count = min(map(len, columns))
        return [np.asarray(column[:count], np.int64) for column in columns]

    def _tree(self, plane: PlaneWriter) -> tuple[I64, I64]:
        """The stacks as rows of tree nodes by depth (-1: not so deep), and the nodes' names.

        A node is a function under its callers, a line under its function, or the call into C that
        a stack ends in; so two stacks with one node at a depth have all callers in common.
        """
        labels, calls = FrameNames(), CCalls()
        nodes: dict[tuple[int, int], int] = {}
        node_name: list[int] = []
        rows: list[list[int]] = []

        def down(parent: int, name: int) -> int:
            key = (parent, name)
            if key not in nodes:
                nodes[key] = len(node_name)
                node_name.append(name)
            return nodes[key]

        def at_line(parent: int, code: CodeType, line: int) -> int:
            source = f"{code.co_filename}:{line}"
            return down(parent, plane.name(labels.line(code, line), stats={names.SOURCE: source}))

        def below(parent: int, code: CodeType, line: int) -> tuple[int, ...]:
            name = plane.name(labels.function(code), stats={names.SOURCE: labels.source(code)})
            node = down(parent, name)
            return (node, at_line(node, code, line)) if labels.is_own(code) else (node,)

        # Stacks share their callers: each frame below the same ones is named once. By the id of
        # its code, as a hash of code reads all of it.
        known: dict[tuple[int, int, int], tuple[int, ...]] = {}
        for frames, leaf in zip(self._frames, self._leaves, strict=True):
            node, row = -1, list[int]()
            for code, line in frames:
                key = (node, id(code), line)
                if key not in known:
                    known[key] = below(node, code, line)
                row += known[key]
                node = row[-1]
            innermost, line = frames[-1]
            if labels.is_own(innermost):
                # What libraries call is theirs: their own names say more.
                called = calls.name(innermost, *leaf)
                if called:
                    row.append(down(node, plane.name(called)))
            else:
                row.append(at_line(node, innermost, line))
            rows.append(row)
        deepest = max(map(len, rows), default=0)
        padded = np.full((len(rows), deepest), -1, np.int64)
        for place, row in enumerate(rows):
            padded[place, : len(row)] = row
        return padded, np.asarray(node_name, dtype=np.int64)


def _spans(
    times: I64, look: I64, period_ns: int, most_periods: float
) -> tuple[I64, I64, NDArray[np.bool_]]:
    """How long what was seen lasts: begin, end, and whether nothing leads up to it.

    That is until the next look at this thread, but not through a look that did not see it, nor
    through more than this many periods.
    """
    begin = times[look]
    # The last look at a thread lasts as long as looks were apart just then.
    around = times[max(int(look[-1]) - 1, 0) : int(look[-1]) + 2]
    usual = int(np.diff(around).min()) if len(around) > 1 else period_ns
    until = np.append(begin[1:], begin[-1] + min(usual, period_ns))
    gap = until - begin > most_periods * period_ns
    gap[:-1] |= np.diff(look) > 1
    return begin, np.where(gap, begin + period_ns, until), np.concatenate([[True], gap[:-1]])


def _states(times: I64, look: I64, in_python: I64, cpu: I64, period_ns: int) -> _States:
    """The looks at a thread that ran, or wanted to.

    Args:
        times: Of every look.
        look: In which looks the thread was seen, ascending.
        in_python: Whether it was in Python code, by look.
        cpu: Processor time it had used by then; -1: not known.
        period_ns: Time between two looks.
    """
    # However late a look comes: that it does is what is looked for, and processor time is exact.
    begin, until, broken = _spans(times, look, period_ns, np.inf)
    is_known = np.append((cpu[1:] >= 0) & (cpu[:-1] >= 0) & ~broken[1:], False)
    used = np.where(is_known, np.append(np.diff(cpu), 0), -1)
    shown = np.flatnonzero((in_python > 0) | (used > _IDLE_FRAC * (until - begin)))
    return _States(in_python[shown], begin[shown], (until - begin)[shown], used[shown])


def _slices(times: I64, look: I64, nodes: I64, period_ns: int) -> tuple[I64, I64, I64]:
    """Runs of one node at one depth: the node, begin and length of each.

    Args:
        times: Of every look.
        look: In which looks the thread was seen, ascending.
        nodes: Its stack in each of them, by depth.
        period_ns: Time between two looks.
    """
    begin, until, broken = _spans(times, look, period_ns, _PERIODS_OF_A_GAP)
    found: list[tuple[I64, I64, I64]] = []
    for depth in range(nodes.shape[1]):
        column = nodes[:, depth]
        first = np.flatnonzero(broken | (np.diff(column, prepend=column[0] - 1) != 0))
        last = np.append(first[1:], len(column)) - 1
        there = column[first] >= 0
        first, last = first[there], last[there]
        found.append((column[first], begin[first], until[last] - begin[first]))
    node, start, length = (np.concatenate([part[i] for part in found]) for i in range(3))
    return node, start, length


def _notes(ticker: Ticker, looks: _Looks) -> list[Note]:
    found = []
    if ticker.error is not None:
        found.append(
            Note("sampler-ended", "warning", f"Python sampling ended early: {ticker.error!r}.")
        )
    late = np.frombuffer(looks.late_ns, np.int64)
    share = float(np.mean(late > looks.period_ns / 2))
    if share > _LATE_FRAC:
        found.append(
            Note(
                "sampler-late",
                "info",
                f"{share_words(share)} of the Python samples came late (median "
                f"{float(np.median(late)) / 1e6:.1f} ms): Python held the GIL without pause, or "
                "no processor was free. Slices are accurate to that time.",
            )
        )
    return found


def cpu_ns(native_id: int) -> int:
    """Processor time that a thread of this process has used; -1 where that is not known.

    Args:
        native_id: The system's number of the thread. One that has ended is not known.
    """
    if not _IS_LINUX or native_id <= 0:
        return -1
    try:
        return time.clock_gettime_ns((~native_id << 3) | _THREAD | _SCHEDULED)
    except (OSError, OverflowError):  # a number of Python's own, which is an address, fits no clock
        return -1


def wants_gil(code: CodeType, instruction: int) -> bool:
    """Whether a thread at this place is in Python code, not in a call of C code.

    Asked by a thread that holds the GIL of another one, it says that this one waits for it.

    Args:
        code: Of the thread's innermost frame.
        instruction: ``f_lasti`` of the frame.
    """
    if instruction < 0:
        return False
    return _GIVES_UP.match(dis.opname[code.co_code[instruction]]) is not None
