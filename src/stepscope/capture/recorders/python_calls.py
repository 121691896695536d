"""Every Python call, exactly; off by default, since each call costs about 1 µs.

The sampler answers most questions at almost no cost. This is for what it cannot see: how often a
function is called, and calls of microseconds. Filters by file and module narrow what is recorded;
the rest then costs almost nothing on Python 3.12 and later.
"""

from __future__ import annotations

import functools
import sys
import time
from pathlib import Path
from types import CodeType
from typing import Final

import numpy as np

from stepscope.capture.call_tracer.log import I64, Heard, Log
from stepscope.capture.call_tracer.monitoring import Monitoring
from stepscope.capture.call_tracer.setprofile import SetProfile
from stepscope.capture.options import ProfilerOptions
from stepscope.capture.recorder import Collected, Note, Recorded
from stepscope.capture.runtime.frame_names import FrameNames
from stepscope.formats.xspace.plane_writer import PlaneWriter, Stat
from stepscope.records import dataclass
from stepscope.schema import names

#: Of a call: the line it was made from.
CALLER_LINE = "caller_line"
# Functions that a note names.
_NAMED: Final = 10
_OURS: Final = str(Path(__file__).resolve().parents[1])


class PythonCalls:
    """Recorder ``python_calls``."""

    name = "python_calls"
    #: docs/python-tracks.md
    event_ns = 1000

    def __init__(self) -> None:
        self._options: ProfilerOptions | None = None
        self._log = Log()
        self._hook: Monitoring | SetProfile | None = None
        self._begin_ns = 0
        # Calls that ran when the last chunk ended, outermost first, by thread; only conversions,
        # which come one after the other, look at it.
        self._open: dict[int, list[int]] = {}
        self._labels = FrameNames()

    def unavailable(self) -> str | None:
        """Always there; it records only with ``trace_python``."""
        return None

    def start(self, options: ProfilerOptions) -> None:
        """Begin to hear of calls; raises ``RuntimeError`` when another tracer is in the way."""
        if not options.trace_python:
            return
        if options is not self._options or self._hook is None:
            self._options, self._open, self._log = options, {}, Log()
            wanted, muted = (
                CodeFilter(options.trace_include, options.trace_exclude),
                self._log.muted,
            )

            def admits(code: CodeType) -> bool:
                return id(code) not in muted and wanted.admits(code)

            kind = Monitoring if hasattr(sys, "monitoring") else SetProfile
            self._hook = kind(self._log, admits, with_lines=options.trace_lines)
        self._begin_ns = time.time_ns()
        self._hook.start()

    def collect(self) -> Collected:
        """The calls since the beginning, or since the last chunk, as slices."""
        if self._hook is None or self._options is None:
            return Recorded()
        end_ns = time.time_ns()
        self._hook.stop()
        heard = self._log.take()
        notes = self._step_down(heard, end_ns - self._begin_ns)
        return functools.partial(self._converted, heard, self._begin_ns, end_ns, notes)

    def _step_down(self, heard: list[Heard], length_ns: int) -> tuple[Note, ...]:
        """Leave functions that are called too often for the price to the sampler."""
        if self._options is None or self._options.price is None or not heard:
            return ()
        codes = np.concatenate([one.code for one in heard])
        number, count = np.unique(codes[codes > 0], return_counts=True)
        order = np.argsort(-count, kind="stable")
        number, count = number[order], count[order]
        # Calls that are left if the first so many functions are muted.
        left = count.sum() - np.concatenate([[0], np.cumsum(count)])
        affordable = (self._options.price - 1) * length_ns / self.event_ns
        muted = int(np.argmax(left <= affordable))
        if not muted:
            return ()
        named: list[str] = []
        for code, calls in zip(number[:muted].tolist(), count[:muted].tolist(), strict=True):
            self._log.mute(code)
            if len(named) < _NAMED:
                named.append(f"{self._labels.function(self._log.muted[code])} ({calls:,})")
        text = (
            f"Calls of {muted} functions are only sampled from here on: they came too often for a "
            f"price of {self._options.price:g}. Most calls in {length_ns / 1e9:.2g} s: "
            f"{', '.join(named)}. --full records them."
        )
        return (Note("calls-sampled", "warning", text),)

    def _converted(
        self, heard: list[Heard], begin_ns: int, end_ns: int, notes: tuple[Note, ...]
    ) -> Recorded:
        if self._options is None:
            return Recorded()
        writer = _CallsPlane({**self._log.codes, **self._log.muted}, self._options)
        threads = {one.number for one in heard}
        # A thread that only went on with what it had begun before was not heard of at all.
        nothing = np.empty(0, np.int64)
        heard += [
            Heard(number, f"thread {number}", nothing, nothing, nothing)
            for number, open_ in self._open.items()
            if open_ and number not in threads
        ]
        for one in heard:
            went_on = np.asarray(
                [code for code in self._open.get(one.number, []) if code not in self._log.muted],
                dtype=np.int64,
            )
            begins = np.full(len(went_on), begin_ns, np.int64)
            code, moment = np.concatenate([went_on, one.code]), np.concatenate([begins, one.time])
            at = np.concatenate([np.full(len(went_on), -1, np.int64), one.caller_at])
            calls = pair(code, moment, begin_ns, end_ns)
            self._open[one.number] = calls.open
            writer.add(one, calls, at)
        if not writer.plane.events:
            return Recorded(notes=notes)
        return Recorded(writer.plane.xspace(), writer.plane.events, notes)

    def drop(self) -> None:
        """Hear no more and forget."""
        if self._hook is not None:
            self._hook.stop()
        self._hook, self._open, self._log = None, {}, Log()

    def forked(self) -> None:
        """A child process is not recorded: what is kept would grow with every call."""
        self.drop()


class _CallsPlane:
    """Calls on their way to a plane."""

    def __init__(self, codes: dict[int, CodeType], options: ProfilerOptions) -> None:
        self.plane = PlaneWriter(names.PYTHON_CALLS_PLANE)
        self._codes, self._options = codes, options
        self._labels = FrameNames()
        self._lines: dict[tuple[int, int], int] = {}

    def add(self, heard: Heard, calls: CallSpans, caller_at: I64) -> None:
        """The calls of one thread as a line."""
        length = calls.end_ns - calls.start_ns
        rows = np.flatnonzero(length >= self._options.trace_min_us * 1e3)
        used, inverse = np.unique(calls.code[rows], return_inverse=True)
        if not len(used):
            return
        metadata = np.asarray([self._name(one) for one in used.tolist()], dtype=np.int64)
        stats = []
        if self._options.trace_lines:
            line = self._caller_lines(calls, caller_at)[rows]
            has = np.flatnonzero(line > 0)
            if len(has):
                stats.append(Stat(CALLER_LINE, line[has], has))
        self.plane.line(
            heard.number,
            heard.name,
            metadata=metadata[inverse],
            start_ns=calls.start_ns[rows],
            duration_ns=length[rows],
            stats=stats,
        )

    def _name(self, number: int) -> int:
        code = self._codes[number]
        source = self._labels.source(code)
        return self.plane.name(self._labels.function(code), stats={names.SOURCE: source})

    def _caller_lines(self, calls: CallSpans, caller_at: I64) -> I64:
        """The line each call was made from (0: its caller is not recorded)."""
        at = np.where(calls.event >= 0, caller_at[np.maximum(calls.event, 0)], -1)
        caller = np.where(calls.parent >= 0, calls.code[np.maximum(calls.parent, 0)], 0)
        pairs = np.stack([caller, at], axis=1)
        distinct, inverse = np.unique(pairs, axis=0, return_inverse=True)
        lines = np.asarray(
            [self._line(code, place) for code, place in distinct.tolist()], dtype=np.int64
        )
        found: I64 = lines[inverse.ravel()]
        return found

    def _line(self, number: int, place: int) -> int:
        code = self._codes.get(number)
        if code is None or place < 0:
            return 0
        for begin, end, line in code.co_lines():
            if begin <= place < end:
                return line or 0
        return 0


class CodeFilter:
    """Decides which functions are recorded, by prefixes of their files or modules.

    Args:
        include: Prefixes of files (``/work/``, ``torch/nn``) or modules (``torch.nn``); empty:
            everything.
        exclude: Prefixes of what to leave out of that.
    """

    def __init__(self, include: tuple[str, ...] = (), exclude: tuple[str, ...] = ()) -> None:
        self._include, self._exclude = include, exclude
        self._names = FrameNames()
        self._files: dict[str, bool] = {}

    def admits(self, code: CodeType) -> bool:
        """Whether calls of this code are recorded; those of the recorder itself never are."""
        known = self._files.get(code.co_filename)
        if known is None:
            known = self._files[code.co_filename] = self._decide(code.co_filename)
        return known

    def _decide(self, filename: str) -> bool:
        if filename.startswith(_OURS):
            return False
        short = self._names.file(filename)
        module = short.removesuffix(".py").replace("/", ".").replace("\\", ".")
        spellings = (filename, short, module.removesuffix(".__init__"))

        def matches(prefixes: tuple[str, ...]) -> bool:
            return any(text.startswith(prefixes) for text in spellings)

        if self._include and not matches(self._include):
            return False
        return not (self._exclude and matches(self._exclude))


@dataclass(frozen=True, slots=True, eq=False)
class CallSpans:
    """Calls of one thread, in no particular order.

    Attributes:
        code: ``id`` of the code object of each.
        start_ns, end_ns: When.
        parent: Row of the call it was made in, -1 for none.
        event: Row of its begin among what was given, -1 for calls that ran before.
        open: Codes of the calls that run still, outermost first.
    """

    code: I64
    start_ns: I64
    end_ns: I64
    parent: I64
    event: I64
    open: list[int]


def pair(code: I64, time: I64, begin_ns: int, end_ns: int) -> CallSpans:
    """Calls from begins (positive codes) and ends (negative) in order of time.

    Begins and ends nest like brackets. The depth after a begin, and before an end, is the level
    of the call; on one level begins and ends take turns. An end without a begin is of a call that
    ran at ``begin_ns`` already, a begin without an end of one that runs at ``end_ns`` still.
    """
    sign = np.where(code > 0, 1, -1)
    after = np.cumsum(sign)
    level = np.where(sign > 0, after, after - sign)
    by_level = np.argsort(level, kind="stable")
    levels, signs = level[by_level], sign[by_level]
    is_first = np.diff(levels, prepend=levels[0] - 1) != 0 if len(levels) else signs > 0
    is_last = np.append(is_first[1:], True) if len(levels) else is_first
    opens = signs > 0
    # The end that goes with a begin comes right after it on its level.
    place = np.flatnonzero(opens)
    unended = is_last[place]
    start_row = by_level[place]
    next_row = by_level[np.minimum(place + 1, max(len(by_level) - 1, 0))]
    end = np.where(unended, end_ns, time[next_row]) if len(place) else np.empty(0, np.int64)
    orphan = by_level[~opens & is_first]
    rows = np.concatenate([start_row, orphan])
    called = np.concatenate([start_row, np.full(len(orphan), -1, np.int64)])
    running = start_row[unended]
    return CallSpans(
        code=np.abs(code[rows]),
        start_ns=np.concatenate([time[start_row], np.full(len(orphan), begin_ns, np.int64)]),
        end_ns=np.concatenate([end, time[orphan]]),
        parent=_parents(level[rows], called),
        event=called,
        open=[int(one) for one in code[running[np.argsort(level[running], kind="stable")]]],
    )


def _parents(level: I64, event: I64) -> I64:
    """The row of the last call of the level above to begin before each call."""
    count = int(event.max()) + 2 if len(event) else 1
    low = int(level.min()) if len(level) else 0
    key = (level - low) * (count + 1) + event + 1
    order = np.argsort(key, kind="stable")
    wanted = (level - low - 1) * (count + 1) + event + 1
    at = np.searchsorted(key[order], wanted, side="right") - 1
    found = order[np.maximum(at, 0)]
    good = (at >= 0) & (level[found] == level - 1)
    parent: I64 = np.where(good, found, -1)
    return parent
