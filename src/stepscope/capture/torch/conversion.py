"""PyTorch's trace converted to planes in a separate process.

Reading the JSON of a million events takes seconds. In the program's process that would hold the
GIL and take memory while the program trains; here it costs starting a process.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from stepscope.capture.file.compact import child_environment
from stepscope.formats.kineto.planes import to_xspace
from stepscope.formats.kineto.reading.read import read
from stepscope.formats.kineto.steps import StepCount, StepMark

_SETTINGS: Final = "settings.json"
_PLANES: Final = "planes"
# A quarter of a processor's time where the program uses all of it.
_NICER: Final = 5


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
        count: Steps so far.
    """

    xspace: bytes
    events: int
    lost: int
    count: StepCount


def convert(trace: Path, settings: ConversionSettings, seconds: float) -> Converted:
    """Convert a trace in a separate process; in this one if that fails.

    Args:
        trace: The file; the process writes others next to it.
        settings: See there.
        seconds: How long the process may take.

    Raises:
        ValueError: It is not a trace.
    """
    try:
        return _elsewhere(trace, settings, seconds)
    except (OSError, ValueError, TypeError, KeyError, subprocess.SubprocessError):
        return _here(trace, settings)


def _elsewhere(trace: Path, settings: ConversionSettings, seconds: float) -> Converted:
    if not sys.executable:
        raise OSError("this program has no Python interpreter")
    folder = trace.parent
    (folder / _SETTINGS).write_text(settings.to_text(), "utf-8")
    command = [sys.executable, "-m", __name__, str(trace)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=child_environment()
    )
    with process:
        _yield_processors(process.pid)
        try:
            printed, _ = process.communicate(timeout=seconds)
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    said = json.loads(printed)
    planes = (folder / _PLANES).read_bytes()
    return Converted(planes, said["events"], said["lost"], StepCount(**said["count"]))


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
    return Converted(xspace, events, found.lost, count)


def main() -> None:
    """The process: its argument is the trace; it prints ``Converted`` without the planes."""
    gc.disable()  # nothing made here is garbage before the end
    trace = Path(sys.argv[1])
    settings = ConversionSettings.from_text((trace.parent / _SETTINGS).read_text("utf-8"))
    done = _here(trace, settings)
    (trace.parent / _PLANES).write_bytes(done.xspace)
    said = {"events": done.events, "lost": done.lost, "count": dataclasses.asdict(done.count)}
    print(json.dumps(said))


if __name__ == "__main__":
    main()
