"""At which places of the program threads are during some spans of time, and for how long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stepscope.columns.space import I64, Bool
from stepscope.tables.core.interval_overlap import covered
from stepscope.tables.python.frames import Frames

#: Disjoint ascending spans: where each begins and ends.
Spans = tuple[I64, I64]
#: Threads with their names.
Threads = Sequence[tuple[str, Frames]]


@dataclass(frozen=True, eq=False, slots=True)
class Stay:
    """A place, and the threads that are there.

    Attributes:
        function, file, line: The program's.
        call: What it calls of a library there, by its public name; "".
        thread: Name of the thread that is there most.
        spent_ps: How long all of them are there, within the spans.
        moments: When, as far as that touches the spans; of several threads in no order.
    """

    function: str
    file: str
    line: int
    call: str
    thread: str
    spent_ps: int
    moments: Spans


# A place without its threads: function, file, line, and what it calls there.
_At = tuple[str, str, int, str]


def stays(threads: Threads, chosen: Sequence[Bool], spans: Spans) -> list[Stay]:
    """The places at which threads spend these spans, the longest first.

    Args:
        threads: Whose.
        chosen: Of each thread the calls that count, all within functions of the program.
        spans: When it counts.
    """
    found: dict[_At, list[tuple[str, int, Spans]]] = {}
    for (thread, calls), mine in zip(threads, chosen, strict=True):
        owner = calls.moments.owner
        moments = np.flatnonzero(mine[owner])
        start, end = calls.moments.start_ps[moments], calls.moments.end_ps[moments]
        time = covered(*spans, start, end)
        inside = time > 0
        start, end, time, at = start[inside], end[inside], time[inside], owner[moments[inside]]
        if len(at) == 0:
            continue
        keys, which = _keys(calls, at)
        order = np.argsort(which, kind="stable")
        of_each = np.split(order, np.searchsorted(which[order], np.arange(1, len(keys))))
        for key, here in zip(keys, of_each, strict=True):
            told = thread, int(time[here].sum()), (start[here], end[here])
            found.setdefault(key, []).append(told)
    listed = [_stay(key, told) for key, told in found.items()]
    return sorted(listed, key=lambda one: -one.spent_ps)


def _keys(calls: Frames, at: I64) -> tuple[list[_At], I64]:
    """The places of these calls, and which of them each is at."""
    line = calls.place_of(at)
    call = calls.call[at]
    called = np.where(call >= 0, calls.name[np.maximum(call, 0)], -1)
    rows = np.stack([calls.name[calls.own[at]], calls.name[line], called])
    distinct_places, which = np.unique(rows, axis=1, return_inverse=True)
    keys = []
    for own, seen, out in distinct_places.T.tolist():
        where = calls.names[seen]
        public = calls.names[out].public if out >= 0 else ""
        keys.append((calls.names[own].function, where.file, where.line, public))
    return keys, which.ravel()


def _stay(key: _At, told: list[tuple[str, int, Spans]]) -> Stay:
    by_thread: dict[str, int] = {}
    for thread, time, _moments in told:
        by_thread[thread] = by_thread.get(thread, 0) + time
    moments = tuple(np.concatenate([one[2][side] for one in told]) for side in (0, 1))
    most = max(by_thread, key=lambda thread: by_thread[thread])
    return Stay(*key, most, sum(by_thread.values()), (moments[0], moments[1]))


def most_at_once(start_ps: I64, end_ps: I64) -> int:
    """How many of these spans there are at a time, at most."""
    start, end = np.sort(start_ps), np.sort(end_ps)
    over = np.searchsorted(end, start, side="right")
    return int((np.arange(1, len(start) + 1) - over).max(initial=0))
