"""The call on the host that launched each device event: when, and on which thread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.columns.space import I64
from stepscope.tables.core.planes import PlaneKind, planes
from stepscope.tables.core.processes import correlation_ids
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.device.events import device_events


@dataclass(frozen=True, eq=False, slots=True)
class Launched:
    """One row per event of ``device_events``.

    Attributes:
        call: Event row of the call, -1 where none was recorded.
        start_ps: When the call began; 0 where there is none.
        thread: ``Line.id`` of its thread, -1 where there is none.
    """

    call: I64
    start_ps: I64
    thread: I64


@derived
def launched(host: Host) -> Launched:
    """The launches of a host's device events, joined by correlation."""
    space, stats = host.space, correlation_ids(host)
    correlation = device_events(host).correlation
    kinds = planes(host).plane_kind
    of_host = np.asarray([kinds[line.plane] is PlaneKind.HOST for line in space.lines] or [False])
    line = space.lines_of(stats.rows)
    rows, ids, line = (column[of_host[line]] for column in (stats.rows, stats.values, line))
    order = np.argsort(ids, kind="stable")
    at = np.searchsorted(ids[order], correlation)
    has = (at < len(order)) & (correlation >= 0)
    has[has] = ids[order][at[has]] == correlation[has]
    call, start, thread = (np.full(len(correlation), value, np.int64) for value in (-1, 0, -1))
    thread_of_line = np.asarray([one.id for one in space.lines] or [0], np.int64)
    chosen = order[at[has]]
    call[has] = rows[chosen]
    start[has] = space.events.start_ps[rows[chosen]]
    thread[has] = thread_of_line[line[chosen]]
    return Launched(call, start, thread)
