"""One recording from its start to its file.

Its keeper thread cuts chunks, watches the budget and exports, so that the program's threads never
do. The thread that starts the recording starts the recorders; from then on only the keeper touches
them. No error is raised into the program: it becomes a note of the result.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import math
import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

from stepscope.capture import step_clock, tracing
from stepscope.capture.budget import Price, RecordingBudget, SessionLimit
from stepscope.capture.file.assemble import (
    PROFILE_OPTIONS,
    Assembly,
    Pieces,
    Value,
    hostname,
    message,
)
from stepscope.capture.file.compact import compact
from stepscope.capture.file.logdir import host_name
from stepscope.capture.file.recording_gaps import Gap, RecordingGaps
from stepscope.capture.file.verify import slowdown, verify
from stepscope.capture.file.writer import Writer
from stepscope.capture.options import FRAMEWORKS, ProfilerOptions
from stepscope.capture.recorder import Collected, Note, NoteSeverity, Recorded, Recorder
from stepscope.capture.result import Capture
from stepscope.capture.runtime import graph_lines, machine
from stepscope.capture.runtime.at_work import at_work
from stepscope.capture.runtime.frame_names import source_facts
from stepscope.capture.runtime.main_thread import run_waiting
from stepscope.capture.step_clock import MARKER, OPTIMIZER, StepClock, counted
from stepscope.records import dataclass, field
from stepscope.schema import names
from stepscope.schema.xspace import ProfileOptions, Wire, XSpace
from stepscope.wire import write as wire
from stepscope.wire.read import fields

Reason = Literal["stop", "budget", "signal", "exit", "preempted", "error"]

_TICK_SECONDS: Final = 0.05
# While frameworks record: some gather a million events a second.
_SESSION_TICK_SECONDS: Final = 0.02
# A probe is to have seen at least one execution begin and end.
_PROBE_EVENTS: Final = 500
_PROBE_SECONDS: Final = 0.1
# Executions between two probes are many, and the end of the probe's session is little of the time.
_PROBED_REST_SECONDS: Final = 1.0
# Memory is given back to the system after a session with this many events.
_MANY_EVENTS: Final = 5_000
_TURN_SECONDS: Final = 0.01
# A note reports that no step was recorded from this many on.
_MISSED_STEPS: Final = 3
_SLICE_SECONDS: Final = 0.005
# Clocks that are set differ by more; those that are slewed (at most 500 ppm) do not.
_CLOCK_MOVED_NS, _CLOCK_MOVED_FRAC = 5_000_000, 0.001
# Recorders that read at fixed intervals.
_BY_THE_CLOCK: Final = ("python_sampler", "telemetry")
_SEVERITY: Final = {"error": 0, "warning": 1, "info": 2}
_C = TypeVar("_C")
_log: Final = logging.getLogger("stepscope")

_LEVELS: Final = {
    "host_tracer_level": ProfileOptions.HOST_TRACER_LEVEL,
    "device_tracer_level": ProfileOptions.DEVICE_TRACER_LEVEL,
    "python_tracer_level": ProfileOptions.PYTHON_TRACER_LEVEL,
}
# JAX's session always records devices, and leaves Python to TensorFlow's where that is loaded.
_UNSUPPORTED: Final = {"jax": {"device_tracer_level", "python_tracer_level"}}


@dataclass(slots=True)
class _Slot:
    """A recorder and its state."""

    recorder: Recorder
    state: Literal["waiting", "running", "failed"] = "waiting"
    taken: int = 0
    kept: int = 0
    # Recorded, but not asked for: they cost as much as the others.
    omitted: int = 0

    @property
    def events(self) -> int:
        """Events written, and taken but not yet written."""
        return self.kept + self.taken


@dataclass
class Recording:
    """A recording that runs, or has run.

    Attributes:
        writer: Its file.
        options: What was asked for.
        owner: Who started it: "person", "remote", "launcher" or "flight recorder".
        suffix: Appended to plane names, to distinguish a child process's from its parent's.
        origin_ns: Time zero of the file; now by default.
        notes: What a person should know.
        on_finish: Called by the keeper at the very end.
        children: Files of child processes to merge into this one.
        around: Makes the emitter that annotations go to of that of a recorder.
    """

    writer: Writer
    options: ProfilerOptions
    owner: str
    recorders: list[Recorder]
    suffix: str = ""
    origin_ns: int = 0
    notes: list[Note] = field(default_factory=list)
    on_finish: Callable[[Recording], None] | None = None
    children: Callable[[], list[Path]] = list
    around: Callable[[tracing.Emitter], tracing.Emitter] | None = None

    def __post_init__(self) -> None:
        """Nothing runs yet; see ``start``."""
        self._slots = [_Slot(one) for one in self.recorders if self._wanted(one)]
        self._budget = RecordingBudget(self.options)
        is_priced = self.options.price is not None
        self._less_detail = ""
        self._limit = SessionLimit(self.options.max_memory, is_short=is_priced)
        self._price = Price(self.options.price, self.options.max_bytes)
        self._clock = StepClock()
        # Names of the recorders that rest; none while recording.
        self._resting: list[str] = []
        self._session_begun = self._session_used = 0.0
        self._begun = self._price.now()
        # Processor time of other processes for the last session.
        self._converting = 0.0
        # How the session is to end at the next step of the program's loop.
        self._ending: Literal["", "rest", "cut", "stale"] = ""
        # Of the last session, per second; and when executions are to be counted once more.
        self._event_rate = 0.0
        self._probe_at: float | None = None
        # A handler of SIGTERM may call finish() within any call of ours on its thread: an Event
        # would wait for its own lock there. Putting into this queue may be interrupted by itself.
        self._wake: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._is_finished = False
        # Every recorder has ended; their events remain to be converted and written.
        self._is_collected = False
        # The first one decides; appending to a list is safe from any thread and signal handler.
        self._requests: list[tuple[Reason, bool]] = []
        self._paused = False
        self._pause_wanted: bool | None = None
        self._chunks = 0
        self._lost = 0
        self._gaps = RecordingGaps()
        self._snapshots: list[Callable[[Pieces], None]] = []
        self._effective = b""
        self._plane_names: set[str] = set()
        self._capture: Capture | None = None
        self._started_ns = self._started_steady_ns = 0
        self._process = os.getpid()
        self._keeper = threading.Thread(target=self._keep, name="stepscope-keeper", daemon=True)

    # --- from any thread ------------------------------------------------------------------

    def start(self) -> None:
        """Begin; with ``delay_ms`` the keeper begins after it."""
        self.origin_ns = self.origin_ns or time.time_ns()
        try:
            if not self.options.delay_ms:
                self._begin()
            self._keeper.start()
        except BaseException:
            # Ctrl-C, or no thread to be had: nothing that has begun may go on without a keeper.
            self._requests.append(("error", False))
            if not self._keeper.is_alive():
                self._drop_all()
            raise

    def finish(self, reason: Reason, *, save: bool = True, wait: bool = True) -> Capture | None:
        """End, and wait for the export at most ``stop_seconds``; None when it takes longer.

        The first caller decides the reason and whether to save; all get the same result. Without
        ``wait`` it returns when the recorders have ended, and the export continues in the
        background; ``wait()`` waits for it.
        """
        if os.getpid() != self._process:
            # A fork has copied this object, but neither its keeper nor the profilers' threads.
            note = Note(
                "forked", "warning", "A child process is not part of its parent's recording."
            )
            return Capture("", 0, 0, 0.0, warnings=(note,), finished_by="error")
        self._requests.append((reason, save))
        self._wake.put(None)
        if self._keeper.ident is None:
            return None  # a signal within start(), which has no keeper yet to wait for
        # In slices: a recorder may have to end its framework's profiler on this very thread.
        deadline = time.monotonic() + self.options.stop_seconds
        while time.monotonic() < deadline:
            if self._is_finished or (self._is_collected and not wait):
                break
            run_waiting()
            time.sleep(_SLICE_SECONDS)
        return self._capture

    def set_paused(self, paused: bool, profiler: str = "") -> None:
        """Release the frameworks' profilers, or take them again; returns when that is done.

        Args:
            paused: Whether to release them.
            profiler: For what.
        """
        if profiler:
            self._gaps.profilers[profiler] = None
        self._pause_wanted = paused
        self._wake.put(None)
        deadline = time.monotonic() + self.options.stop_seconds
        while self._paused is not paused and not self.finished and time.monotonic() < deadline:
            run_waiting()
            time.sleep(0.002)

    def snapshot(self, keep: Callable[[Pieces], None]) -> None:
        """End the chunk soon, and go on; from any thread.

        Args:
            keep: Called by the keeper with what ends a file of the chunks so far. Must not raise.
        """
        self._snapshots.append(keep)
        self._wake.put(None)

    def forked(self) -> None:
        """In a forked child: nothing waits for steps, recorders undo what they changed."""
        self._clock.end()
        for slot in self._slots:
            with contextlib.suppress(Exception):  # the child's program is to go on in any case
                getattr(slot.recorder, "forked", int)()

    @property
    def clock(self) -> StepClock:
        """How long its steps take."""
        return self._clock

    @property
    def finished(self) -> bool:
        """Whether the file is written."""
        return self._is_finished

    @property
    def capture(self) -> Capture | None:
        """The result; None until it is finished."""
        return self._capture

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it is finished; False when that takes longer, and in a forked child."""
        if os.getpid() != self._process:
            return False  # only the parent can finish it
        # In short turns: between them the main thread does what recorders ask it to do.
        deadline = math.inf if seconds is None else time.monotonic() + seconds
        while not self._is_finished:
            if time.monotonic() >= deadline:
                return False
            run_waiting()
            time.sleep(_TURN_SECONDS)
        return True

    # --- the keeper -------------------------------------------------------------------------

    def _keep(self) -> None:
        try:
            if self.options.delay_ms:
                self._begin_after(self.options.delay_ms / 1e3)
            while not self._requests:
                self._sleep(_SESSION_TICK_SECONDS if self._in_session() else _TICK_SECONDS)
                if not self._requests:
                    self._tick()
            reason, save = self._requests[0]
            self._capture = self._end(reason, save)
        except BaseException as error:  # nobody waits for this thread's exceptions
            self._note("recording-failed", "error", f"The recording failed: {error!r}.")
            self._drop_all()
            self._capture = self._result(0, "error")
        finally:
            self._shut()

    def _begin_after(self, seconds: float) -> None:
        """Begin after the delay, unless the recording is ended before."""
        begin = time.monotonic() + seconds
        while not self._requests:
            # Nothing records yet, so a pause takes effect at once.
            if self._pause_wanted is not None:
                self._paused = self._pause_wanted
            left = begin - time.monotonic()
            if left <= 0:
                self._begin()
                return
            self._sleep(left)

    def _sleep(self, seconds: float) -> None:
        """Until another thread asks for something, or that long."""
        with contextlib.suppress(queue.Empty):
            self._wake.get(timeout=seconds)

    def _shut(self) -> None:
        try:
            for slot in self._slots:
                with contextlib.suppress(Exception):  # the others must still end
                    getattr(slot.recorder, "close", int)()
            for note in self.notes:
                # The notes of a child process go into its parent's file.
                if note.severity != "info" and not self.suffix:
                    _log.warning("stepscope: %s", note.message)
            if self.on_finish is not None:
                self.on_finish(self)
        finally:
            self._is_collected = self._is_finished = True

    def _tick(self) -> None:
        while self._snapshots:
            self._snapshot()
        wanted = self._pause_wanted
        if wanted is not None and wanted is not self._paused:
            if wanted:
                if self._resting:
                    self._end_rest()
                else:
                    self._gaps.pause()
                    self._cut(restart=False)
                self._clock.pause()
                self._clock.release()
                self._gaps.pause()
            else:
                self._start_recorders()
                self._gaps.resume(slot.recorder.name for slot in self._running())
            self._paused = wanted
        if self._paused:
            return
        if self._resting and self._is_rest_over():
            self._end_rest()
            self._start_recorders()
        elif self._resting and self._probe_at is not None and time.monotonic() > self._probe_at:
            self._probe()  # the program may end before this rest does
        if not self._resting:
            self._join()
        spent = self._budget.spent()
        if spent:
            self._note("budget", "info", f"The budget ended the recording: {spent}.")
            self._requests.append(("budget", True))
        elif not self._resting:
            self._pace()

    def _snapshot(self) -> None:
        if not self._paused:
            self._cut()
        planes = Assembly(self.origin_ns, self.suffix)
        if self._gaps:
            planes.add(self._gaps.plane())
        tail = self._environment(time.time_ns(), planes)
        self._snapshots.pop(0)([*tail.pieces(), *self._messages()])

    def _is_rest_over(self) -> bool:
        """Whether the next session may begin, and a step of the program's loop begins now."""
        steps, seconds = self._clock.heard()
        is_over = self._clock.is_awaiting or self._price.is_rest_over(
            steps, seconds, self._clock.recorded_steps
        )
        return is_over and self._clock.is_at_step(holds=True, wake=self._wake_up)

    def _wake_up(self) -> None:
        self._wake.put(None)

    def _pace(self) -> None:
        """Cut a chunk where one is due, and let the program run undisturbed where that is due.

        Either where a step of the program's loop begins, if one does soon.
        """
        self._ending = self._due_end() or self._ending
        if not self._ending:
            if self.options.price is not None and self._is_step_wanted():
                self._rest()
            return
        is_at_once = self._ending == "stale" or self._limit.is_memory_full
        holds = self._ending != "rest"  # transferring many events takes long
        if not is_at_once and not self._clock.is_at_step(holds=holds, wake=self._wake_up):
            return
        if self._ending == "rest":
            self._rest(only_after=_MANY_EVENTS)
            return
        self._cut()
        if self._rest_seconds() > 0:
            self._rest()

    def _due_end(self) -> Literal["", "rest", "cut", "stale"]:
        """Why the session is to end now: the program rests meanwhile, or goes on being recorded."""
        steps, recorded = self._clock.session_steps(), self._clock.recorded_steps
        is_full = self._in_session() and self._limit.is_reached(steps, recorded)
        is_due = self._budget.cut_due()
        if self.options.price is not None and (is_full or (is_due and self._limit.is_half())):
            return "rest"
        if is_full or is_due:
            return "cut"
        return "stale" if self._is_stale() else ""

    def _rest_seconds(self) -> float:
        return self._price.rest_seconds(
            self._budget.bytes,
            self._budget.seconds,
            self._clock.recorded_steps,
            self._limit.next_events,
        )

    def _is_step_wanted(self) -> bool:
        """Whether enough was recorded to compare it with undisturbed steps."""
        steps = self._clock.steps_so_far()
        if steps:
            return self._price.wants_steps(steps)
        counting = [
            slot.recorder
            for slot in self._slots
            if slot.state == "running" and hasattr(slot.recorder, "probe")
        ]
        if not (counting and self._in_session()):
            return False
        # While the program compiles, it executes nothing that could be counted.
        compiled_at = max(getattr(recorder, "compiled_at", 0.0) for recorder in counting)
        steady = time.monotonic() - max(self._session_begun, compiled_at)
        return self._price.wants_executions(steady)

    def _rest(self, only_after: int = 0) -> None:
        """Write what was recorded; then the program runs undisturbed for as long as it is owed.

        Args:
            only_after: With fewer events than these the program goes on being recorded at once: it
                was the program that took memory.
        """
        self._gaps.pause(at_step=self._clock.is_reached(MARKER))
        seconds = time.monotonic() - self._session_begun
        events = self._cut(restart=False, resting=True)
        if events < only_after:
            self._gaps.resume(self._resting, names.GAP_CHUNK)
            self._resting = []
            self._start_recorders()
            return
        self._event_rate = events / max(seconds, 1e-3)
        rest = self._rest_seconds()
        if self._probe():
            rest = max(rest, _PROBED_REST_SECONDS)
            self._probe_at = time.monotonic() + _PROBED_REST_SECONDS
        self._price.rest(rest)
        tracing.switch(step_clock.marker_emitter())
        self._clock.listen(undisturbed=True)

    def _lighten(self) -> None:
        """Let recorders leave out what costs most: ending takes longer than recording."""
        if self.options.price is None:
            return
        for slot in self._slots:
            lighten = getattr(slot.recorder, "lighten", None)
            note = None if lighten is None else lighten(self._budget.seconds)
            if note is not None:
                self.notes.append(note)
                self._less_detail = note.message
                self._limit.lighten()

    def _end_rest(self) -> None:
        """The rest is over; what follows decides what begins."""
        self._clock.pause()
        self._gaps.resume(self._resting, names.GAP_REST)
        self._resting = []
        self._budget.resume()

    def _in_session(self) -> bool:
        """Whether a framework records that the program uses."""
        return any(
            slot.state == "running"
            and slot.recorder.name in FRAMEWORKS
            and getattr(slot.recorder, "is_settled", lambda: True)()
            for slot in self._slots
        )

    def _begin(self) -> None:
        self._started_ns, self._started_steady_ns = time.time_ns(), _steady_ns()
        self._append([hostname(host_name()), *self._environment().pieces()])
        if not self._paused:
            self._start_recorders()
        self._budget.begin()
        if self.options.price is not None:
            self._clock.begin()

    @at_work()
    def _start_recorders(self) -> None:
        for slot in self._slots:
            if slot.state == "waiting" and slot.recorder.unavailable() is None:
                self._start_one(slot)
        self._switch_annotations()
        self._begin_session()

    def _running(self) -> list[_Slot]:
        return [slot for slot in self._slots if slot.state == "running"]

    def _begin_session(self) -> None:
        self._session_begun, self._session_used = time.monotonic(), time.process_time()
        running = [slot.recorder for slot in self._running()]
        known = (getattr(recorder, "event_bytes", 0) for recorder in running)
        is_priced = self.options.price is not None
        is_detailed = is_priced and any(
            getattr(recorder, "is_detailed", False) for recorder in running
        )
        self._limit.begin(max(known, default=0), is_detailed=is_detailed)
        self._begun = self._price.now()
        if self._clock.begins_at(OPTIMIZER):
            for slot in self._running():
                getattr(slot.recorder, "begin_at_step", int)()
        self._clock.listen(undisturbed=False)

    def _start_one(self, slot: _Slot) -> None:
        try:
            slot.recorder.start(self.options)
            slot.state = "running"
        except Exception as error:  # a recorder may fail in any way; the others go on
            slot.state = "failed"
            text = f"{slot.recorder.name} is not recorded: {error}."
            self._note("recorder-failed", "warning", text)
            self._drop_one(slot)  # it may have begun in part

    def _join(self) -> None:
        """Start recorders that have become available, such as a framework loaded since."""
        if any(
            one.state == "waiting" and one.recorder.unavailable() is None for one in self._slots
        ):
            if not self._in_session():
                # A session has a whole chunk before it: each cut loses steps.
                self._budget.resume()
            self._start_recorders()

    def _is_stale(self) -> bool:
        tests = (getattr(slot.recorder, "is_stale", None) for slot in self._slots)
        return any(test() for test in tests if test is not None)

    def _switch_annotations(self) -> None:
        """Send annotations to the first recorder that accepts them: frameworks come first."""
        for slot in self._slots:
            emitter = getattr(slot.recorder, "annotation", None)
            if slot.state == "running" and emitter is not None:
                emit = counted(emitter())
                tracing.switch(emit if self.around is None else self.around(emit))
                return
        tracing.switch(None)

    def _collect(self, restart: bool, *, resting: bool = False) -> Assembly:
        """End recorders and take their events.

        Args:
            restart: Each begins again at once.
            resting: Only those end that the program would notice.
        """
        planes = Assembly(self.origin_ns, self.suffix)
        taken = []
        at_step = self._clock.is_reached(MARKER)
        # Frameworks begin before ours, so that ours lie within them. Where the program is to rest,
        # they end first, too: each of their events costs.
        for slot in self._slots if resting else reversed(self._slots):
            if slot.state == "running" and not (resting and _goes_on(slot)):
                begin_ns = time.time_ns()
                collected = self._collect_one(slot, restart)
                if collected is None:
                    continue
                slot.state = "waiting"
                if resting:
                    self._resting.append(slot.recorder.name)
                taken.append((slot, collected))
                if restart:
                    self._start_one(slot)
                    gap = Gap(slot.recorder.name, begin_ns, time.time_ns(), is_at_step=at_step)
                    self._gaps.found.append(gap)
        if restart:
            self._switch_annotations()
            self._begin_session()
        elif self._requests:
            self._is_collected = True
        for slot, recorded in taken if resting else reversed(taken):
            self._take(planes, slot, recorded)
        self._plane_names.update(name for name, _ in planes.payloads)
        return planes

    def _collect_one(self, slot: _Slot, restart: bool) -> Collected | None:
        collect = slot.recorder.collect
        return self._safely(slot, getattr(slot.recorder, "cut", collect) if restart else collect)

    def _safely(self, slot: _Slot, call: Callable[[], _C]) -> _C | Recorded:
        try:
            return call()
        except Exception as error:  # as in _start_one
            text = f"The events of {slot.recorder.name} could not be collected: {error!r}."
            self._note("recorder-failed", "error", text)
            return Recorded()

    def _take(self, planes: Assembly, slot: _Slot, collected: Collected) -> None:
        recorded = self._safely(slot, collected) if callable(collected) else collected
        for note in recorded.notes:
            self._note(note.slug, note.severity, note.message)
        slot.omitted += recorded.omitted
        self._converting += recorded.seconds
        if not recorded.xspace:
            return
        try:
            clock = planes.add(recorded.xspace)
        except ValueError as error:
            text = f"{slot.recorder.name} returned bytes that are not an XSpace: {error}."
            self._note("recorder-failed", "error", text)
            return
        slot.taken += recorded.events
        if clock.options:
            self._effective = clock.options
            for text in differences(self.options, clock.options, slot.recorder.name):
                self._note("options-not-applied", "warning", text)

    @at_work()
    def _cut(self, *, restart: bool = True, resting: bool = False) -> int:
        """Write a chunk of what was recorded so far, and continue; returns the program's events."""
        before, seconds = self._program_events(), time.monotonic() - self._session_begun
        begun = self._begun
        used = max(min(seconds, time.process_time() - self._session_used), 1e-3)
        begin, self._converting = time.thread_time(), 0.0
        self._clock.pause()
        if not restart:
            tracing.switch(None)
        self._ending = ""
        planes = self._collect(restart, resting=resting)
        pieces = planes.pieces()
        self._append(pieces)
        self._gaps.forget(self.writer.begin_ns)
        self._budget.chunk(self._total(), sum(map(len, pieces)))
        self._chunks += 1
        events = self._program_events() - before
        if not restart and events > _MANY_EVENTS:
            machine.release_free_memory()
        spent = time.thread_time() - begin + self._main_thread_seconds()
        self._limit.end(events, seconds, spent)
        ending = spent + self._converting
        self._price.session(events, used, ending, self._clock.recorder_frac(), begun)
        if events > _MANY_EVENTS and spent > seconds:
            self._lighten()
        return events

    def _main_thread_seconds(self) -> float:
        """Processor time that recorders took from the main thread since this was asked last."""
        taken = 0.0
        for slot in self._slots:
            taken += getattr(slot.recorder, "main_thread_seconds", 0.0)
            if hasattr(slot.recorder, "main_thread_seconds"):
                slot.recorder.main_thread_seconds = 0.0
        return taken

    def _probe(self) -> bool:
        """Note how far the program is where only its events tell: see ``JaxRecorder.probe``."""
        planes = Assembly(self.origin_ns, self.suffix)
        for slot in self._slots:
            probe = getattr(slot.recorder, "probe", None)
            if probe is not None and slot.recorder.name in self._resting:
                begin_ns = time.time_ns()
                self._take(planes, slot, self._probed(slot, probe))
                end_ns = time.time_ns()
                self._gaps.found.append(Gap(slot.recorder.name, begin_ns, end_ns, names.GAP_PROBE))
        self._probe_at = None
        if planes.payloads:
            self._append(planes.pieces())
        return bool(planes.payloads)

    def _probed(self, slot: _Slot, probe: Callable[..., Recorded]) -> Recorded:
        """A session long enough to see the program, which other programs may keep from running."""
        seconds = min(max(_PROBE_EVENTS / max(self._event_rate, 1.0), 0.004), _PROBE_SECONDS)
        while True:
            recorded = self._safely(slot, functools.partial(probe, self.options, seconds))
            seconds *= 4
            is_whole = recorded.events >= _PROBE_EVENTS or not recorded.xspace
            if is_whole or seconds > _PROBE_SECONDS:
                return recorded

    def _append(self, pieces: Any) -> None:
        try:
            self.writer.append(pieces)
        except OSError as error:
            text = f"A part of the recording could not be written anywhere and is lost: {error}."
            self._note("chunk-lost", "error", text)
            self._count(is_kept=False)
        else:
            self._count(is_kept=True)

    def _count(self, *, is_kept: bool) -> None:
        """Count the taken events as written, or as lost."""
        for slot in self._slots:
            if is_kept:
                slot.kept += slot.taken
            else:
                self._lost += slot.taken
            slot.taken = 0

    # --- the end ----------------------------------------------------------------------------

    def _end(self, reason: Reason, save: bool) -> Capture:
        begin = time.monotonic()
        tracing.switch(None)
        stopped_ns = time.time_ns()
        if not save:
            self._drop()
            return Capture("", 0, 0, self._seconds(stopped_ns), finished_by=reason)
        if not self._started_ns:
            self._begin()
        if self._resting:
            self._end_rest()
        if self._paused:
            self._gaps.resume(slot.recorder.name for slot in self._slots if slot.state == "waiting")
        self._clock.end()
        planes = self._collect(restart=False)
        self._check_clock()
        self._check_steps()
        if self.suffix and not self._total():
            self.writer.discard()  # a child that did nothing gets no track
            return self._result(stopped_ns, reason)
        self._write_last(planes, stopped_ns)
        happened = self._total() + self._lost
        self.notes += verify(self.writer, happened, self._plane_names, self.options)
        self.notes += self._slowdowns(stopped_ns - self._started_ns)
        self.writer.deliver()
        self.notes += self.writer.notes
        return self._result(stopped_ns, reason, time.monotonic() - begin)

    def _check_steps(self) -> None:
        """Note loops of which no step was recorded: the file may hold how the program began."""
        steps = self._clock.unrecorded_steps()
        if steps >= _MISSED_STEPS:
            text = (
                f"None of the {steps:,} steps that ran was recorded: the program rested, or events "
                "were written meanwhile. Record a longer run, or every step with --full."
            )
            self._note("no-step-recorded", "warning", text)
        other = self._clock.unrecorded_loop()
        if other >= _MISSED_STEPS:
            text = (
                f"Another loop of the program ran {other:,} steps, of which none was recorded: no "
                "number is of it. Record every step with --full, or begin later with --delay-ms."
            )
            self._note("loop-not-recorded", "warning", text)

    def _check_clock(self) -> None:
        """Note that somebody set the time of day: lines before and after it do not fit together."""
        lasted_ns = _steady_ns() - self._started_steady_ns
        moved_ns = time.time_ns() - self._started_ns - lasted_ns
        if abs(moved_ns) > max(_CLOCK_MOVED_NS, _CLOCK_MOVED_FRAC * lasted_ns):
            way = "forward" if moved_ns > 0 else "back"
            text = (
                f"The clock was set {way} by {abs(moved_ns) / 1e9:,.2f} s during the recording. "
                "Steps across that moment have wrong lengths."
            )
            self._note("clock-set", "warning", text)

    def _drop(self) -> None:
        self._drop_all()
        self.writer.discard()

    def _drop_all(self) -> None:
        """End every recorder, including one that was interrupted while it began."""
        tracing.switch(None)
        self._clock.end()
        for slot in reversed(self._slots):
            if slot.state != "failed":
                self._drop_one(slot)
                slot.state = "waiting"

    def _drop_one(self, slot: _Slot) -> None:
        try:
            slot.recorder.drop()
        except Exception as error:  # the others must still end
            text = f"{slot.recorder.name} could not be stopped: {error!r}."
            self._note("recorder-failed", "error", text)

    def _write_last(self, planes: Assembly, stopped_ns: int) -> None:
        """The last chunk; if it is the only one, the file is that chunk, written as a whole."""
        if self._gaps:
            planes.add(self._gaps.plane(self._clock.reads_ns()))
            self.notes += self._gaps.notes(
                stopped_ns - self._started_ns, is_whole=self.options.price is None
            )
        if self._chunks:
            tail = self._environment(stopped_ns, planes)
            self._append([*tail.pieces(), *self._messages()])
        else:
            whole = self._environment(stopped_ns, planes)
            pieces = [hostname(host_name()), *whole.pieces(), *self._messages()]
            try:
                self.writer.replace(pieces)
            except OSError as error:
                text = f"The recording could not be written anywhere and is lost: {error}."
                self._note("chunk-lost", "error", text)
                self._count(is_kept=False)
                return
            self._count(is_kept=True)
        children = self.children()
        if self.suffix:
            return  # its parent puts the pieces together
        if self._chunks or planes.repeated or children:
            self.notes += compact(self.writer, self.options.stop_seconds, children)

    def _environment(self, stopped_ns: int = 0, planes: Assembly | None = None) -> Assembly:
        """The planes with what is known of machine, software and time."""
        into = planes or Assembly(self.origin_ns, self.suffix)
        if self.suffix:
            return into  # a child's file joins its parent's, which states all this
        facts: dict[str, Value] = {names.PROFILE_START: self.origin_ns}
        if stopped_ns:
            facts[names.PROFILE_STOP] = stopped_ns
            facts[PROFILE_OPTIONS] = self._effective or encoded_options(self.options)
            facts.update(machine.software_facts() | machine.settings_facts())
            facts.update(graph_lines.facts())
            facts.update(self._clock.facts())
            facts.update(source_facts(self.origin_ns))
            if self._less_detail:
                facts[names.LESS_DETAIL] = self._less_detail
            if self.options.price is not None:
                facts[names.RECORDING_COST] = int(self._price.cost_frac * 1e6)
        if not stopped_ns or not self._chunks:
            into.add_stats(names.HOST_PLANE, machine.processor_facts())
        into.add_stats(names.ENVIRONMENT_PLANE, facts)
        return into

    def _messages(self) -> list[bytes]:
        kinds = {"error": XSpace.ERRORS, "warning": XSpace.WARNINGS}
        told = [note for note in self.notes if note.severity in kinds]
        return [message(kinds[note.severity], note.message) for note in told]

    def _result(self, stopped_ns: int, reason: Reason, stop_seconds: float = 0.0) -> Capture:
        notes = dict.fromkeys(sorted(self.notes, key=lambda note: _SEVERITY[note.severity]))
        return Capture(
            self.writer.place,
            self.writer.size,
            self._total(),
            self._seconds(stopped_ns),
            stop_seconds,
            {slot.recorder.name: slot.events for slot in self._slots if slot.events},
            tuple(notes),
            reason,
        )

    def _slowdowns(self, recorded_ns: int) -> list[Note]:
        """Notes on recorders that took much of the program's time."""
        missed = self._gaps.missed_ns()
        notes = []
        for slot in self._slots:
            seen_ns = recorded_ns - missed.get(slot.recorder.name, 0)
            notes += slowdown(slot.recorder, slot.events, seen_ns)
        return notes

    def _total(self) -> int:
        return sum(slot.events for slot in self._slots)

    def _program_events(self) -> int:
        """Events whose number the program decides: not samples, nor readings of counters."""
        by_program = (slot for slot in self._slots if slot.recorder.name not in _BY_THE_CLOCK)
        return sum(slot.events + slot.omitted for slot in by_program)

    def _seconds(self, stopped_ns: int) -> float:
        return max(stopped_ns - self._started_ns, 0) / 1e9 if self._started_ns else 0.0

    def _note(self, slug: str, severity: NoteSeverity, text: str) -> None:
        note = Note(slug, severity, text)
        if note not in self.notes:
            self.notes.append(note)

    def _wanted(self, recorder: Recorder) -> bool:
        chosen = self.options.frameworks
        return chosen is None or recorder.name not in FRAMEWORKS or recorder.name in chosen


def _steady_ns() -> int:
    """A clock that nobody sets; it goes on while the machine sleeps, where the system has one."""
    if sys.platform == "linux":
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    return time.monotonic_ns()


def encoded_options(options: ProfilerOptions) -> bytes:
    """The options as a ``ProfileOptions`` message, for recordings without a framework."""
    out = b"".join(wire.number(number, getattr(options, name)) for name, number in _LEVELS.items())
    return (
        out
        + wire.number(ProfileOptions.VERSION, 1)
        + wire.number(ProfileOptions.ENABLE_HLO_PROTO, options.include_hlo)
    )


def differences(options: ProfilerOptions, used: bytes, framework: str) -> list[str]:
    """Compare the options that a framework used with those requested; the differences in words.

    Args:
        options: The requested options.
        used: The ``ProfileOptions`` that the framework wrote into its recording.
        framework: Name of the recorder.
    """
    try:
        every = fields(memoryview(used))
        found = {one.number: one.value for one in every if one.wire == Wire.VARINT}
    except ValueError:
        return [f"{framework} wrote options that cannot be read."]
    told = []
    for name, number in _LEVELS.items():
        asked, got = getattr(options, name), found.get(number, 0)
        if asked != got and name not in _UNSUPPORTED.get(framework, set()):
            told.append(f"{framework} recorded with {name}={got} instead of {asked}.")
    return told


def _goes_on(slot: _Slot) -> bool:
    """Whether a recorder goes on while the program runs undisturbed: it takes next to nothing."""
    return getattr(slot.recorder, "goes_on", False)
