"""Programs that record themselves, run in processes of their own, for tests of how they end."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from stepscope.columns import Space
from stepscope.columns.merge import merged
from stepscope.formats.xspace import decode

PROLOGUE = """
import os, resource, signal, sys, threading, time
import stepscope
logdir = sys.argv[1]

def work(steps=20, seconds=0.01):
    for number in range(steps):
        with stepscope.step(number):
            time.sleep(seconds)

def options(**more):
    return stepscope.ProfilerOptions(sample_hz=0, telemetry_hz=0, **more)
"""


def program(
    logdir: Path, code: str, within: Sequence[str] = (), **variables: str
) -> subprocess.Popen[str]:
    """Start a program that records into ``logdir``, run by the command ``within`` if any."""
    return subprocess.Popen(
        [*within, sys.executable, "-c", PROLOGUE + textwrap.dedent(code), str(logdir)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **variables},
    )


def run(
    logdir: Path, code: str, within: Sequence[str] = (), **variables: str
) -> tuple[int, str, str]:
    """Run a program to its end: exit code, output, errors."""
    process = program(logdir, code, within, **variables)
    said, complained = process.communicate(timeout=60)
    return process.returncode, said, complained


def recording(logdir: Path) -> Path:
    """The only recording in a log directory."""
    (found,) = logdir.rglob("*.xplane.pb")
    return found


def steps_in(path: Path) -> int:
    """How many steps a recording has."""
    return names_in(merged(decode(path.read_bytes()))).count("train")


def names_in(space: Space) -> list[str]:
    return [space.event_metadata.name[row] for row in space.events.metadata.tolist()]


def wait_for(condition: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def steps_so_far(logdir: Path) -> int:
    found = list(logdir.rglob("*.xplane.pb"))
    return steps_in(found[0]) if found and found[0].stat().st_size else 0
