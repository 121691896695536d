"""What other threads do while the loop's thread waits for a lock: one of them has it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.columns import distinct
from stepscope.columns.space import I64, Bool
from stepscope.tables.account.account import Account
from stepscope.tables.core.interval_overlap import covered
from stepscope.tables.core.profile import Host
from stepscope.tables.python.frames import RECORDER, Frames
from stepscope.tables.python.idle_calls import for_lock, is_idle
from stepscope.tables.python.other_threads import other_threads

# Waits of less of the steps are not worth a look at all other threads.
_SOME_FRAC = 0.05
# Threads in functions that take a lock are at it for this share of the waits, or all are asked.
_MOSTLY_FRAC = 0.5
_PLACES = 5
_DEEPEST = 250


@dataclass(frozen=True, slots=True)
class LockHolder:
    """A place that another thread is at while the loop waits for a lock.

    Attributes:
        thread: Its name; of several, that of the one that is there most.
        function, file, line: The program's.
        call: What it calls of a library there, by its public name; "".
        wait_frac: Share of the waits for locks, of all kept steps.
    """

    thread: str
    function: str
    file: str
    line: int
    call: str
    wait_frac: float


def lock_holders(host: Host, found: Account) -> list[LockHolder]:
    """The places with most of the loop's waits for locks, the largest first; [] without waits."""
    calls = found.frames
    if calls is None:
        return []
    steps = found.found
    start, end = steps.start_ps[steps.kept], steps.end_ps[steps.kept]
    waits = _cut(calls.moments.start_ps, calls.moments.end_ps, for_lock(calls)[calls.moments.owner])
    whole = int(covered(*waits, start, end).sum())
    if whole < _SOME_FRAC * int((end - start).sum()):
        return []
    others = list(other_threads(host, calls, int(start[0]), int(end[-1])))
    everyone = [calls, *(one for _thread, one in others)]
    takers = {one.names[row].function for one in everyone for row in _takers(one)}
    inside = _places(others, waits, takers)
    if sum(spent for spent, _thread in inside.values()) < _MOSTLY_FRAC * whole:
        inside = _places(others, waits, None)
    listed = sorted(inside.items(), key=lambda item: -item[1][0])[:_PLACES]
    return [LockHolder(thread, *place, spent / whole) for place, (spent, thread) in listed]


def _cut(start: I64, end: I64, chosen: Bool) -> tuple[I64, I64]:
    return start[chosen], end[chosen]


def _takers(calls: Frames) -> list[int]:
    """Names of the program's functions that wait for a lock themselves."""
    waiting = np.flatnonzero(for_lock(calls))
    rows: list[int] = distinct(calls.name[calls.own[waiting]]).tolist()
    return rows


# A place without its thread: function, file, line, and what it calls there.
_At = tuple[str, str, int, str]


def _places(
    others: list[tuple[str, Frames]], waits: tuple[I64, I64], takers: set[str] | None
) -> dict[_At, tuple[int, str]]:
    """Time that each place has of the waits, and the thread that is there most.

    Args:
        others: The threads.
        waits: Begin and end of each.
        takers: Only below functions of these names, asleep or not; None: wherever one works.
    """
    found: dict[_At, dict[str, int]] = {}
    for thread, calls in others:
        if takers is None:
            holds = ~is_idle(calls)
        else:
            rows = [row for row, one in calls.names.items() if one.function in takers]
            holds = _below(calls, np.asarray(rows, np.int64))
        holds &= ~for_lock(calls) & (calls.kind != RECORDER) & (calls.own >= 0)
        owner = calls.moments.owner
        moments = np.flatnonzero(holds[owner])
        start, end = calls.moments.start_ps[moments], calls.moments.end_ps[moments]
        chosen = owner[moments]
        line = np.where(calls.line[chosen] >= 0, calls.line[chosen], calls.own[chosen])
        call = calls.call[chosen]
        called = np.where(call >= 0, calls.name[np.maximum(call, 0)], -1)
        keys = np.stack([calls.name[calls.own[chosen]], calls.name[line], called])
        distinct_places, which = np.unique(keys, axis=1, return_inverse=True)
        spent = np.bincount(which.ravel(), covered(*waits, start, end)).astype(np.int64)
        for (own, at, out), time in zip(distinct_places.T.tolist(), spent.tolist(), strict=True):
            public = calls.names[out].public if out >= 0 else ""
            where = calls.names[at]
            key = calls.names[own].function, where.file, where.line, public
            by_thread = found.setdefault(key, {})
            by_thread[thread] = by_thread.get(thread, 0) + time
    return {
        place: (sum(by.values()), max(by, key=lambda thread: by[thread]))
        for place, by in found.items()
        if any(by.values())
    }


def _below(calls: Frames, functions: I64) -> Bool:
    """Calls made in these functions of the program, or in what they call."""
    at: I64 = calls.own.copy()
    found = np.zeros(len(at), dtype=bool)
    for _level in range(_DEEPEST):
        here = at >= 0
        if not here.any():
            break
        found |= here & np.isin(calls.name[np.maximum(at, 0)], functions)
        above = np.where(here, calls.caller[np.maximum(at, 0)], -1)
        at = np.where(above >= 0, calls.own[np.maximum(above, 0)], -1)
    return found
