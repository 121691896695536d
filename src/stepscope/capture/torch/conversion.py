"""PyTorch's traces converted to planes in a separate process.

Reading the JSON of a million events takes seconds. In the program's process that would hold the
GIL and take memory while the program trains. Starting the process takes as long as converting
90,000 events, so it stays for the next trace.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from stepscope.capture.file.compact import child_environment
from stepscope.capture.runtime.ticker import THREAD_PREFIX
from stepscope.formats.kineto.planes import to_xspace
from stepscope.formats.kineto.reading.read import read
from stepscope.formats.kineto.steps import StepCount, StepMark
from stepscope.records import dataclass

_SETTINGS: Final = "settings.json"
_PLANES: Final = "planes"
# A quarter of a processor's time where the program uses all of it.
_NICER: Final = 5
# Without another trace the process ends after this time: programs wait for all their children.
_IDLE_SECONDS: Final = 5.0
# The same for the first trace, which follows a session of several seconds.
_FIRST_IDLE_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class ConversionSettings:
    """How a trace is to be converted.

    Attributes:
        ops: Whether ops are kept.
        count: Steps of the chunks before this one.
        marks: Steps that the program's loop reported.
        clock_rate_khz: Highest clock of each GPU.
    """

    ops: bool
    count: StepCount
    marks: Sequence[StepMark] = ()
    clock_rate_khz: Mapping[int, int] = dataclasses.field(default_factory=dict)

    def to_text(self) -> str:
        """As JSON."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_text(cls, text: str) -> ConversionSettings:
        """From JSON."""
        said: dict[str, Any] = json.loads(text)
        return cls(
            said["ops"],
            StepCount(**said["count"]),
            [StepMark(**mark) for mark in said["marks"]],
            {int(gpu): rate for gpu, rate in said["clock_rate_khz"].items()},
        )


@dataclass(frozen=True, slots=True)
class Converted:
    """A trace as planes.

    Attributes:
        xspace: The planes.
        events: Events in them.
        lost: Events of the trace that could not be read.
        omitted: Events of the trace that were not asked for.
        count: Steps so far.
        seconds: Processor time that another process took.
    """

    xspace: bytes
    events: int
    lost: int
    omitted: int
    count: StepCount
    seconds: float = 0.0


class Converter:
    """Converts the traces of one recording, one at a time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def prepare(self) -> None:
        """Start the process while the program still prepares its loop."""
        if self._process is None and sys.executable:
            with contextlib.suppress(OSError):
                self._process = _started()

    def convert(self, trace: Path, settings: ConversionSettings, seconds: float) -> Converted:
        """Convert a trace in a separate process; in this one if that fails.

        Args:
            trace: The file; the process writes others next to it.
            settings: See there.
            seconds: How long the process may take.

        Raises:
            ValueError: It is not a trace.
        """
        try:
            return self._elsewhere(trace, settings, seconds)
        except (OSError, ValueError, TypeError, KeyError, subprocess.SubprocessError):
            self.close()
            return _here(trace, settings)

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(OSError), process:
                process.kill()

    def _elsewhere(self, trace: Path, settings: ConversionSettings, seconds: float) -> Converted:
        if not sys.executable:
            raise OSError("this program has no Python interpreter")
        folder = trace.parent
        (folder / _SETTINGS).write_text(settings.to_text(), "utf-8")
        try:
            # It may have been idle for too long, and ends just now.
            printed = self._answer(trace, seconds) if self._process is not None else ""
        except OSError:
            printed = ""
        if not printed:
            self.close()
            self._process = _started()
            printed = self._answer(trace, seconds)
        said = json.loads(printed)
        planes = (folder / _PLANES).read_bytes()
        count = StepCount(**said["count"])
        return Converted(
            planes, said["events"], said["lost"], said["omitted"], count, said["seconds"]
        )

    def _answer(self, trace: Path, seconds: float) -> str:
        """The line that the process prints for a trace; "" if it ends instead."""
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            return ""
        end = threading.Timer(seconds, process.kill)
        end.name, end.daemon = THREAD_PREFIX + "conversion", True
        end.start()
        try:
            process.stdin.write(json.dumps(str(trace)) + "\n")
            process.stdin.flush()
            return process.stdout.readline()
        finally:
            end.cancel()


def _started() -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=child_environment(),
        text=True,
    )
    _yield_processors(process.pid)
    return process


def _yield_processors(process: int) -> None:
    """Let the program's threads run first.

    OpenMP's threads use every processor and wait for each other in each op. A process that takes
    the place of one for some milliseconds stops all of them.
    """
    if hasattr(os, "setpriority"):
        with contextlib.suppress(OSError):
            niceness = os.getpriority(os.PRIO_PROCESS, process) + _NICER
            os.setpriority(os.PRIO_PROCESS, process, niceness)


def _here(trace: Path, settings: ConversionSettings) -> Converted:
    found = read(trace)
    count = dataclasses.replace(settings.count)
    xspace, events = to_xspace(
        found,
        ops=settings.ops,
        count=count,
        marks=settings.marks,
        clock_rate_khz=settings.clock_rate_khz,
    )
    handed_over = sum(len(rows["start_ns"]) for rows in (found.slices, found.memory) if rows)
    omitted = 0 if settings.ops else max(handed_over + len(settings.marks) - events, 0)
    return Converted(xspace, events, found.lost, omitted, count)


def main() -> None:
    """The process: for each line, the path of a trace, it prints ``Converted`` without planes."""
    gc.disable()  # nothing made here is garbage before the end
    # Its own start is no cost of a trace: it runs while the program prepares its loop.
    spent, idle = time.process_time(), _ended_after(_FIRST_IDLE_SECONDS)
    for line in iter(sys.stdin.readline, ""):
        idle.cancel()
        trace = Path(json.loads(line))
        settings = ConversionSettings.from_text((trace.parent / _SETTINGS).read_text("utf-8"))
        done = _here(trace, settings)
        (trace.parent / _PLANES).write_bytes(done.xspace)
        said = {
            "events": done.events,
            "lost": done.lost,
            "omitted": done.omitted,
            "count": dataclasses.asdict(done.count),
        }
        used = time.process_time()
        print(json.dumps(said | {"seconds": used - spent}), flush=True)
        spent = used
        del done
        gc.collect()
        idle = _ended_after(_IDLE_SECONDS)
    os._exit(0)


def _ended_after(seconds: float) -> threading.Timer:
    timer = threading.Timer(seconds, os._exit, (0,))
    timer.daemon = True
    timer.start()
    return timer


if __name__ == "__main__":
    main()
