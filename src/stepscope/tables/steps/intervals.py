"""From marks to intervals: where the work of a step ends, when others do it later than it is asked.

Devices, and the pools on which JAX runs programs on a CPU, work behind the thread that asks for
it (asynchronous dispatch). Then step *i* lasts from the end of step *i-1*'s work to the end of
its own, where "own" means asked for from inside its span.
"""

from __future__ import annotations

import numpy as np

from stepscope.columns import median, sum_by_key
from stepscope.columns.space import I64, Bool
from stepscope.records import dataclass
from stepscope.tables.core.processes import launch_ids
from stepscope.tables.core.profile import Host
from stepscope.tables.core.recording_gaps import crosses_gap, gaps_at_steps
from stepscope.tables.device.driver_calls import waiting_names
from stepscope.tables.device.events import device_events
from stepscope.tables.steps import calls
from stepscope.tables.steps.found import Markers
from stepscope.tables.steps.program_runs import program_runs

# Work may end this much after the step's span, as a share of it, and still count as synchronous.
_SYNC_SLACK = 0.02
# Less than this share of its work may be done after it.
_LATE_WORK = 0.1
# Runs of calls made before the recording began.
_MOST_SKIPPED = 256
# A wait that begins within this share of its own length is how a step begins.
_HEAD_FRAC = 0.1
# Clocks of devices are brought to the host's with an error of microseconds.
_CLOCK_SLACK_PS = 20_000_000
_NEVER, _EVER = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False, slots=True)
class Intervals:
    """When each step was worked on.

    Attributes:
        start_ps, end_ps: Disjoint, ascending.
        runs_behind: Whether what the steps ask for is done after they have asked.
        is_cut: Steps that a gap of the recording cut off.
        is_unfinished: Steps whose work, asked for within the recording, is done after its end.
        drained_ps: Time at the first step's begin that it spends waiting for work of the step
            before the recording; not part of the interval.
    """

    start_ps: I64
    end_ps: I64
    runs_behind: bool
    is_cut: Bool
    is_unfinished: Bool
    drained_ps: int = 0


def step_intervals(host: Host, markers: Markers) -> Intervals:
    """The interval of each step."""
    start, end = markers.start_ps, markers.end_ps
    # A step that crosses a gap ends where the gap begins. One that lasts to the next start is not
    # seen to end if the gap comes before that, unless the gap began at that start.
    until = np.concatenate([start[1:], end[-1:]]) if markers.is_start_to_start else end
    is_whole = np.isin(end, gaps_at_steps(host))
    is_cut = crosses_gap(host, start, np.where(is_whole, end, np.maximum(until, end) + 1))
    finished = np.zeros(len(markers), dtype=np.bool_)
    asked = None
    if markers.line >= 0 and not markers.is_window:
        asked = _together(_launched_work(host), _called_runs(host))
    if asked is None:
        return Intervals(start, end, False, is_cut, finished)
    own = _work_of_steps(markers, asked)
    drained = _drained_until(host, markers, asked)
    drained_ps = drained - int(start[0])
    if drained_ps:
        start = np.concatenate([[drained], start[1:]])
    launched = own.end_ps > _NEVER
    own_end = np.where(launched, own.end_ps, markers.mark_end_ps)
    late = own_end - end - _SYNC_SLACK * np.maximum(end - start, 1)
    # Of a step that is long for other reasons, that share of it may be all of its work.
    late = np.maximum(late, own.after_ps - _LATE_WORK * own.total_ps)
    if median(late) <= 0:
        return Intervals(start, end, False, is_cut, finished, drained_ps)
    own_end = np.where(is_whole, np.maximum(own_end, end), own_end)
    finish = np.maximum.accumulate(np.maximum(own_end, markers.mark_end_ps))
    before = np.concatenate([[_NEVER], finish[:-1]])
    begin = np.maximum(start, before)
    if markers.is_start_to_start:
        # Time between the marks belongs to the loop, unless nothing was recorded in it.
        joins = np.concatenate([[False], (end[:-1] >= start[1:]) & ~is_cut[:-1]])
        begin = np.where(joins, np.minimum(before, begin), begin)
    queued = own.begin_ps[0] - own.asked_ps[0]
    if asked.first_ps == own.begin_ps[0] and queued >= markers.mark_end_ps[0] - start[0]:
        # The first work waited for longer than the host needs for a step: for what came before the
        # recording, of which it has nothing.
        begin[0] = max(begin[0], own.begin_ps[0])
    begin, cut = np.minimum(begin, finish), _unfinished(launched)
    # Work that is awaited through a gap of the recording was not seen to end.
    is_cut |= crosses_gap(host, begin, finish)
    return Intervals(begin, finish, True, is_cut, cut, drained_ps)


def _drained_until(host: Host, markers: Markers, asked: _AskedWork) -> int:
    """Until when the first step waits for work from before the recording; else its start.

    A step that begins so pays for the one before. If the thread did work of its own before that
    wait, the step is left as it is.
    """
    begin, end = int(markers.start_ps[0]), int(markers.end_ps[0])
    if not begin < asked.before_ps < end or markers.thread < 0:
        return begin
    line, events = host.space.lines[markers.thread], host.space.events
    waits = waiting_names(host)[events.metadata[line.begin : line.end]]
    rows = line.begin + np.flatnonzero(waits)
    start = events.start_ps[rows]
    until = start + host.space.length_ps[rows]
    first = (start >= begin) & (start - begin <= _HEAD_FRAC * (until - start))
    first &= (start < asked.before_ps) & (until + _CLOCK_SLACK_PS >= asked.before_ps)
    # The step has none of that work, though the device's clock be a little late.
    return min(max(int(until[first].max()), asked.before_ps), end) if first.any() else begin


def _unfinished(launched: Bool) -> Bool:
    """Steps at the end that launched nothing, and the one before, whose work went on into them.

    A loop runs ahead of what it asks for, and the recording ends in the middle.
    """
    with_work = np.flatnonzero(launched)
    cut = np.zeros(len(launched), dtype=np.bool_)
    if len(with_work) and with_work[-1] < len(launched) - 1:
        cut[with_work[-1] :] = True
    return cut


@dataclass(frozen=True, eq=False, slots=True)
class _AskedWork:
    """Work that a thread asked for and others did.

    Attributes:
        asked_ps: When it was asked for.
        start_ps, end_ps: When it was done.
        first_ps: When the first work of all that was recorded began, asked for or not.
        before_ps: When the last of the work ended that was asked for before the recording.
    """

    asked_ps: I64
    start_ps: I64
    end_ps: I64
    first_ps: int
    before_ps: int = _NEVER


def _together(*found: _AskedWork | None) -> _AskedWork | None:
    some = [one for one in found if one is not None and len(one.asked_ps)]
    if not some:
        return None
    return _AskedWork(
        np.concatenate([one.asked_ps for one in some]),
        np.concatenate([one.start_ps for one in some]),
        np.concatenate([one.end_ps for one in some]),
        min(one.first_ps for one in some),
        max(one.before_ps for one in some),
    )


def _launched_work(host: Host) -> _AskedWork | None:
    """The device events whose launches are recorded; None when none is."""
    found = device_events(host)
    if len(found) == 0:
        return None
    asking = launch_ids(host)
    if len(asking.rows) == 0:
        return None
    order = np.argsort(asking.values, kind="stable")
    ids, wanted = asking.values[order], found.correlation
    place = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    has = (ids[place] == wanted) & (found.correlation >= 0)
    asked_ps = host.space.events.start_ps[asking.rows[order[place[has]]]]
    works = ~found.is_container
    first = int(found.start_ps[works].min(initial=_EVER))
    before = works & ~has & (found.start_ps < found.start_ps[has].min(initial=_EVER))
    last = int(found.end_ps[before].max(initial=_NEVER))
    return _AskedWork(asked_ps, found.start_ps[has], found.end_ps[has], first, last)


def _called_runs(host: Host) -> _AskedWork | None:
    """The runs of programs whose calls are recorded; None when none is."""
    runs = program_runs(host)
    if len(runs) == 0:
        return None
    found = []
    code = {name: index for index, name in enumerate(runs.names)}
    for one in calls.function_calls(host):
        if one.kind == "call" and one.name in code:
            own = runs.name == code[one.name]
            found.append(_paired(one.start_ps, runs.start_ps[own], runs.end_ps[own]))
    if "" in code:
        # The runtime does not say what it executes: it executes in the order of the calls.
        found.append(_paired(calls.program_launches(host), runs.start_ps, runs.end_ps))
    return _together(*found)


def _paired(called: I64, began: I64, ended: I64) -> _AskedWork | None:
    """Calls and their runs, in order; runs of calls before the recording left out."""
    # Runs whose calls were not recorded come first: no run begins before its call.
    for skip in range(min(len(began), _MOST_SKIPPED)):
        count = min(len(called), len(began) - skip)
        runs = slice(skip, skip + count)
        if (began[runs] >= called[:count]).all():
            last = int(ended[:skip].max(initial=_NEVER))
            return _AskedWork(called[:count], began[runs], ended[runs], int(began.min()), last)
    return None


@dataclass(frozen=True, eq=False, slots=True)
class _WorkOfSteps:
    """The work asked for from inside each step.

    Attributes:
        asked_ps: When the first of it is asked for; after all times where there is none.
        begin_ps: When the first of it begins; the same.
        end_ps: When the last of it ends; before all times where there is none.
        total_ps: Σ of its durations.
        after_ps: Σ of what was done of it after the step's span.
    """

    asked_ps: I64
    begin_ps: I64
    end_ps: I64
    total_ps: I64
    after_ps: I64


def _work_of_steps(markers: Markers, asked: _AskedWork) -> _WorkOfSteps:
    step = np.searchsorted(markers.start_ps, asked.asked_ps, side="right") - 1
    inside = (step >= 0) & (asked.asked_ps < markers.end_ps[np.maximum(step, 0)])
    step, begin, finish = step[inside], asked.start_ps[inside], asked.end_ps[inside]
    last = np.full(len(markers), _NEVER)
    np.maximum.at(last, step, finish)
    asks, first = np.full((2, len(markers)), _EVER)
    np.minimum.at(asks, step, asked.asked_ps[inside])
    np.minimum.at(first, step, begin)
    after = np.maximum(finish - np.maximum(begin, markers.end_ps[step]), 0)
    return _WorkOfSteps(
        asked_ps=asks,
        begin_ps=first,
        end_ps=last,
        total_ps=sum_by_key(step, finish - begin, len(markers)),
        after_ps=sum_by_key(step, after, len(markers)),
    )
