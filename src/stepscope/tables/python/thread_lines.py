"""Which line of a Python recorder is the thread that a line of the frameworks' own events is of.

PyTorch numbers threads as the system does, and as the recorders of Python do. TensorFlow and JAX
number them by the hash that C++ makes of what the thread library calls them. Where the recording
does not hold that, the main thread is taken for the loop's.
"""

from __future__ import annotations

import numpy as np

from stepscope.columns.space import I64
from stepscope.schema import names
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.stats import event_stats
from stepscope.tables.core.thresholds import HALF_FRAC

_MASK = (1 << 64) - 1
# Of MurmurHash64A, and what GNU's C++ library begins it with.
_FACTOR, _SEED = 0xC6A4A7935BD1E995, 0xC70F6907


def python_line(host: Host, candidates: I64, line: int, within: tuple[int, int]) -> int:
    """The line among those of a Python recorder that is the loop's thread.

    Args:
        host: Whose.
        candidates: Rows of these lines.
        line: Row of the line that has the loop's events, -1 none. A thread that is gone for most
            of the time answered one request of a server's: the main thread is there throughout.
        within: Begin and end of that time.
    """
    lines = host.space.lines
    listed: list[int] = candidates.tolist()
    main = [row for row in listed if lines[row].name == "MainThread"]
    same = _numbered(host, listed, line) if line >= 0 else []
    if main:
        least = HALF_FRAC * _there_ps(host, main[0], within)
        same = [row for row in same if _there_ps(host, row, within) >= least]
    return max(same or main or listed, key=lambda row: lines[row].end - lines[row].begin)


def _there_ps(host: Host, row: int, within: tuple[int, int]) -> int:
    """From the first to the last moment of a line, as far as it lies in this time."""
    line, events = host.space.lines[row], host.space.events
    start = events.start_ps[line.begin : line.end]
    last = (start + host.space.length_ps[line.begin : line.end]).max()
    return max(min(int(last), within[1]) - max(int(start.min()), within[0]), 0)


def _numbered(host: Host, listed: list[int], line: int) -> list[int]:
    """Those of the same number as the line, as the system or as C++ numbers threads."""
    lines, idents = host.space.lines, _idents(host)
    number = lines[line].id
    return [
        row for row in listed if number in (lines[row].id, _hash(idents.get(row, lines[row].id)))
    ]


@derived
def _idents(host: Host) -> dict[int, int]:
    """What the thread library calls the threads of lines, as far as their recorder said."""
    said = event_stats(host).ints(names.THREAD_IDENT)
    rows: list[int] = host.space.lines_of(said.rows).tolist()
    return dict(zip(rows, said.values.tolist(), strict=True))


def _hash(ident: int) -> int:
    """What GNU's ``std::hash<std::thread::id>`` makes of a thread, with a sign."""
    mixed = (ident * _FACTOR) & _MASK
    mixed = ((mixed ^ mixed >> 47) * _FACTOR) & _MASK
    found = (((_SEED ^ 8 * _FACTOR) ^ mixed) * _FACTOR) & _MASK
    found = ((found ^ found >> 47) * _FACTOR) & _MASK
    found ^= found >> 47
    return found - (1 << 64) if found >> 63 else found


def looks_of(host: Host, row: int) -> I64:
    """When the sampler of a line looked at the threads, ascending; empty where none noted it."""
    space = host.space
    for line in space.lines:
        if line.plane == space.lines[row].plane and line.name == names.COUNTER_LINE:
            return np.sort(space.events.start_ps[line.begin : line.end])
    return np.zeros(0, dtype=np.int64)
