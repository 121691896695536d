"""The call on the host that launched each device event: when, and on which thread."""

from __future__ import annotations

import numpy as np

from stepscope.columns.space import I64, Bool
from stepscope.records import dataclass
from stepscope.tables.core.presence import entries_shaped
from stepscope.tables.core.processes import launch_ids
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
    space, calls = host.space, launch_ids(host)
    correlation = device_events(host).correlation
    order = np.argsort(calls.values, kind="stable")
    ids = calls.values[order]
    at = np.searchsorted(ids, correlation)
    has = (at < len(ids)) & (correlation >= 0)
    has[has] = ids[at[has]] == correlation[has]
    call, start, thread = (np.full(len(correlation), value, np.int64) for value in (-1, 0, -1))
    thread_of_line = np.asarray([one.id for one in space.lines] or [0], np.int64)
    rows = calls.rows[order[at[has]]]
    call[has] = rows
    start[has] = space.events.start_ps[rows]
    thread[has] = thread_of_line[space.lines_of(rows)]
    return Launched(call, start, thread)


def is_graph_launch(name: str) -> bool:
    """Whether a call launches a CUDA or HIP graph."""
    return "graphlaunch" in name.lower()


def from_graphs(host: Host) -> Bool:
    """Which events of ``device_events`` a graph launched."""
    call, metadata = launched(host).call, host.space.events.metadata
    launches = np.append(entries_shaped(host, is_graph_launch), False)
    is_replayed: Bool = (call >= 0) & launches[metadata[np.maximum(call, 0)]]
    return is_replayed
