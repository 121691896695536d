"""How much is recorded, and when: the budget of a recording, and the price the program pays.

A framework buffers events until its session ends, does not report their number, and takes far
longer to hand one over than to record it. A session ends when the heap has grown by what some
ten thousand events need; what it gave and took decides how long the next one may be, and how long
the program runs undisturbed before it.
"""

from __future__ import annotations

import math
import time
from typing import Final, NamedTuple

from stepscope.capture.options import ProfilerOptions
from stepscope.capture.runtime import machine

# The rate of events is known after a chunk; with a budget, the first chunk is this short.
_PROBE_SECONDS: Final = 0.25
# End a little before the estimate reaches the budget, so as not to exceed it.
_CAUTION: Final = 0.9
# Heap per buffered event where the recorder does not say: 66 bytes with jaxlib 0.10 and
# TensorFlow 2.21.
_EVENT_HEAP_BYTES: Final = 64
# A session of fewer whole steps than these may be this much longer; and one after which the
# recording has fewer than these.
_SESSION_STEPS, _MOST_LONGER = 4, 4
WANTED_STEPS, _LONGER = 10, 2
# At its end, a session needs up to eight times its buffers (torch 2.13: 134 MB become 1,073 MB).
_EXPORT_FACTOR: Final = 8
# Events of the first session, and the limits of later ones.
_FIRST_EVENTS, _FEWEST_EVENTS, _MOST_EVENTS = 40_000, 10_000, 120_000
# Events of the first session that hears of steps: enough to know their cost.
_FIRST_STEP_EVENTS: Final = 15_000
# A session with details that cost most of its end, such as the shapes of ops, holds this many
# steps: the details are alike in all.
_DETAILED_STEPS: Final = 2
# PyTorch needs 11 µs to end with an event that has shapes, 3 µs with one that has none.
_LIGHTER: Final = 2
# A session that many events are known from; its end may take this long.
_ENOUGH_EVENTS, _SESSION_END_SECONDS = 5_000, 0.5
# What ending takes however few events there are.
_FIXED_END_SECONDS: Final = 0.1
# Between two readings of the allocator, which takes a millisecond.
_HEAP_SECONDS: Final = 0.04
# What recording one event takes from the program, where the recorder does not know better.
_EVENT_SECONDS: Final = 2e-6
# The first sessions do not wait until the price is earned: a short program is to have ten whole
# steps. They do wait if the next one would slow it by more than half, and by a second.
_GRACE_SESSIONS, _GRACE_PRICE, _GRACE_SECONDS = 4, 1.5, 1.0
_SHORTEST_REST_SECONDS, _LONGEST_REST_SECONDS = 0.3, 60.0
# Half of the file is for this time, half of the rest for as much again.
_HALF_SECONDS: Final = 60.0
# Steps, recorded and undisturbed, that make the undisturbed step known.
_STEPS_BEFORE, _STEPS_FACTOR = 40, 4
# Where no step is heard of, and executions tell: recorded time instead of steps.
_SECONDS_BEFORE: Final = 3.0
UNDISTURBED_STEPS: Final = 20
UNDISTURBED_SECONDS: Final = 2.0
_PATIENCE_SECONDS: Final = 5.0


class RecordingBudget:
    """How much of its seconds, events and bytes a recording has used.

    A framework does not report its number of events until it hands them over. They are counted at
    each chunk, and estimated in between from the rate of the previous chunk.
    """

    def __init__(self, options: ProfilerOptions) -> None:
        self._options = options
        is_limited = options.max_events is not None or options.max_bytes is not None
        # What comes too often is known after a chunk, too: calls of Python, one by one.
        self._counts = options.trace_python or (is_limited and options.price is None)
        self._begun = self._chunk_begun = 0.0
        self._events = self._bytes = 0
        self._event_rate = self._byte_rate = 0.0

    def begin(self) -> None:
        """Recording begins now."""
        self._begun = self._chunk_begun = time.monotonic()

    def chunk(self, events: int, size: int) -> None:
        """A chunk was written.

        Args:
            events: Events of all chunks so far.
            size: Bytes of this chunk.
        """
        now = time.monotonic()
        seconds = max(now - self._chunk_begun, 1e-3)
        self._event_rate = (events - self._events) / seconds
        self._byte_rate = size / seconds
        self._events = events
        self._bytes += size
        self._chunk_begun = now

    def resume(self) -> None:
        """Recording goes on after a rest, which is part of no chunk."""
        self._chunk_begun = time.monotonic()

    @property
    def bytes(self) -> int:
        """Bytes of all chunks so far."""
        return self._bytes

    @property
    def seconds(self) -> float:
        """Time since recording began."""
        return time.monotonic() - self._begun

    def spent(self) -> str:
        """The part that is used up, in words; "" if none is."""
        options, now = self._options, time.monotonic()
        if options.max_seconds is not None and now - self._begun >= options.max_seconds:
            return f"{options.max_seconds:g} s"
        open_seconds = now - self._chunk_begun
        events = self._events + self._event_rate * open_seconds
        if options.max_events is not None and events >= options.max_events * _CAUTION:
            return f"{options.max_events:,} events"
        size = self._bytes + self._byte_rate * open_seconds
        if options.max_bytes is not None and size >= options.max_bytes * _CAUTION:
            return f"{options.max_bytes:,} bytes"
        return ""

    def cut_due(self) -> bool:
        """Whether what is recorded so far should be written now."""
        limit = self._options.chunk_seconds or math.inf
        if self._counts and not self._event_rate:
            limit = min(limit, _PROBE_SECONDS)
        return time.monotonic() - self._chunk_begun >= limit


class SessionLimit:
    """When a session of the frameworks has buffered as much as may be.

    Args:
        memory_bytes: What recording may need in addition to the program (None: no limit).
        is_short: Whether sessions are also to end quickly; without a price, every step is wanted,
            and a program that grows by itself should not lose one.
    """

    def __init__(self, memory_bytes: int | None, *, is_short: bool) -> None:
        self._is_short = is_short
        self._most_bytes = math.inf if memory_bytes is None else memory_bytes / _EXPORT_FACTOR
        self._events = float(_FIRST_EVENTS)
        # Of the next session, if its events cost as much as those of the last one.
        self.next_events = self._events
        self._event_bytes = self._least_bytes = float(_EVENT_HEAP_BYTES)
        # Session in which steps were first heard of: 1; later ones: more.
        self._step_sessions = 0
        # Per second, from the last session that had enough events.
        self._event_rate = 0.0
        self._is_detailed = False
        self._base = 0
        self._grown = 0
        # The most that the program's own memory grew by in a session.
        self._own_bytes = 0.0
        self._read_at = self._begun = 0.0

    def begin(self, event_bytes: int = _EVENT_HEAP_BYTES, *, is_detailed: bool = False) -> None:
        """A session begins.

        Args:
            event_bytes: Heap that an event needs at least.
            is_detailed: Whether it records details that later ones can do without.
        """
        self._is_detailed = is_detailed
        if is_detailed:
            self._events = min(self._events, _FIRST_STEP_EVENTS)
        self._grown, self._read_at, self._begun = 0, 0.0, time.monotonic()
        self._least_bytes = max(self._least_bytes, event_bytes)
        self._event_bytes = max(self._event_bytes, event_bytes)
        self._step_sessions += self._step_sessions > 0
        self._base = machine.used_bytes() if self._most_bytes < math.inf else 0

    def is_reached(self, steps: int | None = None, recorded_steps: int = 0) -> bool:
        """Whether the session should end.

        Args:
            steps: Whole steps that it holds; None if none is heard of.
            recorded_steps: Whole steps that sessions before it hold.
        """
        now = time.monotonic()
        if self._most_bytes == math.inf or now - self._read_at < _HEAP_SECONDS:
            return False
        self._read_at = now
        used = machine.used_bytes()
        if steps and not self._step_sessions:
            # Growth and events before were of a program that prepared its loop.
            self._step_sessions, self._event_bytes = 1, self._least_bytes
            self._events = min(self._events, _FIRST_STEP_EVENTS)
            self._base, self._begun, self._event_rate = used, now, 0.0
        # A program that frees memory meanwhile makes room that the session may fill.
        self._base = min(self._base, used)
        self._grown = used - self._base
        if self.is_memory_full:
            return True
        longer = 1
        if steps is not None and steps < (_DETAILED_STEPS if self._is_detailed else _SESSION_STEPS):
            longer = _MOST_LONGER
        elif self._is_detailed:
            pass
        elif steps is not None and recorded_steps + steps < WANTED_STEPS:
            longer = _LONGER
        return self._used_frac(now) > longer

    @property
    def is_memory_full(self) -> bool:
        """Whether it had buffered as much as may be when ``is_reached`` was asked last."""
        return self._grown > self._most_bytes + self._own_bytes

    def is_half(self) -> bool:
        """Whether it was half reached when this was asked last."""
        buffered = (self._grown - self._own_bytes) / self._most_bytes
        return max(self._used_frac(self._read_at), buffered) > 0.5

    def _used_frac(self, now: float) -> float:
        """How much of its events a session has, by the heap or by the last session's rate."""
        if not self._is_short:
            return 0.0
        by_rate = (now - self._begun) * self._event_rate
        return max(self._grown / self._event_bytes, by_rate) / self._events

    def lighten(self) -> None:
        """Later sessions omit details: their events are cheaper to transfer."""
        self._events = min(_LIGHTER * self._events, _MOST_EVENTS)

    def end(self, events: int, seconds: float, end_seconds: float) -> None:
        """A session has ended.

        Args:
            events: What it gave.
            seconds: How long it was.
            end_seconds: Processor time that handing them over took.
        """
        # In its first session of many events, a framework takes memory once for all.
        is_first = events > _ENOUGH_EVENTS and not self._event_rate
        if events > _ENOUGH_EVENTS:
            self._event_rate = events / max(seconds, 1e-3)
            if end_seconds > _FIXED_END_SECONDS:
                affordable = _SESSION_END_SECONDS * events / (end_seconds - _FIXED_END_SECONDS)
                self._events = min(max(affordable, _FEWEST_EVENTS), _MOST_EVENTS)
        self.next_events = self._events
        # Much growth and few events: the program grows, too.
        self._own_bytes = max(self._own_bytes, self._grown - events * self._least_bytes)
        if self._step_sessions == 1 or is_first:
            return
        seen = self._grown / max(events, 1)
        self._event_bytes = max(_EVENT_HEAP_BYTES, min(seen, 4 * self._event_bytes))


class Moment(NamedTuple):
    """When, and what the process had used and waited for a core by then, in seconds."""

    at: float
    used: float = 0.0
    delayed: float = 0.0


class Price:
    """How long the program is to run undisturbed before the next session.

    Args:
        price: The most that the program may take, as a multiple of its undisturbed time (None: any
            time).
        file_bytes: The most that may be written (None: anything).
    """

    def __init__(self, price: float | None, file_bytes: int | None) -> None:
        self._price = price
        self._file_bytes = file_bytes
        self._began = Moment(time.monotonic() - (machine.process_age_ns() or 0) / 1e9)
        self._paid = self._last_paid = 0.0
        self._sessions = self._last_events = 0
        self._rest_from = 0.0
        self._rest_until = 0.0
        self._steps = _STEPS_BEFORE
        self._seconds = _SECONDS_BEFORE

    def now(self) -> Moment:
        """The time, for ``session``."""
        return Moment(time.monotonic(), time.process_time(), machine.delayed_seconds() or 0.0)

    def session(
        self,
        events: int,
        seconds: float,
        end_seconds: float,
        recorder_frac: float | None = None,
        begun: Moment | None = None,
    ) -> None:
        """A session has ended: what it took from the program.

        Args:
            events: What it gave.
            seconds: Processor time of the program in it, or its length if that is shorter.
            end_seconds: What handing over took.
            recorder_frac: Share of a recorded step that recording takes, where steps tell.
            begun: When it began. The price counts from the first session with many events on: what
                a program imports before its loop makes no slowdown of the loop cheaper.
        """
        if begun is not None and not self._sessions and events > _ENOUGH_EVENTS:
            self._began, self._paid = begun, 0.0
        frac = events * _EVENT_SECONDS / seconds if recorder_frac is None else recorder_frac
        self._last_paid = min(frac, 1.0) * seconds + end_seconds
        self._last_events = events
        self._paid += self._last_paid
        self._sessions += events > _ENOUGH_EVENTS

    def rest_seconds(
        self, written_bytes: int, seconds: float, steps: int = 0, next_events: float = 0.0
    ) -> float:
        """How long to rest now; 0: go on at once.

        Args:
            written_bytes: Size of the recording so far.
            seconds: How long it has been running.
            steps: Whole steps that it holds.
            next_events: What the next session may hold (0: as many as the last one).
        """
        if self._price is None:
            return 0.0
        age = self._program_seconds()
        owed = self._paid / (self._price - 1) - age
        if owed <= 0:
            rest = 0.0
        elif self._sessions < _GRACE_SESSIONS or 0 < steps < WANTED_STEPS:
            after = self._paid + self._expected(next_events)
            graced = after / (_GRACE_PRICE - 1) - age if self._paid > _GRACE_SECONDS else 0.0
            rest = max(min(owed, graced), _SHORTEST_REST_SECONDS)
        else:
            rest = max(owed, _SHORTEST_REST_SECONDS)
        if self._file_bytes is not None and written_bytes > 0:
            left = max(1 - written_bytes / self._file_bytes, 1e-6)
            rest = max(rest, -_HALF_SECONDS * math.log2(left) - seconds)
        return min(rest, _LONGEST_REST_SECONDS)

    def _expected(self, events: float) -> float:
        """Expected cost of a session, from the cost per event of the last one."""
        if not events or self._last_events <= _ENOUGH_EVENTS:
            return self._last_paid
        fixed = min(_FIXED_END_SECONDS, self._last_paid)
        return fixed + (self._last_paid - fixed) * events / self._last_events

    def _program_seconds(self) -> float:
        """Time of the program: on a machine that others use, less than the time that passes.

        Its waits for files or another machine are its time; waits of its threads for a core are
        not.
        """
        began = self._began
        elapsed, own = time.monotonic() - began.at, time.process_time() - began.used
        delayed = machine.delayed_seconds()
        if delayed is not None:
            own = max(own, elapsed - (delayed - began.delayed))
        return min(elapsed, max(own - self._paid, 0.0))

    @property
    def cost_frac(self) -> float:
        """What recording has taken so far, by the program's time."""
        return self._paid / max(self._program_seconds(), 1e-3)

    def wants_steps(self, recorded_steps: int) -> bool:
        """Whether enough steps were recorded to time some undisturbed ones, for comparison."""
        if self._price is None or recorded_steps < self._steps:
            return False
        self._steps = recorded_steps * _STEPS_FACTOR
        return True

    def wants_executions(self, steady_seconds: float) -> bool:
        """The same where undisturbed steps are known only by their executions.

        Args:
            steady_seconds: How long the session has been recording since the last compilation.
        """
        if self._price is None or steady_seconds < self._seconds:
            return False
        self._seconds *= _STEPS_FACTOR
        return True

    def rest(self, seconds: float) -> None:
        """A rest begins."""
        self._rest_from = time.monotonic()
        self._rest_until = self._rest_from + seconds

    def is_rest_over(
        self, steps: int, step_seconds: float, recorded_steps: int = WANTED_STEPS
    ) -> bool:
        """Whether the next session may begin.

        Args:
            steps: Undisturbed steps that were heard of in this rest (0: none are heard of).
            step_seconds: How long they were together.
            recorded_steps: Whole steps that the recording holds.
        """
        now = time.monotonic()
        if now < self._rest_until:
            return False
        is_enough = steps >= UNDISTURBED_STEPS or step_seconds >= UNDISTURBED_SECONDS
        is_enough = is_enough or recorded_steps < WANTED_STEPS
        return not steps or is_enough or now - self._rest_from > _PATIENCE_SECONDS
