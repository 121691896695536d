"""Threads that take turns at a lock while the loop waits for what they make.

One of them reads, decompresses or computes with the lock in its hand, and the others wait for it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from stepscope.columns import union_spans
from stepscope.columns.space import I64, Bool
from stepscope.tables.account.lock_holders import LockHolder
from stepscope.tables.core.interval_overlap import common_spans, covered
from stepscope.tables.python.frames import RECORDER, Frames
from stepscope.tables.python.idle_calls import for_lock
from stepscope.tables.python.stays import Spans, Threads, lines_within, most_at_once, stays

# Some thread waits for the lock while another one has it, for this share of the loop's waits.
_MOSTLY_FRAC = 0.5
# What a lock guards one thread does at a time. Looks are between two samples, so some overlap.
_AT_ONCE = 1.2
_CONDITION = re.compile(r"threading\.Condition\.wait(?:_for)?$")
_PLACES, _ASKING = 5, 8
# The function that takes the lock, or where by its name that does nothing else its caller.
_LEVELS = (0, 1)
_ONLY_TAKES = re.compile(r"(?:^|\.)(?:__enter__|acquire|lock|locked)$")

# A function of the program, by name and file.
_Function = tuple[str, str]


@dataclass(frozen=True, eq=False, slots=True)
class _Taken:
    """How a lock is waited for and held.

    Attributes:
        by: The function.
        line: Where most of the waits are.
        threads: How many want it at once at most, the one that has it included.
        holds: Of each thread the calls that are made with it.
        contended: When somebody waits and somebody has it.
        time_ps: How much of the loop's waits that is.
    """

    by: _Function
    line: int
    threads: int
    holds: list[Bool]
    contended: Spans
    time_ps: int


def turns_at_locks(threads: Threads, waits: Spans) -> list[LockHolder]:
    """Who holds the lock that most of the loop's waits are for, the longest first; [] if none is.

    Args:
        threads: Those beside the loop's.
        waits: When the loop waits for them.
    """
    whole = int((waits[1] - waits[0]).sum())
    for level in _LEVELS:
        asks = [_asks(calls, level) for _thread, calls in threads]
        found = [_taken(threads, asks, function, waits) for function in _most_asking(threads, asks)]
        most = max(found, key=lambda one: one.time_ps, default=None)
        if most is not None and most.time_ps >= _MOSTLY_FRAC * whole:
            return _holders(threads, most, waits, whole)
    return []


def _most_asking(threads: Threads, asks: list[dict[_Function, I64]]) -> list[_Function]:
    """The functions that ask for locks longest: a program may have thousands that ask at times."""
    spent: dict[_Function, int] = {}
    for (_thread, calls), asked in zip(threads, asks, strict=True):
        for function, rows in asked.items():
            spent[function] = spent.get(function, 0) + int(calls.length_ps[rows].sum())
    return sorted(spent, key=lambda one: (-spent[one], one))[:_ASKING]


def _holders(threads: Threads, taken: _Taken, waits: Spans, whole: int) -> list[LockHolder]:
    when = common_spans(*waits, *taken.contended)
    return [
        LockHolder(
            one.thread, one.function, one.file, one.line, one.call, one.spent_ps / whole,
            taken.threads - 1, *taken.by, taken.line,
        )
        for one in stays(threads, taken.holds, when)[:_PLACES]
    ]  # fmt: skip


def _asks(calls: Frames, level: int) -> dict[_Function, I64]:
    """Calls by which functions of the program ask for a lock, and not what they call for them.

    A library's own locks (of conditions, queues) wait for what others do with them.
    """
    rows = np.flatnonzero(for_lock(calls) & (calls.call == np.arange(len(calls.call))))
    at = calls.own[rows]
    for _level in range(level):
        only = [row for row, one in calls.names.items() if _ONLY_TAKES.search(one.function)]
        above = np.where(np.isin(calls.name[at], only), calls.caller[at], -1)
        rows, at = rows[above >= 0], calls.own[above[above >= 0]]
    name = calls.name[at]
    found: dict[_Function, list[I64]] = {}
    for one in np.unique(name).tolist():
        found.setdefault(_function(calls, one), []).append(rows[name == one])
    return {function: np.concatenate(listed) for function, listed in found.items()}


def _function(calls: Frames, name: int) -> _Function:
    return calls.names[name].function, calls.names[name].file


def _taken(
    threads: Threads, asks: list[dict[_Function, I64]], by: _Function, waits: Spans
) -> _Taken:
    """What of the loop's waits is spent at the lock of one function."""
    lines = [
        lines_within(calls, [row for row in calls.names if _function(calls, row) == by])
        for _thread, calls in threads
    ]
    asked = [np.zeros(len(calls.rows), dtype=bool) for _thread, calls in threads]
    for mine, rows in zip(asked, asks, strict=True):
        mine[rows.get(by, np.zeros(0, np.int64))] = True
    waiting, at = _lines_of(threads, asked, lines)
    holds = [
        (mine >= 0) & ~for_lock(calls) & ~_gives_up(calls) & (calls.kind != RECORDER)
        for (_thread, calls), mine in zip(threads, lines, strict=True)
    ]
    shared = _shared(*_lines_of(threads, holds, lines), waits)
    holds = [one & ~np.isin(mine, shared) for one, mine in zip(holds, lines, strict=True)]
    held, _at = _lines_of(threads, holds, lines)
    both = common_spans(*union_spans(*held), *union_spans(*waiting))
    wanted = _together([waiting, held])
    inside = covered(*waits, *wanted) > 0
    most = most_at_once(wanted[0][inside], wanted[1][inside])
    time_ps = int(covered(*both, *waits).sum())
    return _Taken(by, _longest(at, covered(*waits, *waiting)), most, holds, both, time_ps)


def _gives_up(calls: Frames) -> Bool:
    """Calls in which the program waits for a condition: its lock is free meanwhile."""
    rows = [row for row, one in calls.names.items() if _CONDITION.match(one.public)]
    found: Bool = (calls.call >= 0) & np.isin(calls.name[np.maximum(calls.call, 0)], rows)
    return found


def _longest(line: I64, time_ps: I64) -> int:
    """The line with most of this time."""
    first, which = np.unique(line, return_inverse=True)
    return int(first[np.bincount(which, weights=time_ps).argmax()]) if len(first) else 0


def _lines_of(threads: Threads, chosen: list[Bool], lines: list[I64]) -> tuple[Spans, I64]:
    """When threads are in chosen calls, and at which line of the function each time."""
    spans, at = [], [np.zeros(0, np.int64)]
    for (_thread, calls), mine, line in zip(threads, chosen, lines, strict=True):
        moments = calls.moments
        here = mine[moments.owner]
        spans.append((moments.start_ps[here], moments.end_ps[here]))
        at.append(line[moments.owner[here]])
    return _together(spans), np.concatenate(at)


def _shared(spans: Spans, line: I64, waits: Spans) -> list[int]:
    """Lines of the function that several threads are at, at once: no lock is held there."""
    found = []
    for one in np.unique(line).tolist():
        begin, until = (side[line == one] for side in spans)
        by_one = int(covered(*union_spans(begin, until), *waits).sum())
        if int(covered(*waits, begin, until).sum()) > _AT_ONCE * by_one:
            found.append(one)
    return found


def _together(spans: list[Spans]) -> Spans:
    none = np.zeros(0, np.int64)
    start, end = (np.concatenate([none, *(one[side] for one in spans)]) for side in (0, 1))
    return start, end
