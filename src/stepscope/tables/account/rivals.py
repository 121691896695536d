"""Other threads of the program that run Python, and so take turns with the loop for its lock."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.columns import stats_by_name, union_spans
from stepscope.columns.space import I64
from stepscope.schema import names
from stepscope.tables.account.account import Account
from stepscope.tables.account.frames import OWN, RECORDER, Frames, linked
from stepscope.tables.core.interval_overlap import covered
from stepscope.tables.core.presence import entries_named
from stepscope.tables.core.profile import Host

# Threads that are seen at work in less of the time take little of the lock.
_SOME_FRAC = 0.2
# Where no sample shows which thread ran, even the promptest tenth of the samples is this late.
_LATE_MS = 0.3
# A thread with this much processor time in Python code holds the lock for that long.
_HOLDS_FRAC = 0.15


@dataclass(frozen=True, slots=True)
class Rival:
    """One thread.

    Attributes:
        thread: Its name.
        function, file, line: Where it is most.
        busy_frac: Share of the kept steps in which it runs Python, as far as stacks tell.
        delays_loop: Whether it holds the lock: its processor time in Python code says so, or
            without it that all samples came late.
    """

    thread: str
    function: str
    file: str
    line: int
    busy_frac: float
    delays_loop: bool


def rivals(host: Host, found: Account) -> list[Rival]:
    """The threads that were sampled at work beside the loop's, the busiest first."""
    if found.frames is None or not found.frames.is_sampled:
        return []
    space, steps = host.space, found.found
    start, end = steps.start_ps[steps.kept], steps.end_ps[steps.kept]
    own = int(space.lines_of(found.frames.rows[:1])[0])
    late = _lateness_ms(host, int(start[0]), int(end[-1])) >= _LATE_MS
    listed = []
    for row, line in enumerate(space.lines):
        plane = space.planes[line.plane].name
        if plane != names.PYTHON_SAMPLES_PLANE or row == own or line.name == names.COUNTER_LINE:
            continue
        rows = np.arange(line.begin, line.end, dtype=np.int64)
        if len(rows):
            held = _held_frac(host, line.id, start, end)
            holds = late if held is None else held >= _HOLDS_FRAC
            one = _rival(linked(host, rows, is_sampled=True), line.label, start, end, holds)
            if one is not None:
                listed.append(one)
    return sorted(listed, key=lambda one: -one.busy_frac)


def _rival(calls: Frames, thread: str, start: I64, end: I64, late: bool) -> Rival | None:
    owner = calls.moments.owner
    works = (calls.kind[owner] != RECORDER) & ~calls.is_passive[owner]
    if not works.any() or not (calls.kind[owner[works]] == OWN).any():
        return None
    begin, until = calls.moments.start_ps[works], calls.moments.end_ps[works]
    whole = int((end - start).sum())
    share = int(covered(*union_spans(begin, until), start, end).sum()) / whole if whole else 0.0
    if share < _SOME_FRAC:
        return None
    chosen = owner[works]
    place = np.where(calls.line[chosen] >= 0, calls.line[chosen], calls.own[chosen])
    known = place >= 0
    if not known.any():
        return None
    time = np.bincount(place[known], weights=(until - begin)[known].astype(np.float64))
    at = int(time.argmax())
    name = calls.names[int(calls.name[at])]
    function = calls.names[int(calls.name[calls.own[at]])].function if calls.own[at] >= 0 else ""
    return Rival(thread, function, name.file, name.line, share, late)


def _lateness_ms(host: Host, begin_ps: int, end_ps: int) -> float:
    """Lateness of the promptest tenth of Python's samples; 0 where it was not recorded."""
    space = host.space
    rows = [
        np.arange(line.begin, line.end)
        for line in space.lines
        if line.name == names.COUNTER_LINE
        and space.planes[line.plane].name == names.PYTHON_SAMPLES_PLANE
    ]
    if not rows:
        return 0.0
    at = np.concatenate(rows)
    at = at[(space.events.start_ps[at] >= begin_ps) & (space.events.start_ps[at] < end_ps)]
    column = stats_by_name(space, (names.COUNTER_VALUE,))[names.COUNTER_VALUE]
    values = column.floats[np.isin(column.rows, at)]
    return float(np.percentile(values, 10)) if len(values) else 0.0


def _held_frac(host: Host, thread: int, start: I64, end: I64) -> float | None:
    """Share of the steps that a thread ran Python code on a processor; None: not recorded."""
    space = host.space
    is_python = entries_named(host, names.IN_PYTHON.__eq__)
    lines = [
        line for line in space.lines if space.planes[line.plane].name == names.PYTHON_THREADS_PLANE
    ]
    if not lines:
        return None
    whole = int((end - start).sum())
    taken = 0
    for line in (one for one in lines if one.id == thread):
        rows = line.begin + np.flatnonzero(is_python[space.events.metadata[line.begin : line.end]])
        begin = space.events.start_ps[rows]
        inside = (begin >= int(start[0])) & (begin < int(end[-1]))
        column = stats_by_name(space, (names.CPU_NS,))[names.CPU_NS]
        has = np.isin(column.rows, rows[inside])
        taken += int(column.ints[has].sum()) * 1000
    return taken / whole if whole else 0.0
