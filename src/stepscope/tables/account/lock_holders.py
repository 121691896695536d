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
from stepscope.tables.python.stays import lines_within, stays

# Waits of less of the steps are not worth a look at all other threads.
_SOME_FRAC = 0.05
# Threads in functions that take a lock are at it for this share of the waits, or all are asked.
_MOSTLY_FRAC = 0.5
_PLACES = 5


@dataclass(frozen=True, slots=True)
class LockHolder:
    """A place at which a thread has a lock that the loop waits for, or threads that it waits for.

    Attributes:
        thread: Its name; of several, that of the one that is there most.
        function, file, line: The program's.
        call: What it calls of a library there, by its public name; "".
        wait_frac: Share of the loop's waits for locks, or for threads, of all kept steps.
        waiters: How many other threads wait for the lock at once, at most; 0: the loop does.
        taken_in, taken_file, taken_line: Where these ask for it; "" and 0: the loop does.
    """

    thread: str
    function: str
    file: str
    line: int
    call: str
    wait_frac: float
    waiters: int = 0
    taken_in: str = ""
    taken_file: str = ""
    taken_line: int = 0


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
    inside = stays(others, [_holding(one, takers) for _thread, one in others], waits)
    if sum(one.spent_ps for one in inside) < _MOSTLY_FRAC * whole:
        inside = stays(others, [_holding(one, None) for _thread, one in others], waits)
    return [
        LockHolder(one.thread, one.function, one.file, one.line, one.call, one.spent_ps / whole)
        for one in inside[:_PLACES]
    ]


def _cut(start: I64, end: I64, chosen: Bool) -> tuple[I64, I64]:
    return start[chosen], end[chosen]


def _takers(calls: Frames) -> list[int]:
    """Names of the program's functions that wait for a lock themselves."""
    waiting = np.flatnonzero(for_lock(calls))
    rows: list[int] = distinct(calls.name[calls.own[waiting]]).tolist()
    return rows


def _holding(calls: Frames, takers: set[str] | None) -> Bool:
    """Calls that may be made with the lock.

    Args:
        calls: Of a thread.
        takers: Below functions of these names, asleep or not; None: wherever it works.
    """
    if takers is None:
        holds = ~is_idle(calls)
    else:
        rows = [row for row, one in calls.names.items() if one.function in takers]
        holds = lines_within(calls, rows) >= 0
    found: Bool = holds & ~for_lock(calls) & (calls.kind != RECORDER) & (calls.own >= 0)
    return found
