"""One cold process: its wall time, its processor time and the most memory it held.

The measuring process must stay small: Linux counts a child's memory from what its parent held
when it was started, so nothing heavy is imported here.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from statistics import median


@dataclass(frozen=True)
class Run:
    """What one process took; processor time is over all its threads."""

    wall_s: float
    cpu_s: float
    peak_mb: float


class ProcessFailed(Exception):
    """A measured command ended with an error; the message holds the end of its output."""


def measure(command: Sequence[str], log: Path) -> Run:
    """Run a command to its end; its output goes to ``log``.

    Python may keep its compiled modules, as it does for every user: an editable installation
    would else compile its sources in every run, which an installed package never does.

    Raises:
        ProcessFailed: Its exit code was not 0.
    """
    env = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with log.open("wb") as output:
        began = time.perf_counter()
        child = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=env)
        _, status, usage = os.wait4(child.pid, 0)
        wall_s = time.perf_counter() - began
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        tail = log.read_text("utf-8", "replace")[-2000:]
        raise ProcessFailed(f"{' '.join(command[:4])} … ended with {child.returncode}\n{tail}")
    return Run(wall_s, usage.ru_utime + usage.ru_stime, peak_mb_of(usage))


def peak_mb_of(usage: resource.struct_rusage) -> float:
    """The most memory an ended process held, in MB."""
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is bytes there, kB elsewhere
    return usage.ru_maxrss * unit / 1e6


def middle(runs: Sequence[Run]) -> Run:
    """The medians of several runs."""
    return Run(
        median(run.wall_s for run in runs),
        median(run.cpu_s for run in runs),
        median(run.peak_mb for run in runs),
    )


def percentile(values: Sequence[float], share: float) -> float:
    """The value that ``share`` % of them do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, ceil(len(ordered) * share / 100) - 1)]
