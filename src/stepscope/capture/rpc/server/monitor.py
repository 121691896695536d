"""A look at the running program without recording it: what ``Monitor`` answers.

TensorFlow and JAX answer this call on TPUs only; here it works for every program.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

from stepscope.capture.rpc.protocol.messages import MonitorRequest
from stepscope.capture.rpc.server.session_protocol import Door, said_of

_MOST_S = 600.0
_RESERVE_S = 0.5
# A shorter look says nothing about rates.
_LEAST_S = 0.01
_STATM = Path("/proc/self/statm")


def watch(
    door: Door,
    request: MonitorRequest,
    gone: threading.Event,
    remaining_s: float | None,
) -> str:
    """Look for as long as asked; returns lines of ``what: value`` for a person.

    A shorter look is returned when the client's deadline comes first.
    """
    seconds = min(request.duration_ms / 1e3, _MOST_S)
    if remaining_s is not None:
        seconds = max(min(seconds, remaining_s - _RESERVE_S), 0.0)
    cpu_s, began = _cpu_s(), time.monotonic()
    with door.counting() as steps:
        gone.wait(seconds)
        done = steps.count
    elapsed_s = time.monotonic() - began
    lines = [time.strftime("time: %Y-%m-%d %H:%M:%S")] if request.timestamp else []
    lines.append(f"program: pid {os.getpid()}, {Path(sys.argv[0] or 'python').name}")
    if elapsed_s > _LEAST_S:
        cores = (_cpu_s() - cpu_s) / elapsed_s
        lines.append(f"processor: {cores:.2f} of {os.cpu_count()} cores over {elapsed_s:.1f} s")
        lines.append(_step_line(done, elapsed_s))
    if (memory := resident_bytes()) is not None:
        lines.append(f"memory: {memory / 1e6:,.0f} MB resident")
    lines.append(f"threads: {threading.active_count()} of Python")
    owner = door.owner()
    lines.append(f"recording: {f'yes, {said_of(owner)}' if owner else 'no'}")
    return "\n".join(lines) + "\n"


def _cpu_s() -> float:
    times = os.times()
    return times.user + times.system


def _step_line(done: int, elapsed_s: float) -> str:
    if not done:
        return "steps: none marked"
    return f"steps: {done / elapsed_s:.2f} a second, {elapsed_s / done * 1e3:.1f} ms each"


def resident_bytes() -> int | None:
    """Memory of this process that is in RAM; None where the system does not say."""
    try:
        pages = int(_STATM.read_text("ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError, IndexError):
        return None
