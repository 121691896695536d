"""Exposed time: which event each moment of a step belongs to, and to it alone.

``steps`` gives every moment to one kind of work; this goes one level down, to the event. At any
moment the kind of work that ranks highest owns the time, and of the events of that kind:

* on one thread or stream the innermost does (what it encloses of its own kind is taken off);
* threads and streams that do the same kind of work at once share it in equal parts;
* on the host an op comes before the runtime that calls it, waits for it or carries a part of it.

So what runs hidden behind something of higher rank is exposed for no time, and exposed times,
together with the time in which nothing ran, sum to the step. That makes them the right measure
of what a step would lose with an event, and of what a difference between two runs is made of.

With one counter of active threads per kind, W(t) = ∫ [the kind owns t] / active(t) dt; an event
has W(end) − W(begin), less that of the events of its kind it encloses: no loop over events.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import distinct, nest
from stepscope.columns.space import I32, I64, U8, Bool
from stepscope.records import dataclass
from stepscope.tables.collectives.operations import collectives
from stepscope.tables.core.profile import Host, Profile, derived
from stepscope.tables.device.events import device_events
from stepscope.tables.host.events import Work
from stepscope.tables.host.ops import host_ops
from stepscope.tables.steps.attribution import step_spans
from stepscope.tables.steps.session import AlignedSteps, aligned_steps

F64 = NDArray[np.float64]

# Twice the work's rank leaves room just below each: for the wait in a collective below its
# transfer, and for the runtime below the ops of a host.
WAIT: Final = 2 * int(Work.COLLECTIVE) - 1
_RUNTIME: Final = 2 * int(Work.HOST_COMPUTE) - 1
ALL_DEVICES: Final = -1
# Ops that only call others, which may run on other threads.
_CALLS: Final = frozenset(
    {"PartitionedCall", "StatefulPartitionedCall", "While", "StatelessWhile", "If", "StatelessIf",
     "Case", "StatelessCase", "pjit", "while", "cond", "closed_call", "core_call"}
)  # fmt: skip


@dataclass(frozen=True, eq=False, slots=True)
class Exposed:
    """Exposed time of one host, over the kept steps; one row per event that has any, or might.

    Attributes:
        host: Index into ``Profile.hosts``.
        start_ps, end_ps: The kept steps on this host.
        event: Event row.
        device_row: Row in ``DeviceEvents``; -1 for events of host threads.
        work: ``Work`` of each.
        is_wait: Whether it is the part of a collective in which the device waited for the others.
        step: The kept step it is counted in (the first it reaches).
        duration_ps: Its length, hidden or not.
        exposed_ps: Its exposed time.
        nothing_ps: Per kept step, the time in which nothing ran.
    """

    host: int
    start_ps: I64
    end_ps: I64
    event: I64
    device_row: I64
    work: U8
    is_wait: Bool
    step: I64
    duration_ps: I64
    exposed_ps: F64
    nothing_ps: F64


@derived
def exposed(profile: Profile) -> tuple[Exposed, ...]:
    """The exposed time of every host that takes part in the steps; empty without steps."""
    aligned = aligned_steps(profile)
    if not aligned:
        return ()
    return tuple(_host_exposed(profile, one, ALL_DEVICES) for one in aligned)


def exposed_of(profile: Profile, host: int, device: int) -> Exposed:
    """The exposed time of a host as one of its devices sees it.

    Args:
        profile: The session.
        host: Index into ``Profile.hosts``; the host must take part in the steps.
        device: Row in its ``Space.planes``; ``ALL_DEVICES`` for all together.
    """
    if device == ALL_DEVICES:
        return next(one for one in exposed(profile) if one.host == host)
    one = next(one for one in aligned_steps(profile) if one.host == host)
    return _host_exposed(profile, one, device)


@dataclass(frozen=True, eq=False, slots=True)
class _Spans:
    """Spans with their rank: twice the work's, or one less (``WAIT``, ``_RUNTIME``)."""

    start: I64
    end: I64
    rank: I64
    event: I64
    device_row: I64

    def chosen(self, mask: Bool) -> _Spans:
        return _Spans(
            self.start[mask],
            self.end[mask],
            self.rank[mask],
            self.event[mask],
            self.device_row[mask],
        )


def _host_exposed(profile: Profile, one: AlignedSteps, device: int) -> Exposed:
    counts = np.all([each.steps.kept[each.rows] for each in aligned_steps(profile)], axis=0)
    kept = one.rows[counts]
    begin, end = one.steps.start_ps[kept], one.steps.end_ps[kept]
    spans = _spans(profile, one)
    if device != ALL_DEVICES:
        of_device = device_events(profile.hosts[one.host]).device
        elsewhere = spans.device_row >= 0
        elsewhere[elsewhere] = of_device[spans.device_row[elsewhere]] != device
        spans = spans.chosen(~elsewhere)
    if len(kept):
        # Between kept steps lie those that are left out: what is in them alone is no run.
        first = np.searchsorted(end, spans.start, side="right")
        reaches = spans.end > np.append(begin, np.iinfo(np.int64).max)[first]
        spans = spans.chosen(reaches & (spans.end > spans.start))
    else:
        spans = spans.chosen(np.zeros(len(spans.start), dtype=bool))
    line = profile.hosts[one.host].space.event_line[spans.event]
    share, nothing = _shares(spans, line, begin, end)
    step = np.searchsorted(end, spans.start, side="right")
    return Exposed(
        host=one.host,
        start_ps=begin,
        end_ps=end,
        event=spans.event,
        device_row=spans.device_row,
        work=((spans.rank + 1) // 2).astype(np.uint8),
        is_wait=spans.rank == WAIT,
        step=np.minimum(step, max(len(end) - 1, 0)).astype(np.int64),
        duration_ps=spans.end - spans.start,
        exposed_ps=share,
        nothing_ps=nothing,
    )


def _spans(profile: Profile, one: AlignedSteps) -> _Spans:
    """What may explain the host's steps; collectives cut in two where their group is known."""
    host = profile.hosts[one.host]
    found = step_spans(host)
    count = len(found.device_row)
    device_row = np.full(len(found.event), -1, dtype=np.int64)
    device_row[:count] = found.device_row
    rank = 2 * found.work.astype(np.int64)
    own = count + np.flatnonzero(found.work[count:] == Work.HOST_COMPUTE)
    rank[own[~_is_op(host)[found.event[own]]]] = _RUNTIME
    spans = _Spans(found.start_ps, found.end_ps, rank, found.event, device_row)
    meeting = collectives(profile)
    mine = (meeting.host == one.host) & (meeting.wait_ps > 0)
    if not mine.any():
        return spans
    place = np.searchsorted(found.device_row, meeting.event[mine])
    waited = spans.start[place] + meeting.wait_ps[mine]
    cut = spans.start.copy()
    cut[place] = waited
    return _Spans(
        start=np.concatenate([cut, spans.start[place]]),
        end=np.concatenate([spans.end, waited]),
        rank=np.concatenate([spans.rank, np.full(len(place), WAIT, dtype=np.int64)]),
        event=np.concatenate([spans.event, spans.event[place]]),
        device_row=np.concatenate([device_row, device_row[place]]),
    )


def _is_op(host: Host) -> Bool:
    """Per event of the host, whether it is an op that computes, and none that calls others."""
    found = host_ops(host)
    computes = np.asarray([op.type not in _CALLS for op in found.ops], dtype=bool)
    mask = np.zeros(len(host.space.events), dtype=bool)
    mask[found.rows[computes[found.op] & found.is_execution]] = True
    return mask


def _shares(spans: _Spans, line: I32, begin: I64, end: I64) -> tuple[F64, F64]:
    """Exposed time per span, and per step the time in which no span was active."""
    count, steps = len(spans.start), len(begin)
    points = np.concatenate([spans.start, spans.end, begin, end])
    order = np.argsort(points)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    inside = np.zeros(len(points), dtype=np.int8)
    inside[2 * count : 2 * count + steps] = 1
    inside[2 * count + steps :] = -1
    # Time from each point to the next, as far as it lies in a step.
    length = np.diff(points[order], append=points[order[-1:]]).astype(np.float64)
    length *= np.cumsum(inside[order], dtype=np.int32)
    parent = _parents(spans, line)
    share = np.zeros(count)
    free = np.ones(len(points), dtype=bool)
    for rank in sorted(distinct(spans.rank[spans.rank > 0]).tolist(), reverse=True):
        own = np.flatnonzero(spans.rank == rank)
        roots = own[parent[own] < 0]
        change = np.zeros(len(points), dtype=np.int8)
        change[roots] = 1
        change[count + roots] = -1
        active = np.cumsum(change[order], dtype=np.int32)
        runs = active > 0
        owned = runs & free
        until = _cumulated(np.divide(length, active, where=owned, out=np.zeros(len(length))))
        share[own] = until[place[count + own]] - until[place[own]]
        free &= ~runs
    nested = np.flatnonzero(parent >= 0)
    exclusive = share - np.bincount(parent[nested], weights=share[nested], minlength=count)
    until = _cumulated(np.where(free, length, 0.0))
    return exclusive, until[place[2 * count + steps :]] - until[
        place[2 * count : 2 * count + steps]
    ]


def _cumulated(value: F64) -> F64:
    """Σ of everything before each place."""
    total = np.zeros(len(value) + 1)
    np.cumsum(value, out=total[1:])
    return total


def _parents(spans: _Spans, line: I32) -> I64:
    """Of each span the innermost one of its rank that encloses it on its line; -1 without."""
    count = len(spans.start)
    parent = np.full(count, -1, dtype=np.int64)
    if count == 0:
        return parent
    key = line.astype(np.int64) * (2 * len(Work) * 16) + spans.rank
    order = np.argsort(key, kind="stable")
    cuts = np.flatnonzero(np.diff(key[order], prepend=-1))
    start = spans.start[order]
    found = nest(start, spans.end[order] - start, np.append(cuts, count).astype(np.int64)).parent
    has = found >= 0
    parent[order[has]] = order[found[has]]
    return parent
