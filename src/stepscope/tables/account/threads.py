"""Other threads of the program: rivals for the GIL, and holders of locks."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import numpy as np

from stepscope.columns import distinct, stats_by_name, union_spans
from stepscope.columns.space import I64, Bool, Line
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.account.account import Account
from stepscope.tables.core.presence import entries_called
from stepscope.tables.core.profile import Host
from stepscope.tables.core.thresholds import (
    HALF_FRAC,
    LARGE_FRAC,
    PART_FRAC,
    SEVERAL,
    SOME_FRAC,
    SWITCH_MS,
)
from stepscope.tables.core.time_spans import covered
from stepscope.tables.python.frames import RECORDER, Frames
from stepscope.tables.python.other_threads import (
    Stay,
    below,
    busiest,
    for_lock,
    other_threads,
    stays,
    works,
)

_CALLS_PYTHON = re.compile(r"tensorflow[/\\]python[/\\]ops[/\\]script_ops\.py$")
_EVER: Final = np.iinfo(np.int64).min, np.iinfo(np.int64).max


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

    stay: Stay
    root: tuple[str, str]
    spans: tuple[I64, I64]
    held_frac: float | None
    computed_frac: float
    makes_input: bool


def rivals(host: Host, found: Account) -> list[Rival]:
    """The threads that were sampled at work beside the loop's, the busiest first."""
    if found.frames is None or not found.frames.is_sampled:
        return []
    start, end = found.found.kept_spans
    first, quarter = _lateness_ms(host, int(start[0]), int(end[-1]))
    seen: dict[tuple[str, str], list[_Seen]] = {}
    # Threads of a server that do what the loop's thread does count as loops, not as rivals.
    alike = _root(found.frames)
    for line, calls in other_threads(host, found.frames, *_EVER):
        one = _seen(host, calls, line, start, end)
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
    at = most.stay
    return Rival(
        at.thread, len(alike), at.function, at.file, at.line, at.call,
        share, holds, turns, most.makes_input,
    )  # fmt: skip


def _seen(host: Host, calls: Frames, line: Line, start: I64, end: I64) -> _Seen | None:
    runs = works(calls)
    # What only libraries run there is not the program's; what it calls in them is.
    moments = calls.moments
    life = moments.start_ps[:1], moments.end_ps[-1:]
    found = stays([(line.label, calls)], [runs & (calls.own >= 0)], life)
    if not found:
        return None
    mine = runs[moments.owner]
    spans = union_spans(moments.start_ps[mine], moments.end_ps[mine])
    makes_input = any(_CALLS_PYTHON.search(one.file) for one in calls.names.values())
    processor = _processor_time(host, line.id, start, end)
    return _Seen(busiest(found), _root(calls), spans, *processor, makes_input)


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
    column = stats_by_name(space, (names.COUNTER_VALUE,))[names.COUNTER_VALUE]
    begin, line = space.events.start_ps[column.rows], space.lines_of(column.rows)
    looks = _lines(host, names.PYTHON_SAMPLES_PLANE, lambda one: one.name == names.COUNTER_LINE)
    inside = np.isin(line, looks) & (begin >= begin_ps) & (begin < end_ps)
    values = column.floats[inside]
    first, quarter = np.percentile(values, (10, 75)).tolist() if len(values) else (0.0, 0.0)
    return first, quarter


def _processor_time(host: Host, thread: int, start: I64, end: I64) -> tuple[float | None, float]:
    """Share of the steps that a thread ran on a processor: in Python code, and in all its calls.

    The first is None where it was not recorded.
    """
    space = host.space
    if not _lines(host, names.PYTHON_THREADS_PLANE, lambda _one: True):
        return None, 0.0
    column = stats_by_name(space, (names.CPU_NS,))[names.CPU_NS]
    begin, line = space.events.start_ps[column.rows], space.lines_of(column.rows)
    mine = np.isin(line, _lines(host, names.PYTHON_THREADS_PLANE, lambda one: one.id == thread))
    mine &= (begin >= int(start[0])) & (begin < int(end[-1]))
    is_python = entries_called(host, (names.IN_PYTHON,))[space.events.metadata[column.rows]]
    whole = int((end - start).sum()) or 1
    computed, held = (
        int(column.ints[some].sum()) * 1000 / whole for some in (mine, mine & is_python)
    )
    return held, computed


def _lines(host: Host, plane: str, wanted: Callable[[Line], bool]) -> list[int]:
    """Rows of the wanted lines of the planes of one name."""
    space = host.space
    return [
        row
        for row, line in enumerate(space.lines)
        if space.planes[line.plane].name == plane and wanted(line)
    ]


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
    start, end = found.found.kept_spans
    waiting = for_lock(calls)[calls.moments.owner]
    waits = calls.moments.start_ps[waiting], calls.moments.end_ps[waiting]
    whole = int(covered(*waits, start, end).sum())
    if whole < SOME_FRAC * int((end - start).sum()):
        return []
    beside = other_threads(host, calls, int(start[0]), int(end[-1]))
    others = [(line.label, one) for line, one in beside]
    everyone = [calls, *(one for _thread, one in others)]
    takers = {
        one.names[row].function  # of the program's functions that wait for a lock themselves
        for one in everyone
        for row in distinct(one.name[one.own[for_lock(one)]]).tolist()
    }
    inside = stays(others, [_holding(one, takers) for _thread, one in others], waits)
    if sum(one.spent_ps for one in inside) < HALF_FRAC * whole:
        inside = stays(others, [_holding(one, None) for _thread, one in others], waits)
    return [
        LockHolder(one.thread, one.function, one.file, one.line, one.call, one.spent_ps / whole)
        for one in inside[:SEVERAL]
    ]


def _holding(calls: Frames, takers: set[str] | None) -> Bool:
    """Calls that may be made with the lock.

    Those below functions of the takers' names, asleep or not; None: wherever the thread works.
    """
    holds = works(calls)
    if takers is not None:
        mine = calls.named(lambda one: one.function in takers)
        holds = below(calls, mine) & (calls.kind != RECORDER)
    return holds & ~for_lock(calls) & (calls.own >= 0)
