"""Other threads of the program: rivals for the GIL, and holders of locks."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from stepscope.columns import distinct, distinct_keys, stats_by_name, sum_by_key, union_spans
from stepscope.columns.space import I64, Bool, Line
from stepscope.schema import names
from stepscope.tables.account.account import Account
from stepscope.tables.core.interval_overlap import covered
from stepscope.tables.core.presence import entries_called
from stepscope.tables.core.profile import Host
from stepscope.tables.core.thresholds import (
    DEEPEST,
    HALF_FRAC,
    LARGE_FRAC,
    PART_FRAC,
    SEVERAL,
    SOME_FRAC,
    SWITCH_MS,
)
from stepscope.tables.python.frames import RECORDER, Frames, linked
from stepscope.tables.python.other_threads import for_lock, is_idle, other_threads, works
from stepscope.tables.python.stays import stays

_CALLS_PYTHON = re.compile(r"tensorflow[/\\]python[/\\]ops[/\\]script_ops\.py$")


@dataclass(frozen=True, slots=True)
class Rival:
    """One thread, or several that do the same.

    Attributes:
        thread: Its name; of several, that of the busiest.
        count: How many they are.
        function, file, line: Where it is most.
        call: What it calls of a library there for most of that time, by its public name; "".
        busy_frac: Share of the kept steps in which it runs Python, as far as stacks tell.
        loop_waits: Whether it holds the lock: its processor time in Python code says so, or
            without it that all samples came late.
        takes_turns: Whether it computes in calls from Python while samples come late, so that it
            holds the lock for a part of the time that nobody can tell.
        makes_input: Whether it runs Python for tf.data: a generator, or a function in a map.
    """

    thread: str
    count: int
    function: str
    file: str
    line: int
    call: str
    busy_frac: float
    loop_waits: bool
    takes_turns: bool
    makes_input: bool


@dataclass(frozen=True, slots=True)
class _Seen:
    """Where a thread is most, when it was seen at work, and its processor time in the steps.

    Threads of one ``root``, the program's function that others were called from, do the same.
    """

    thread: str
    root: tuple[str, str]
    place: tuple[str, str, int, str]
    spans: tuple[I64, I64]
    held_frac: float | None
    computed_frac: float
    makes_input: bool


def rivals(host: Host, found: Account) -> list[Rival]:
    """The threads that were sampled at work beside the loop's, the busiest first."""
    if found.frames is None or not found.frames.is_sampled:
        return []
    space, steps = host.space, found.found
    start, end = steps.start_ps[steps.kept], steps.end_ps[steps.kept]
    own = int(space.lines_of(found.frames.rows[:1])[0])
    first, quarter = _lateness_ms(host, int(start[0]), int(end[-1]))
    seen: dict[tuple[str, str], list[_Seen]] = {}
    # Threads of a server that do what the loop's thread does count as loops, not as rivals.
    alike = _root(found.frames)
    for row, line in enumerate(space.lines):
        plane = space.planes[line.plane].name
        if plane != names.PYTHON_SAMPLES_PLANE or row == own or line.name == names.COUNTER_LINE:
            continue
        rows = np.arange(line.begin, line.end, dtype=np.int64)
        if len(rows) == 0:
            continue
        one = _seen(host, linked(host, rows, is_sampled=True), line, start, end)
        if one is not None and one.root != alike:
            seen.setdefault(one.root, []).append(one)
    listed = [_rival(alike, start, end, first, quarter) for alike in seen.values()]
    return sorted(
        (one for one in listed if one.busy_frac >= (SOME_FRAC if one.makes_input else LARGE_FRAC)),
        key=lambda one: -one.busy_frac,
    )


def _rival(alike: list[_Seen], start: I64, end: I64, first_ms: float, quarter_ms: float) -> Rival:
    """Threads of one function as one: a pool of them wants the lock as often as a busy thread."""
    whole = int((end - start).sum()) or 1
    begin, until = (np.concatenate([one.spans[side] for one in alike]) for side in (0, 1))
    share = int(covered(*union_spans(begin, until), start, end).sum()) / whole
    held = [one.held_frac for one in alike if one.held_frac is not None]
    # A thread holds the lock for its processor time in Python code. Where no sample shows which
    # thread ran, even the promptest tenth of the samples is late.
    holds = sum(held) >= PART_FRAC if held else first_ms >= SWITCH_MS
    computed = sum(one.computed_frac for one in alike)
    # Calls into C may keep the lock: then a quarter of the samples are two turns of it late.
    turns = not holds and computed >= 2 * PART_FRAC and quarter_ms >= 2 * SWITCH_MS
    most = max(alike, key=lambda one: int((one.spans[1] - one.spans[0]).sum()))
    makes_input = most.makes_input
    return Rival(most.thread, len(alike), *most.place, share, holds, turns, makes_input)


def _seen(host: Host, calls: Frames, line: Line, start: I64, end: I64) -> _Seen | None:
    owner = calls.moments.owner
    runs = works(calls)
    # What only libraries run there is not the program's; what it calls in them is.
    if not runs.any() or not (calls.own[owner[runs]] >= 0).any():
        return None
    begin, until = calls.moments.start_ps[runs], calls.moments.end_ps[runs]
    chosen = owner[runs]
    place = calls.place_of(chosen)
    known = place >= 0
    if not known.any():
        return None
    where = _most_at(calls, place[known], chosen[known], (until - begin)[known])
    held, computed = _processor_time(host, line.id, start, end)
    root = _root(calls)
    makes_input = any(_CALLS_PYTHON.search(one.file) for one in calls.names.values())
    return _Seen(line.label, root, where, union_spans(begin, until), held, computed, makes_input)


def _most_at(calls: Frames, place: I64, owner: I64, length: I64) -> tuple[str, str, int, str]:
    """The function that a thread is in most, with its file, its longest line and what it calls.

    Args:
        calls: The thread's.
        place: Lines or functions of the program that it is at,
        owner: what it calls there,
        length: and for how long.
    """
    own = np.where(calls.own[place] >= 0, calls.own[place], place)
    row = _longest(calls, own, length)
    here = calls.name[own] == calls.name[row]
    at = calls.names[int(calls.name[_longest(calls, place[here], length[here])])]
    function = calls.names[int(calls.name[row])].function
    return function, at.file, at.line, _call(calls, owner[here], length[here])


def _longest(calls: Frames, rows: I64, length: I64) -> int:
    """One of the rows whose name has most of the time."""
    first, code = distinct_keys(calls.name[rows])
    return int(rows[first[int(np.argmax(sum_by_key(code, length, len(first))))]])


def _call(calls: Frames, owner: I64, length: I64) -> str:
    """The library's call that has most of the time there, by its public name; "" of none."""
    call = calls.call[owner]
    whole, (call, length) = int(length.sum()), (call[call >= 0], length[call >= 0])
    if len(call) == 0:
        return ""
    first, code = distinct_keys(calls.name[call])
    time = sum_by_key(code, length, len(first))
    most = int(time.argmax())
    called = calls.names[int(calls.name[call[first[most]]])]
    return called.public if int(time[most]) > HALF_FRAC * whole else ""


def _root(calls: Frames) -> tuple[str, str]:
    """File and name of the program's function that a thread began in; "" of one without any."""
    # A lambda calls, and is not a function that has its own line.
    is_called = (calls.caller >= 0) & (calls.own[np.maximum(calls.caller, 0)] >= 0)
    outer = np.flatnonzero((calls.own == np.arange(len(calls.rows))) & ~is_called)
    if len(outer) == 0:
        return "", ""
    begun = calls.names[int(calls.name[outer[int(calls.length_ps[outer].argmax())]])]
    return begun.file, begun.function


def _lateness_ms(host: Host, begin_ps: int, end_ps: int) -> tuple[float, float]:
    """How late the sample after the promptest tenth is, and that before the latest quarter.

    0 where it was not recorded.
    """
    space = host.space
    rows = [
        np.arange(line.begin, line.end)
        for line in space.lines
        if line.name == names.COUNTER_LINE
        and space.planes[line.plane].name == names.PYTHON_SAMPLES_PLANE
    ]
    if not rows:
        return 0.0, 0.0
    at = np.concatenate(rows)
    at = at[(space.events.start_ps[at] >= begin_ps) & (space.events.start_ps[at] < end_ps)]
    column = stats_by_name(space, (names.COUNTER_VALUE,))[names.COUNTER_VALUE]
    values = column.floats[np.isin(column.rows, at)]
    first, quarter = np.percentile(values, (10, 75)).tolist() if len(values) else (0.0, 0.0)
    return first, quarter


def _processor_time(host: Host, thread: int, start: I64, end: I64) -> tuple[float | None, float]:
    """Share of the steps that a thread ran on a processor: in Python code, and in all its calls.

    The first is None where it was not recorded.
    """
    space = host.space
    is_python = entries_called(host, (names.IN_PYTHON,))
    lines = [
        line for line in space.lines if space.planes[line.plane].name == names.PYTHON_THREADS_PLANE
    ]
    if not lines:
        return None, 0.0
    whole = int((end - start).sum()) or 1
    held = computed = 0
    column = stats_by_name(space, (names.CPU_NS,))[names.CPU_NS]
    for line in (one for one in lines if one.id == thread):
        rows = np.arange(line.begin, line.end, dtype=np.int64)
        begin = space.events.start_ps[rows]
        rows = rows[(begin >= int(start[0])) & (begin < int(end[-1]))]
        python = rows[is_python[space.events.metadata[rows]]]
        computed += int(column.ints[np.isin(column.rows, rows)].sum()) * 1000
        held += int(column.ints[np.isin(column.rows, python)].sum()) * 1000
    return held / whole, computed / whole


@dataclass(frozen=True, slots=True)
class LockHolder:
    """A place at which a thread has a lock that the loop waits for.

    Attributes:
        thread: Its name; of several, that of the one that is there most.
        function, file, line: The program's.
        call: What it calls of a library there, by its public name; "".
        wait_frac: Share of the loop's waits for locks, of all kept steps.
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
    if whole < SOME_FRAC * int((end - start).sum()):
        return []
    others = list(other_threads(host, calls, int(start[0]), int(end[-1])))
    everyone = [calls, *(one for _thread, one in others)]
    takers = {one.names[row].function for one in everyone for row in _takers(one)}
    inside = stays(others, [_holding(one, takers) for _thread, one in others], waits)
    if sum(one.spent_ps for one in inside) < HALF_FRAC * whole:
        inside = stays(others, [_holding(one, None) for _thread, one in others], waits)
    return [
        LockHolder(one.thread, one.function, one.file, one.line, one.call, one.spent_ps / whole)
        for one in inside[:SEVERAL]
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
        holds = _below(calls, [row for row, one in calls.names.items() if one.function in takers])
    found: Bool = holds & ~for_lock(calls) & (calls.kind != RECORDER) & (calls.own >= 0)
    return found


def _below(calls: Frames, functions: list[int]) -> Bool:
    """Calls in one of these functions of the program, by the rows of their names, or below it."""
    found, at = np.zeros(len(calls.rows), dtype=bool), calls.own
    for _level in range(DEEPEST):
        if not (at >= 0).any():
            break
        found |= (at >= 0) & np.isin(calls.name[np.maximum(at, 0)], functions)
        above = np.where(at >= 0, calls.caller[np.maximum(at, 0)], -1)
        at = np.where(above >= 0, calls.own[np.maximum(above, 0)], -1)
    return found
