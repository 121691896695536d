"""The Python calls of threads beside the loop's."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stepscope.columns import distinct
from stepscope.columns.space import I64, Bool
from stepscope.tables.core.interval_overlap import covered
from stepscope.tables.core.profile import Host
from stepscope.tables.core.thresholds import NEARLY_ALL_FRAC, SOME_FRAC
from stepscope.tables.python.frames import LOCK_CALL, OWN, RECORDER, Frames, linked, python_rows
from stepscope.tables.python.moments import one_line


def other_threads(
    host: Host, calls: Frames, begin_ps: int, end_ps: int
) -> Iterator[tuple[str, Frames]]:
    """Names and calls of the other threads that the same recorder has seen.

    Args:
        host: Whose.
        calls: Of the loop's thread, or of the main one.
        begin_ps: Only those that call something from here
        end_ps: to here.
    """
    space = host.space
    own = int(space.lines_of(calls.rows[:1])[0])
    rows = python_rows(host, begin_ps, end_ps)
    lines = space.lines_of(rows)
    for line in distinct(lines).tolist():
        if line != own and space.lines[line].plane == space.lines[own].plane:
            mine = rows[lines == line]
            yield space.lines[line].label, linked(host, mine, is_sampled=calls.is_sampled)


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


def works(calls: Frames) -> Bool:
    """Of each of a thread's moments, whether it works: in anybody's code but a recorder's."""
    owner = calls.moments.owner
    runs: Bool = (calls.kind[owner] != RECORDER) & ~is_idle(calls)[owner]
    return runs


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
    if not calls.is_sampled or _in_program(calls, begin_ps, end_ps) > (1 - NEARLY_ALL_FRAC) * whole:
        return calls
    best, most = calls, SOME_FRAC * whole
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
    owner = calls.moments.owner
    counts = works(calls)
    if with_locks:
        counts |= for_lock(calls)[owner]
    mine = np.flatnonzero(counts & (calls.own[owner] >= 0))
    start: I64 = calls.moments.start_ps[mine]
    end: I64 = calls.moments.end_ps[mine]
    edges = np.asarray([begin_ps], np.int64), np.asarray([end_ps], np.int64)
    return int(covered(start, end, *edges).sum())
