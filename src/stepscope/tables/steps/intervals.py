"""From marks to intervals: where the work of a step ends, when others do it later than it is asked.

Devices, and the pools on which JAX runs programs on a CPU, work behind the thread that asks for
it (asynchronous dispatch). Then step *i* lasts from the end of step *i-1*'s work to the end of
its own, where "own" means asked for from inside its span.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.columns import median
from stepscope.columns.space import I64, Bool
from stepscope.tables.core.planes import PlaneKind, planes
from stepscope.tables.core.processes import correlation_ids
from stepscope.tables.core.profile import Host
from stepscope.tables.core.recording_gaps import crosses_gap
from stepscope.tables.device.events import device_events
from stepscope.tables.steps import calls
from stepscope.tables.steps.found import Markers
from stepscope.tables.steps.program_runs import program_runs

# Work may end this much after the step's span, as a share of it, and still count as synchronous.
_SYNC_SLACK = 0.02
# Runs of calls made before the recording began.
_MOST_SKIPPED = 256
_NEVER = np.iinfo(np.int64).min


@dataclass(frozen=True, eq=False, slots=True)
class Intervals:
    """When each step was worked on.

    Attributes:
        start_ps, end_ps: Disjoint, ascending.
        runs_behind: Whether what the steps ask for is done after they have asked.
        is_cut: Steps that a gap of the recording cut off.
        is_unfinished: Steps whose work, asked for within the recording, is done after its end.
    """

    start_ps: I64
    end_ps: I64
    runs_behind: bool
    is_cut: Bool
    is_unfinished: Bool


def step_intervals(host: Host, markers: Markers) -> Intervals:
    """The interval of each step."""
    start, end = markers.start_ps, markers.end_ps
    following = np.concatenate([start[1:], end[-1:]])
    is_cut = crosses_gap(host, start, np.maximum(following, end))
    finished = np.zeros(len(markers), dtype=np.bool_)
    own_end = None
    if markers.line >= 0 and not markers.is_window:
        own_end = _later(_launched_until(host, markers), _run_until(host, markers))
    if own_end is None:
        return Intervals(start, end, False, is_cut, finished)
    launched = own_end > _NEVER
    own_end = np.where(launched, own_end, markers.mark_end_ps)
    late = own_end - end
    slack = _SYNC_SLACK * np.maximum(end - start, 1)
    if median(late - slack) <= 0:
        return Intervals(start, end, False, is_cut, finished)
    finish = np.maximum.accumulate(np.maximum(own_end, markers.mark_end_ps))
    before = np.concatenate([[_NEVER], finish[:-1]])
    begin = np.maximum(start, before)
    if markers.is_start_to_start:
        # Time between the marks belongs to the loop, unless nothing was recorded in it.
        joins = np.concatenate([[False], (end[:-1] >= start[1:]) & ~is_cut[:-1]])
        begin = np.where(joins, np.minimum(before, begin), begin)
    # Before the first step nothing is known of the devices' backlog: it begins with its work.
    return Intervals(np.minimum(begin, finish), finish, True, is_cut, _unfinished(launched))


def _unfinished(launched: Bool) -> Bool:
    """Steps at the end that launched nothing, and the one before, whose work went on into them.

    A loop runs ahead of what it asks for, and the recording ends in the middle.
    """
    with_work = np.flatnonzero(launched)
    cut = np.zeros(len(launched), dtype=np.bool_)
    if len(with_work) and with_work[-1] < len(launched) - 1:
        cut[with_work[-1] :] = True
    return cut


def _later(one: I64 | None, other: I64 | None) -> I64 | None:
    if one is None or other is None:
        return other if one is None else one
    return np.maximum(one, other)


def _launched_until(host: Host, markers: Markers) -> I64 | None:
    """Per step, when the last device event launched from inside its span ends.

    Before all times where a step launched nothing; None when no launch is recorded.
    """
    found = device_events(host)
    stats = correlation_ids(host)
    if len(found) == 0 or len(stats.rows) == 0:
        return None
    is_host = np.asarray([kind is PlaneKind.HOST for kind in planes(host).plane_kind] or [False])
    line_is_host = np.asarray([is_host[line.plane] for line in host.space.lines] or [False])
    of_host = line_is_host[host.space.lines_of(stats.rows)]
    rows = stats.rows[of_host]
    if len(rows) == 0:
        return None
    ids, wanted = stats.values[of_host], found.correlation
    at = host.space.events.start_ps[rows]
    order = np.argsort(ids, kind="stable")
    ids, at = ids[order], at[order]
    place = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    has = (ids[place] == wanted) & (found.correlation >= 0)
    return _until(markers, at[place[has]], found.end_ps[has]) if has.any() else None


def _run_until(host: Host, markers: Markers) -> I64 | None:
    """Per step, when the last run of a program called from inside its span ends; as above."""
    runs = program_runs(host)
    if len(runs) == 0:
        return None
    launches, ends = [], []
    code = {name: index for index, name in enumerate(runs.names)}
    for one in calls.function_calls(host):
        if one.kind == "call" and one.name in code:
            own = runs.name == code[one.name]
            at, until = _paired(one.start_ps, runs.start_ps[own], runs.end_ps[own])
            launches.append(at)
            ends.append(until)
    if "" in code:
        # The runtime does not say what it executes: it executes in the order of the calls.
        at, until = _paired(calls.program_launches(host), runs.start_ps, runs.end_ps)
        launches.append(at)
        ends.append(until)
    if not any(len(one) for one in launches):
        return None
    return _until(markers, np.concatenate(launches), np.concatenate(ends))


def _paired(called: I64, began: I64, ended: I64) -> tuple[I64, I64]:
    """Calls and the ends of their runs, in order; runs of calls before the recording left out."""
    # Runs whose calls were not recorded come first: no run begins before its call.
    for skip in range(min(len(began), _MOST_SKIPPED)):
        count = min(len(called), len(began) - skip)
        if (began[skip : skip + count] >= called[:count]).all():
            return called[:count], ended[skip : skip + count]
    return called[:0], ended[:0]


def _until(markers: Markers, launch: I64, finish: I64) -> I64:
    """Ends of the work launched from inside each step; before all times where there is none."""
    step = np.searchsorted(markers.start_ps, launch, side="right") - 1
    inside = (step >= 0) & (launch < markers.end_ps[np.maximum(step, 0)])
    last = np.full(len(markers), _NEVER)
    np.maximum.at(last, step[inside], finish[inside])
    return last
