"""Every step of the whole run, at a price one can leave on: an append-only file of small chunks.

The program's thread appends two numbers for each step. A thread of ours writes a chunk, a line of
JSON with a checksum and a summary (``formats/step_log``), every two seconds in which steps ended.
Steps shorter than 20 ms are put together, so that a chunk has at most 100 rows. A kill loses the
steps of the last two seconds.
"""

from __future__ import annotations

import atexit
import json
import logging
import math
import os
import threading
import time
import zlib
from array import array
from pathlib import Path
from typing import Any, Final

import numpy as np

from stepscope.capture import step_clock, tracing
from stepscope.capture.file import logdir
from stepscope.capture.runtime import machine
from stepscope.capture.runtime.ticker import Ticker
from stepscope.capture.telemetry import DeviceReadings
from stepscope.errors import CaptureError
from stepscope.formats.step_log import SUMMARY_ENDING, summary_of
from stepscope.schema import names

_SECONDS: Final = 2.0
_MOST_ROWS: Final = 100
# Values that a program gives for one chunk; a mean of each name is kept for a row.
_MOST_VALUES: Final = 20_000
_MOST_NAMES: Final = 8
_US: Final = 1000
_log_to: Final = logging.getLogger("stepscope")


class StepLogWriter:
    """The step log of this process.

    Args:
        path: File to append to; the rank of a job is added to its name.

    Raises:
        CaptureError: The file cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = rank_path(Path(path).absolute())
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = _appended(self._path)
            self._summaries = _appended(self._path.with_suffix(SUMMARY_ENDING))
        except OSError as error:
            raise CaptureError(
                "The step log cannot be written.",
                where=str(self._path),
                why=f"The system says: {error.strerror or error}.",
                hint="Name a file in a folder that exists and may be written to.",
                slug="step-log",
            ) from error
        rank = logdir.rank()
        self._head = {"host": logdir.host_name(), "process": os.getpid()}
        self._head |= {} if rank is None else {"rank": rank}
        # Begin and end of each step, and the wait for input until then, all in ns.
        self._steps = array("q")
        self._values: list[tuple[int, str, Any]] = []
        self._surest = step_clock.SurestSteps()
        self._written = 0
        self._count = 0
        # The time of day and the clock of steps, at one moment.
        self._clocks = time.time_ns(), time.perf_counter_ns()
        # Whether the last line has no end, and whether a chunk was lost.
        self._is_torn = self._has_failed = False
        self._cpu_ns = time.process_time_ns()
        # Opened on the thread of ours: the program waits for no driver.
        self._devices: DeviceReadings | None = None
        self._lock = threading.Lock()
        self._ticker = Ticker("steps", 1 / _SECONDS, lambda _, __: self.flush())

    def start(self) -> None:
        """Log steps from now on."""
        step_clock.follow(self._heard)
        tracing.set_base(step_clock.marker_emitter())
        self._ticker.start()
        atexit.register(self.close)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    def note(self, name: str, value: object) -> None:
        """Keep a value of the current step, such as its loss."""
        if len(self._values) < _MOST_VALUES:
            self._values.append((self._count, name, value))

    def close(self) -> None:
        """Write the last steps; the log ends."""
        step_clock.unfollow(self._heard)
        tracing.set_base(None)
        self._ticker.stop()
        self.flush()

    def _forked(self) -> None:
        """A forked child has none of the threads, and no steps of its own."""
        step_clock.unfollow(self._heard)
        tracing.set_base(None)
        self._steps, self._values = array("q"), []
        self._lock = threading.Lock()

    def _heard(self, source: str, which: object, begin_ns: int, end_ns: int) -> None:
        """Called on the program's thread at each step."""
        if self._surest.is_new_place(source, which):
            # Weaker places have told of the same steps.
            self._steps, self._count = array("q"), self._written
        begin = self._surest.begin_ns(source, which, begin_ns, end_ns)
        if begin:
            self._count += 1
            wait_ns = step_clock.input_wait_ns()
            # No call between looking the array up and adding to it: ``flush`` takes it away.
            self._steps.extend((begin, end_ns, wait_ns))

    def flush(self) -> None:
        """Write a chunk of the steps since the last one."""
        with self._lock:
            steps, self._steps = self._steps, array("q")
            values, self._values = self._values, []
            if not steps:
                self._values = values + self._values
                return
            table = np.array(steps, np.int64).reshape(-1, 3)
            chunk, line = self._line(table, values)
            self._written += len(table)
        self._write(line, summary_of(chunk))

    def _write(self, line: bytes, summary: bytes) -> None:
        """Append a chunk; one that finds no room is lost, and the program and the log go on."""
        line = b"\n" + line if self._is_torn else line
        try:
            self._is_torn = os.write(self._file, line) < len(line)
            problem = "the disk is full" if self._is_torn else ""
            # A record that was cut is filled up, so that the next one begins at a multiple.
            missing = -os.fstat(self._summaries).st_size % len(summary)
            os.write(self._summaries, bytes(missing) + summary)
        except OSError as error:
            problem = error.strerror or str(error)
        if problem and not self._has_failed:
            self._has_failed = True
            _log_to.warning("Steps are missing in the step log %s: %s.", self._path, problem)

    def _line(self, table: Any, values: list[tuple[int, str, Any]]) -> tuple[dict[str, Any], bytes]:
        """The summary of a chunk, and its line."""
        begin, end = table[:, 0], table[:, 1]
        wait = np.diff(table[:, 2], prepend=getattr(self, "_waited", table[0, 2]))
        self._waited = int(table[-1, 2])
        length = end - begin
        group = -(-len(table) // _MOST_ROWS)
        first = np.arange(0, len(table), group)
        count = np.diff([*first.tolist(), len(table)])
        wall_ns, clock_ns = self._clocks
        cpu_ns, self._cpu_ns = self._cpu_ns, time.process_time_ns()
        chunk: dict[str, Any] = {
            **self._head,
            "source": self._surest.source,
            "first": self._written,
            "steps": len(table),
            "begin_ns": int(begin[0]) + wall_ns - clock_ns,
            "end_ns": int(end[-1]) + wall_ns - clock_ns,
            "sum_us": int(length.sum()) // _US,
            "max_us": int(length.max()) // _US,
            "wait_us": int(wait.sum()) // _US,
            "cpu_us": (self._cpu_ns - cpu_ns) // _US,
            "memory": machine.resident_bytes() or 0,
        }
        rows = {
            "steps": count.tolist(),
            "begin_us": ((begin[first] - begin[0]) // _US).tolist(),
            "sum_us": (np.add.reduceat(length, first) // _US).tolist(),
            "max_us": (np.maximum.reduceat(length, first) // _US).tolist(),
            "wait_us": (np.add.reduceat(wait, first) // _US).tolist(),
        }
        body = {"chunk": chunk, "rows": rows, "values": _means(values, self._written, first, group)}
        if self._devices is None:
            # The first chunk has none: energy counts from here.
            self._devices = DeviceReadings()
        elif devices := self._devices.take():
            body["devices"] = {name: float(f"{value:.5g}") for name, value in devices.items()}
        text = json.dumps(body, separators=(",", ":"))[1:].encode()
        return chunk, b'%s"%08x",%s\n' % (names.STEP_LOG_HEAD, zlib.crc32(text), text)


def _appended(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)


def _means(
    values: list[tuple[int, str, Any]], begin: int, first: Any, group: int
) -> dict[str, list[list[float]]]:
    """Row and mean of the given values, by name; what is no number is left out."""
    found: dict[str, dict[int, list[float]]] = {}
    for step, name, value in values:
        try:
            number = float(value)
        except (TypeError, ValueError, RuntimeError):
            continue
        row = min(max(step - begin, 0) // group, len(first) - 1)
        if math.isfinite(number) and (name in found or len(found) < _MOST_NAMES):
            found.setdefault(name, {}).setdefault(row, []).append(number)
    return {
        name: [[row, float(f"{sum(some) / len(some):.6g}")] for row, some in rows.items()]
        for name, rows in found.items()
    }


def rank_path(path: Path) -> Path:
    """The path with the rank of this process, where a launcher started several."""
    source = logdir.rank_source()
    if source is None:
        return path
    stem, dot, ending = path.name.partition(".")
    return path.with_name(f"{stem}-rank{source[1]}{dot}{ending}")


_log: StepLogWriter | None = None


def begin(path: str | os.PathLike[str]) -> StepLogWriter:
    """Log every step of this process from now on; once per process.

    Raises:
        CaptureError: The file cannot be written, or a log is being written already.
    """
    global _log
    if _log is not None:
        raise CaptureError(
            "This process already has a step log.",
            hint="Call stepscope.init(log=…) once.",
            slug="step-log",
        )
    _log = StepLogWriter(path)
    _log.start()
    return _log


def note(**values: object) -> None:
    """Keep values of the current step in the step log: ``stepscope.note(loss=loss)``.

    Numbers are kept; a value of a framework is converted on another thread. Without a step log
    nothing happens.
    """
    log = _log
    if log is not None:
        for name, value in values.items():
            log.note(name, value)
