"""Which line of a Python recorder is the thread that a line of the frameworks' own events is of.

PyTorch numbers threads as the system does, and as the recorders of Python do. TensorFlow and JAX
number them by the hash that C++ makes of what the thread library calls them. Where the recording
does not hold that, what a thread is at tells: only the one that makes the events is always in the
same lines of Python when they begin and end.
"""

from __future__ import annotations

import numpy as np

from stepscope.columns.space import I64
from stepscope.schema import names
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.stats import event_stats
from stepscope.tables.core.thresholds import DOZENS, HALF_FRAC, LARGE_FRAC
from stepscope.tables.python.moments import innermost

# Where nobody looked at the threads, because all calls were heard of, they are compared this often.
_MOMENTS = 4096
# Of what can be known of the events, a thread's calls tell this share, and that many times as much
# as the main thread's do, which runs most loops. Fewer looks tell nothing.
_MORE_TOLD = 2.0
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
    if not same and line >= 0 and main:
        same = _told_apart(host, listed, main[0], line, within)
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


def _told_apart(
    host: Host, listed: list[int], main: int, line: int, within: tuple[int, int]
) -> list[int]:
    """The thread whose calls tell most of which events the line has when; [] none does clearly."""
    lines = host.space.lines
    here = {one.id for one in lines if one.plane == lines[line].plane}
    listed = [row for row in listed if _hash(lines[row].id) not in here]
    times = _looks(host, main, within)
    if len(listed) < 2 or main not in listed or len(times) < DOZENS:
        return []
    events = _seen(host, line, times)
    told = {row: _shared(events, _seen(host, row, times)) for row in listed}
    best = max(told, key=lambda row: told[row])
    is_clear = told[best] > max(_MORE_TOLD * told[main], LARGE_FRAC * _shared(events, events))
    return [best] if is_clear else []


def looks_of(host: Host, row: int) -> I64:
    """When the sampler of a line looked at the threads, ascending; empty where none noted it."""
    space = host.space
    for line in space.lines:
        if line.plane == space.lines[row].plane and line.name == names.COUNTER_LINE:
            return np.sort(space.events.start_ps[line.begin : line.end])
    return np.zeros(0, dtype=np.int64)


def _looks(host: Host, row: int, within: tuple[int, int]) -> I64:
    """When the recorder of a line looked at the threads; some moments where it heard of calls."""
    at = looks_of(host, row)
    if len(at):
        return at[(at >= within[0]) & (at < within[1])]
    return np.linspace(*within, _MOMENTS, endpoint=False).astype(np.int64)


def _seen(host: Host, row: int, times: I64) -> I64:
    """Name of the innermost event that a line has at each time; -1 none."""
    space, line = host.space, host.space.lines[row]
    rows = np.arange(line.begin, line.end, dtype=np.int64)
    found = innermost(space.events.start_ps[rows], space.length_ps[rows]).at(times)
    names_of: I64 = np.where(found >= 0, space.events.metadata[rows][np.maximum(found, 0)], -1)
    return names_of


def _shared(one: I64, other: I64) -> float:
    """How much the names of one thread tell of the other's: their mutual information, in nats.

    Less what it is by chance where so few changes are seen (Miller and Madow).
    """
    both = np.stack([one, other])
    changes = 1 + int((np.diff(both, axis=1) != 0).any(axis=0).sum())
    (first, kinds), (second, others) = _entropy(one), _entropy(other)
    joint, pairs = _entropy(np.unique(both, axis=1, return_inverse=True)[1].ravel())
    return first + second - joint + (kinds + others - pairs - 1) / (2 * changes)


def _entropy(names_of: I64) -> tuple[float, int]:
    """In nats, and how many names there are."""
    _names, count = np.unique(names_of, return_counts=True)
    share = count / len(names_of)
    return -float((share * np.log(share)).sum()), len(count)
