"""A price list: about one second of the program's loop at each level of recording.

Runs beside the program in the process that ``stepscope record --dry-run`` started, adds a line of
JSON to a file for each level, and ends the process.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, Final

from stepscope.capture import control, step_clock, tracing
from stepscope.capture.options import FRAMEWORKS, ProfilerOptions
from stepscope.capture.recording import Recording
from stepscope.capture.runtime import machine
from stepscope.capture.runtime.daemon_thread import beside
from stepscope.capture.runtime.main_thread import on_main_thread, prepare
from stepscope.capture.runtime.ticker import THREAD_PREFIX
from stepscope.capture.step_clock import StepClock
from stepscope.errors import CaptureError
from stepscope.quantities import share_words
from stepscope.records import dataclass

#: Options of each level, and the things that it does not record; the cheapest level first.
LEVELS: Final[dict[str, tuple[dict[str, Any], str]]] = {
    "--host-level 0": (
        {"host_tracer_level": 0, "device_tracer_level": 0, "memory": False},
        "ops, devices, allocations",
    ),
    "--host-level 1": ({"host_tracer_level": 1, "memory": False}, "ops on the host, allocations"),
    "--no-allocations": ({"memory": False}, "allocations"),
    "default": ({}, "single Python calls"),
    "--host-level 3": ({"host_tracer_level": 3}, "single Python calls"),
    "--trace-python": ({"trace_python": True}, "nothing of these"),
}

_LEVEL_SECONDS, _LOOK_SECONDS = 1.0, 0.02
# A level is measured for longer until it has this many steps.
_STEPS, _MOST_SECONDS = 3, 10.0
# Steps before the first level: they compile and fill caches.
_WARM_STEPS: Final = 5
# How long steps are waited for once a framework is loaded.
_PATIENCE_SECONDS: Final = 30.0
_MAIN_THREAD_SECONDS: Final = 10.0
_END_SECONDS: Final = 3.0
# Undisturbed steps before the levels differ by more on a machine that others use.
_SHOWN_ERROR_FRAC: Final = 0.03


@dataclass(frozen=True, slots=True)
class Measured:
    """One level.

    Attributes:
        level: Its options, as ``stepscope record`` takes them; "" while nothing records.
        step_ms: Mean step, without waits for a processor that other programs use. In a JAX loop
            without markers, the time between two reads of a result. None if neither is known.
        plain_ms: The same just before, while nothing recorded.
        steps: How many were timed.
        events, bytes: Of the recording.
        memory_bytes: Growth of the process since the first level began. Memory that a level frees
            serves the next one.
        stop_seconds: How long ending and writing it took.
        seconds: How long was recorded.
    """

    level: str
    step_ms: float | None
    plain_ms: float | None
    steps: int
    events: int
    bytes: int
    memory_bytes: int
    stop_seconds: float
    seconds: float


def begin(results: str, options: ProfilerOptions) -> None:
    """Measure beside the program, from now on.

    Args:
        results: File to add lines to.
        options: Those of all levels.
    """
    prepare()
    beside(THREAD_PREFIX + "dry-run", _run, Path(results), options)


def _run(results: Path, options: ProfilerOptions) -> None:
    try:
        _await_loop()
        for level in levels(options):
            measured = json.dumps(dataclasses.asdict(level))
            with results.open("a", encoding="utf-8") as file:
                file.write(f"{measured}\n")
    except Exception as error:
        print(f"stepscope: the dry run ended early: {error}", file=sys.stderr)
    finally:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(_END_SECONDS)
        os._exit(0)  # the program handles SIGTERM itself


def _await_loop() -> None:
    clock, loaded_at = _plain_clock(), 0.0
    while (clock.passed() or 0) < _WARM_STEPS:
        time.sleep(_LOOK_SECONDS)
        if not loaded_at and any(name in sys.modules for name in FRAMEWORKS):
            loaded_at = time.monotonic()
        if loaded_at and time.monotonic() - loaded_at > _PATIENCE_SECONDS:
            break
    clock.pause()


def _plain_clock() -> StepClock:
    """A clock that listens while nothing records."""
    clock = StepClock()
    tracing.switch(step_clock.marker_emitter())
    clock.listen(undisturbed=True)
    return clock


def levels(options: ProfilerOptions) -> Iterator[Measured]:
    """Measure each level in turn, and the undisturbed step before it."""
    before = _resident_bytes()
    for name, (changed, _blind) in LEVELS.items():
        clock = _plain_clock()
        plain = _pass_time(clock)
        clock.pause()
        every_step = dataclasses.replace(
            options, price=None, max_bytes=None, max_seconds=None, delay_ms=None, **changed
        )
        yield _level(name, every_step, plain, before)


def _level(name: str, options: ProfilerOptions, plain: _Passed, before: int) -> Measured:
    folder = tempfile.mkdtemp(prefix="stepscope-dry-run-")
    started: list[Recording] = []
    try:
        # PyTorch's allocations are recorded only of a thread that starts the recording itself.
        with contextlib.suppress(CaptureError):
            on_main_thread(
                lambda: started.append(control.start(folder, options, owner="launcher")),
                seconds=_MAIN_THREAD_SECONDS,
            )
        recording = started[0] if started else control.start(folder, options, owner="launcher")
        recorded = _pass_time(recording.clock, has_steps=plain.steps > 0)
        capture = control.end(recording)
        peak = max(recorded.peak_bytes, _resident_bytes())
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Measured(
        name,
        recorded.step_ms,
        plain.step_ms,
        recorded.steps,
        capture.events,
        capture.bytes,
        max(peak - before, 0),
        capture.stop_seconds,
        capture.seconds,
    )


@dataclass(frozen=True, slots=True)
class _Passed:
    """A part of the program's run.

    Attributes:
        steps: Whole steps, or reads of a result.
        seconds: Time of the program.
        peak_bytes: Most memory seen.
    """

    steps: int
    seconds: float
    peak_bytes: int

    @property
    def step_ms(self) -> float | None:
        """The mean step; None if none is known."""
        return 1e3 * self.seconds / self.steps if self.steps else None


def _pass_time(clock: StepClock, *, has_steps: bool = False) -> _Passed:
    """Let the program run for a second, or a few steps if these take longer.

    Args:
        clock: Hears of the steps.
        has_steps: Whether there are steps to wait for, even if the clock has heard of none.
    """
    begin, used, delayed = time.monotonic(), time.process_time(), machine.delayed_seconds()
    peak = steps = earlier = 0
    while (elapsed := time.monotonic() - begin) < _MOST_SECONDS:
        heard = clock.passed()
        if (heard or 0) < steps:
            earlier += steps  # a chunk was written: it counts from 0 again
        steps = heard or 0
        is_enough = earlier + steps >= _STEPS or (heard is None and not has_steps)
        if elapsed >= _LEVEL_SECONDS and is_enough:
            break
        time.sleep(_LOOK_SECONDS)
        peak = max(peak, _resident_bytes())
    own = time.process_time() - used
    if delayed is not None:
        own = max(own, elapsed - max((machine.delayed_seconds() or 0.0) - delayed, 0.0))
    else:
        own = elapsed
    return _Passed(earlier + steps, min(own, elapsed), peak)


def _resident_bytes() -> int:
    return machine.resident_bytes() or 0


def price_list(measured: list[Measured], write: Callable[[str], object]) -> None:
    """Write the list for a person."""
    head = ["level", "step", "slower", "memory", "file", "a step", "stop", "does not record"]
    known = [one.plain_ms for one in measured if one.plain_ms]
    plain_ms = median(known) if known else 0.0
    error = max((abs(one / plain_ms - 1) for one in known), default=0.0)
    rows = [head, *(_row(one, plain_ms, error) for one in measured)]
    if known:
        spread = f" ± {share_words(error)}" if error >= _SHOWN_ERROR_FRAC else ""
        write(f"One undisturbed step: {plain_ms:.3g} ms{spread}. If every step is recorded:")
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        write("  ".join(cells).rstrip())
    write("By default recording keeps to --price 1.2: it rests between sessions of whole steps.")


def _row(one: Measured, plain_ms: float, error: float) -> list[str]:
    slower, file, each = ["not known"] * 3
    if one.step_ms and plain_ms:
        ratio = one.step_ms / plain_ms
        error = max(error, 1 - ratio)  # recording makes no step shorter
        is_seen = ratio > 1 + error
        slower = f"{ratio:.2f}×" if is_seen else f"≤ {max(ratio, 1) + error:.2f}×"
    if one.bytes:  # else it was still being written
        file = f"{one.bytes / max(one.seconds, 1e-3) / 1e6:,.2f} MB/s"
        each = f"{one.bytes / one.steps / 1e3:,.0f} kB" if one.steps else each
    return [
        one.level,
        "not known" if one.step_ms is None else f"{one.step_ms:.3g} ms",
        slower,
        f"{one.memory_bytes / 1e6:,.0f} MB",
        file,
        each,
        f"{one.stop_seconds:.1f} s",
        LEVELS[one.level][1],
    ]
