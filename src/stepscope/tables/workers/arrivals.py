"""In which order the workers arrive at their collectives, and whom the others wait for."""

from __future__ import annotations

from math import nan

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import distinct
from stepscope.columns.space import I64, Bool
from stepscope.records import dataclass
from stepscope.tables.collectives.operations import CollectiveEvents
from stepscope.tables.core.profile import Profile
from stepscope.tables.core.time_spans import covered
from stepscope.tables.device.events import device_events
from stepscope.tables.workers.steps import WorkerSteps

F64 = NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class Arrivals:
    """The matched collectives of all steps: columns by event or by group (by arrival within one).

    Attributes:
        event: Rows of matched events in ``CollectiveEvents``.
        worker: Worker of each event.
        group: Group of each event.
        code: Place of each event's group among these.
        own_start_ps, own_end_ps: By event, on its host's own clock.
        first_ps, last_ps, end_ps: By group: arrivals of the first and last, and the common end.
        last_worker: By group.
        lead_ps: By group: the last arrival after the last but one.
        host_lead_ps: By group: the last arrival after the last of another host; 0 where all are
            of one host.
        members: By group.
        counted: By group: whether it is one of a step that means are over.
    """

    event: I64
    worker: I64
    group: I64
    code: I64
    own_start_ps: I64
    own_end_ps: I64
    first_ps: I64
    last_ps: I64
    end_ps: I64
    last_worker: I64
    lead_ps: I64
    host_lead_ps: I64
    members: I64
    counted: Bool


def arrivals_of(profile: Profile, found: WorkerSteps, meeting: CollectiveEvents) -> Arrivals:
    """Put the matched collectives in order of arrival; those outside of the steps are left out."""
    index = {(one.host, one.device): place for place, one in enumerate(found.workers)}
    pairs, code = np.unique(np.stack([meeting.host, meeting.device]), axis=1, return_inverse=True)
    lut = np.asarray([index.get((h, d), -1) for h, d in pairs.T.tolist()] or [-1])
    worker = lut[code.ravel()] if len(meeting) else np.zeros(0, dtype=np.int64)
    # The last of the appended belongs to group -1: no step.
    step = np.append(meeting.step, -1)[meeting.group]
    event = np.flatnonzero((meeting.group >= 0) & (worker >= 0) & (step >= 0))
    # By group, then arrival: the last row of a group is the last to arrive.
    order = np.lexsort((meeting.arrival_ps[event], meeting.group[event]))
    event = event[order]
    group, start, end = meeting.group[event], meeting.arrival_ps[event], meeting.end_ps[event]
    begin = np.flatnonzero(np.diff(group, prepend=-1))
    last = np.append(begin[1:], len(group)) - 1 if len(begin) else begin
    before = np.maximum(last - 1, begin)
    host_of = np.asarray([one.host for one in found.workers] or [0], dtype=np.int64)[worker[event]]
    own = _own_clock(profile, meeting, event)
    return Arrivals(
        event=event,
        worker=worker[event],
        group=group,
        code=np.repeat(np.arange(len(begin)), last - begin + 1),
        own_start_ps=own[0],
        own_end_ps=own[1],
        first_ps=start[begin],
        last_ps=start[last],
        end_ps=np.maximum.reduceat(end, begin) if len(begin) else end,
        last_worker=worker[event][last],
        lead_ps=start[last] - start[before],
        host_lead_ps=_host_lead(start, host_of, begin, last),
        members=last - begin + 1,
        counted=found.counted[step[event][begin]],
    )


def _host_lead(start: I64, host: I64, begin: I64, last: I64) -> I64:
    """By group: how long after all other hosts the last host arrives.

    Events lie group after group, by arrival within one; ``begin`` and ``last`` are the places of
    each group's first and last.
    """
    code = np.repeat(np.arange(len(begin)), last - begin + 1)
    other = host != host[last][code] if len(begin) else np.zeros(0, dtype=bool)
    latest = np.full(len(begin), np.iinfo(np.int64).min)
    np.maximum.at(latest, code[other], start[other])
    lead: I64 = np.where(latest > np.iinfo(np.int64).min, start[last] - latest, 0)
    return lead


def _own_clock(profile: Profile, meeting: CollectiveEvents, event: I64) -> tuple[I64, I64]:
    """When these events begin and end on the clocks of their hosts."""
    start, end = np.zeros((2, len(event)), dtype=np.int64)
    for host in distinct(meeting.host[event]).tolist():
        mine = np.flatnonzero(meeting.host[event] == host)
        found, rows = device_events(profile.hosts[host]), meeting.event[event[mine]]
        start[mine], end[mine] = found.start_ps[rows], found.end_ps[rows]
    return start, end


def host_waits_caused(found: WorkerSteps, arrivals: Arrivals) -> dict[int, float]:
    """By index of the host: ms per counted step that its last device makes the other hosts wait.

    The devices of a host are late together when the host is: then none of them leads the others.
    """
    host_of = np.asarray([one.host for one in found.workers], dtype=np.int64)
    last_host = host_of[arrivals.last_worker]
    caused = _stood_for(found, arrivals, host_of, last_host, arrivals.host_lead_ps)
    return {int(host): float(caused[host]) for host in distinct(host_of)}


def waits_caused(found: WorkerSteps, arrivals: Arrivals) -> tuple[F64, F64]:
    """By worker: ms per step it makes the others wait, and share of its collectives it ends.

    Both over the counted steps; NaN for a worker that meets no other in them.
    """
    size, counted = len(found.workers), arrivals.counted
    ending = arrivals.last_worker[counted]
    last = np.bincount(ending, minlength=size)
    taken = np.bincount(arrivals.worker[np.repeat(counted, arrivals.members)], minlength=size)
    share = np.divide(last, taken, out=np.full(size, nan), where=taken > 0)
    each = np.arange(size)
    per_step = _stood_for(found, arrivals, each, arrivals.last_worker, arrivals.lead_ps)
    return np.where(taken > 0, per_step, nan), share


def _stood_for(
    found: WorkerSteps, arrivals: Arrivals, part_of: I64, last_part: I64, lead_ps: I64
) -> F64:
    """What the others stand still for each part, in ms per counted step: the mean of them.

    A collective would end earlier by what the part arrives after all others: that is saved as far
    as a worker does nothing else within it, and where collectives run at the same time once.

    Args:
        found: The workers.
        arrivals: Their collectives.
        part_of: By worker, what part it is of: a host, or itself.
        last_part: By group, the part that arrives last.
        lead_ps: By group, by how much.
    """
    count = int(part_of.max(initial=0)) + 1
    code = arrivals.code
    late = last_part[code]
    waits = arrivals.counted[code] & (part_of[arrivals.worker] != late)
    total = np.zeros(count)
    for worker in distinct(arrivals.worker[waits]).tolist():
        mine = np.flatnonzero(waits & (arrivals.worker == worker))
        mine = mine[np.argsort(arrivals.own_end_ps[mine], kind="stable")]
        end = arrivals.own_end_ps[mine]
        # A moment of two collectives is the first one's.
        before = np.append(np.iinfo(np.int64).min, end[:-1])
        begin = np.maximum(arrivals.own_start_ps[mine], before)
        stood_begin, stood_end = found.stood_ps[worker]
        stood = covered(stood_begin, stood_end, begin, end)
        total += np.bincount(late[mine], np.minimum(stood, lead_ps[code[mine]]), count)
    others = np.unique(arrivals.worker[waits] * count + late[waits]) % count
    mean = total / np.maximum(np.bincount(others, minlength=count), 1)
    return mean / 1e9 / max(int(found.counted.sum()), 1)


def meets_unrecorded(found: WorkerSteps, meeting: CollectiveEvents) -> Bool:
    """By worker, whether it exchanges something, and all of it with what was not recorded."""
    exchange = set(zip(meeting.host.tolist(), meeting.device.tolist(), strict=True))
    met = meeting.group >= 0
    matched = set(zip(meeting.host[met].tolist(), meeting.device[met].tolist(), strict=True))
    alone = exchange - matched
    return np.asarray([(one.host, one.device) in alone for one in found.workers], dtype=np.bool_)


def clocks_apart_ms(profile: Profile, meeting: CollectiveEvents) -> float:
    """How far apart the clocks of two hosts are at most, as their wall clocks say."""
    hosts = distinct(meeting.host)
    if not len(hosts):
        return 0.0
    origin = np.asarray([host.space.origin_ns for host in profile.hosts], dtype=np.int64)[hosts]
    ahead = (origin - origin[0]) * 1000 - meeting.shift_ps[hosts]
    return float(ahead.max() - ahead.min()) / 1e9
