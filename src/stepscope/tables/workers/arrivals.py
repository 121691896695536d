"""In which order the workers arrive at their collectives, and whom the others wait for."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import distinct
from stepscope.columns.space import I64, Bool
from stepscope.tables.collectives.operations import CollectiveEvents
from stepscope.tables.workers.steps import WorkerSteps

F64 = NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class Arrivals:
    """The matched collectives of all steps: columns by event or by group (by arrival within one).

    Attributes:
        event: Rows of matched events in ``CollectiveEvents``.
        worker: Worker of each event.
        group: Group of each event.
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
    first_ps: I64
    last_ps: I64
    end_ps: I64
    last_worker: I64
    lead_ps: I64
    host_lead_ps: I64
    members: I64
    counted: Bool


def arrivals_of(found: WorkerSteps, meeting: CollectiveEvents) -> Arrivals:
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
    return Arrivals(
        event=event,
        worker=worker[event],
        group=group,
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


def host_waits_caused(found: WorkerSteps, arrivals: Arrivals) -> dict[int, float]:
    """By index of the host: ms per counted step that its last device makes the other hosts wait.

    The devices of a host are late together when the host is: then none of them leads the others.
    """
    host_of = np.asarray([one.host for one in found.workers], dtype=np.int64)
    caused = np.bincount(
        host_of[arrivals.last_worker],
        weights=arrivals.host_lead_ps * arrivals.counted.astype(np.float64),
        minlength=int(host_of.max()) + 1,
    )
    per_step = caused / 1e9 / max(int(found.counted.sum()), 1)
    return {int(host): float(per_step[host]) for host in distinct(host_of)}


def waits_caused(found: WorkerSteps, arrivals: Arrivals) -> tuple[F64, F64]:
    """By worker: ms per step it makes the others wait, and share of its collectives it ends.

    Both over the counted steps; NaN for a worker that meets no other in them.
    """
    size, counted = len(found.workers), arrivals.counted
    ending = arrivals.last_worker[counted]
    lead = arrivals.lead_ps[counted].astype(np.float64)
    caused = np.bincount(ending, weights=lead, minlength=size)
    last = np.bincount(ending, minlength=size)
    taken = np.bincount(arrivals.worker[np.repeat(counted, arrivals.members)], minlength=size)
    share = np.divide(last, taken, out=np.full(size, nan), where=taken > 0)
    per_step = caused / 1e9 / max(int(found.counted.sum()), 1)
    return np.where(taken > 0, per_step, nan), share
