"""The Python calls of threads beside the loop's, and where in the program these are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from stepscope.columns import distinct, sum_by_key
from stepscope.columns.space import I64, Bool, Line
from stepscope.records import dataclass, replace
from stepscope.tables.core.distinct_rows import distinct_rows
from stepscope.tables.core.profile import Host
from stepscope.tables.core.thresholds import HALF_FRAC, NEARLY_ALL_FRAC, SOME_FRAC
from stepscope.tables.core.time_spans import covered
from stepscope.tables.python.frames import LOCK_CALL, OWN, RECORDER, Frames, linked, python_rows
from stepscope.tables.python.moments import one_line


def other_threads(
    host: Host, calls: Frames, begin_ps: int, end_ps: int
) -> Iterator[tuple[Line, Frames]]:
    """Lines and calls of the other threads that the same recorder has seen.

    Those that call anything between the two times.
    """
    space = host.space
    own = int(space.lines_of(calls.rows[:1])[0])
    rows = python_rows(host, begin_ps, end_ps)
    lines = space.lines_of(rows)
    for line in distinct(lines).tolist():
        if line != own and space.lines[line].plane == space.lines[own].plane:
            mine = rows[lines == line]
            yield space.lines[line], linked(host, mine, is_sampled=calls.is_sampled)


def is_idle(calls: Frames) -> Bool:
    """Calls that wait, or that lie in one which waits for a clock or a socket."""
    foreign = calls.kind != OWN
    outside = calls.named(lambda one: one.is_outside) & foreign
    return below(calls, outside, foreign) | calls.is_passive


def below(calls: Frames, chosen: Bool, through: Bool | None = None) -> Bool:
    """The chosen calls and all that they call, down to calls that are not gone ``through``."""
    parent = one_line(calls.start_ps, calls.length_ps).parent.astype(np.int64)
    while True:
        more = (parent >= 0) & chosen[np.maximum(parent, 0)] & ~chosen
        if through is not None:
            more &= through
        if not more.any():
            return chosen
        chosen = chosen | more


def works(calls: Frames) -> Bool:
    """Calls in which a thread works: in anybody's code but a recorder's."""
    runs: Bool = (calls.kind != RECORDER) & ~is_idle(calls)
    return runs


def at_work(host: Host, calls: Frames, begin_ps: int, end_ps: int) -> Frames:
    """The calls of the thread that works, where the main one waits for it and does nothing else.

    A server's main thread sleeps, or waits for its workers to end: the requests are theirs. Of
    several, it is the one that is in the program's code most, waiting for a lock or not.
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
    return calls.named(lambda one: one.public == LOCK_CALL) & (calls.own >= 0)


def _in_program(calls: Frames, begin_ps: int, end_ps: int, *, with_locks: bool = False) -> int:
    """How long a thread is in the program's code, or what that calls, and does not wait."""
    counts = works(calls) | for_lock(calls) if with_locks else works(calls)
    moments = calls.moments
    mine = (counts & (calls.own >= 0))[moments.owner]
    start, end = np.clip([moments.start_ps[mine], moments.end_ps[mine]], begin_ps, end_ps)
    return int((end - start).sum())


#: Disjoint ascending spans: where each begins and ends.
Spans = tuple[I64, I64]


@dataclass(frozen=True, slots=True)
class Stay:
    """A place, and the threads that are there.

    Attributes:
        function, file, line: The program's.
        call: What it calls of a library there, by its public name; "".
        thread: Name of the thread that is there most.
        spent_ps: How long all of them are there, within the spans.
    """

    function: str
    file: str
    line: int
    call: str
    thread: str
    spent_ps: int


# A place without its threads: function, file, line, and what it calls there.
_At = tuple[str, str, int, str]
_Key = TypeVar("_Key")


def stays(
    threads: Sequence[tuple[str, Frames]], chosen: Sequence[Bool], spans: Spans
) -> list[Stay]:
    """The places at which threads spend these spans, the longest first.

    Args:
        threads: Their names and calls.
        chosen: Of each thread the calls that count, all within functions of the program.
        spans: When it counts.
    """
    places: dict[_At, dict[str, int]] = {}
    for (thread, calls), mine in zip(threads, chosen, strict=True):
        for place, time in _places(calls, mine, spans):
            of_thread = places.setdefault(place, {})
            of_thread[thread] = of_thread.get(thread, 0) + time
    listed = [
        Stay(*place, max(times, key=lambda name: times[name]), sum(times.values()))
        for place, times in places.items()
    ]
    return sorted(listed, key=lambda one: -one.spent_ps)


def _places(calls: Frames, chosen: Bool, spans: Spans) -> Iterator[tuple[_At, int]]:
    """The places of the chosen calls, and the time that each has of the spans."""
    moments = calls.moments
    time = np.where(chosen[moments.owner], covered(*spans, moments.start_ps, moments.end_ps), 0)
    at, time = moments.owner[time > 0], time[time > 0]
    own, line, call = calls.own[at], calls.place_of(at), calls.call[at]
    called = np.where(call >= 0, calls.name[np.maximum(call, 0)], -1)
    first, code = distinct_rows([calls.name[own], calls.name[line], called])
    for row, spent in zip(first.tolist(), sum_by_key(code, time, len(first)), strict=True):
        function, where = (calls.names[int(calls.name[one[row]])] for one in (own, line))
        public = calls.names[int(called[row])].public if called[row] >= 0 else ""
        yield (function.function, where.file, where.line, public), int(spent)


def busiest(found: Sequence[Stay]) -> Stay:
    """The function with most of the time: its longest line, and a call that has most of it."""
    function, _spent = _most(found, lambda one: (one.function, one.file))
    inside = [one for one in found if (one.function, one.file) == function]
    whole = sum(one.spent_ps for one in inside)
    line, _spent = _most(inside, lambda one: one.line)
    call, spent = _most([one for one in inside if one.call] or inside, lambda one: one.call)
    return replace(
        inside[0], line=line, call=call if spent > HALF_FRAC * whole else "", spent_ps=whole
    )


def _most(found: Sequence[Stay], key_of: Callable[[Stay], _Key]) -> tuple[_Key, int]:
    times: dict[_Key, int] = {}
    for one in found:
        times[key_of(one)] = times.get(key_of(one), 0) + one.spent_ps
    return max(times.items(), key=lambda item: item[1])
