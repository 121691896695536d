"""Python calls in which a thread only waits, and the thread that works where the main one does."""

from __future__ import annotations

import numpy as np

from stepscope.columns.space import I64, Bool
from stepscope.tables.core.interval_overlap import covered
from stepscope.tables.core.profile import Host
from stepscope.tables.python.frames import LOCK_CALL, OWN, RECORDER, Frames
from stepscope.tables.python.moments import one_line
from stepscope.tables.python.other_threads import other_threads

# A thread that waits for this share of the time only asks others to work, and one that works for
# this share of it is one of those: a server that nobody asks, or that polls, sleeps as well.
_IDLE_FRAC, _WORKS_FRAC = 0.9, 0.05


def is_idle(calls: Frames) -> Bool:
    """Calls that wait, or that lie in one which waits for a clock or a socket."""
    outside = [row for row, one in calls.names.items() if one.is_outside]
    found: Bool = np.isin(calls.name, outside) & (calls.kind != OWN)
    parent = one_line(calls.start_ps, calls.length_ps).parent.astype(np.int64)
    inner = (parent >= 0) & (calls.kind != OWN)
    below = found
    while below.any():
        below = inner & below[np.maximum(parent, 0)] & ~found
        found |= below
    return found | calls.is_passive


def at_work(host: Host, calls: Frames, begin_ps: int, end_ps: int) -> Frames:
    """The calls of the thread that works, where the main one waits for it and does nothing else.

    A server's main thread sleeps, or waits for its workers to end: the requests are theirs. Of
    several, it is the one that is in the program's code most, waiting for a lock or not.

    Args:
        host: Whose.
        calls: Of the main thread, from samples.
        begin_ps: The time that is to be explained, from here
        end_ps: to here.
    """
    whole = end_ps - begin_ps
    if not calls.is_sampled or _in_program(calls, begin_ps, end_ps) > (1 - _IDLE_FRAC) * whole:
        return calls
    best, most = calls, _WORKS_FRAC * whole
    for _thread, other in other_threads(host, calls, begin_ps, end_ps):
        spent = _in_program(other, begin_ps, end_ps, with_locks=True)
        if spent > most:
            best, most = other, spent
    return best


def for_lock(calls: Frames) -> Bool:
    """Calls by which the program waits for a lock."""
    locks = [row for row, one in calls.names.items() if one.public == LOCK_CALL]
    found: Bool = np.isin(calls.name, locks) & (calls.own >= 0)
    return found


def _in_program(calls: Frames, begin_ps: int, end_ps: int, *, with_locks: bool = False) -> int:
    """How long a thread is in the program's code, or what that calls, and does not wait."""
    idle = is_idle(calls)
    if with_locks:
        idle &= ~for_lock(calls)
    works = ~idle & (calls.kind != RECORDER) & (calls.own >= 0)
    owner = calls.moments.owner
    mine = np.flatnonzero(works[owner])
    start: I64 = calls.moments.start_ps[mine]
    end: I64 = calls.moments.end_ps[mine]
    edges = np.asarray([begin_ps], np.int64), np.asarray([end_ps], np.int64)
    return int(covered(start, end, *edges).sum())
