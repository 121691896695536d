"""Replays of CUDA and HIP graphs: one call that launches hundreds of kernels.

The kernels of a replay have the call's correlation and nothing else: no op, on ROCm no grid. A
graph is known by what it runs: replays with the same kernels in the same order are of one graph.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.columns.space import I64
from stepscope.records import dataclass
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.time_spans import union_by_group
from stepscope.tables.device.events import device_events, rows_of_device
from stepscope.tables.torch.launches import from_graphs, launched

_MIX: Final = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False, slots=True)
class Replays:
    """One row per replay, in order of their begin on the device.

    Attributes:
        graph: Which graph, counted by first replay.
        call: Event row of the call that launched it.
        device: Row in ``Space.planes``.
        kernels: What ran in it.
        launch_ps: Length of the call on the host.
        start_ps, end_ps: On the device.
        busy_ps: Time in which anything of it ran.
        gap_ps: From the end of what ran before on the device, in a replay or not, to its begin;
            -1 for the device's first work.
        first_kernel: Row in ``Space.event_metadata`` of what runs first.
    """

    graph: I64
    call: I64
    device: I64
    kernels: I64
    launch_ps: I64
    start_ps: I64
    end_ps: I64
    busy_ps: I64
    gap_ps: I64
    first_kernel: I64

    def __len__(self) -> int:
        return len(self.graph)


@derived
def replays(host: Host) -> Replays:
    """The replays of a host."""
    events, call = device_events(host), launched(host).call
    mine, metadata = np.flatnonzero(from_graphs(host)), host.space.events.metadata
    # By call and device, in order of begin: the parts of each replay stand together.
    keys = (events.start_ps[mine], events.device[mine], call[mine])
    mine = mine[np.lexsort(keys)]
    pair = np.stack([call[mine], events.device[mine].astype(np.int64)])
    begin = np.flatnonzero(np.append(True, (pair[:, 1:] != pair[:, :-1]).any(axis=0)))
    begin = begin[: len(mine)]
    if not len(mine):
        return Replays(*(np.zeros(0, np.int64) for _ in range(10)))
    start, end = events.start_ps[mine], events.end_ps[mine]
    counts = np.diff(np.append(begin, len(mine)))
    first, last = start[begin], np.maximum.reduceat(end, begin)
    kernel = metadata[events.rows[mine]].astype(np.uint64)
    place = (np.arange(len(mine)) - np.repeat(begin, counts)).astype(np.uint64)
    identity = np.add.reduceat((kernel + np.uint64(1)) * (place * np.uint64(2) + _MIX), begin)
    order = np.argsort(first, kind="stable")
    _, seen, graph = np.unique(identity[order], return_index=True, return_inverse=True)
    rank = np.empty(len(seen), np.int64)
    rank[np.argsort(seen)] = np.arange(len(seen))
    device = events.device[mine[begin]].astype(np.int64)
    group = np.repeat(np.arange(len(begin)), counts)
    return Replays(
        graph=rank[graph.ravel()],
        call=call[mine[begin]][order],
        device=device[order],
        kernels=counts[order],
        launch_ps=host.space.length_ps[call[mine[begin]]][order],
        start_ps=first[order],
        end_ps=last[order],
        busy_ps=union_by_group(group, start, end, len(begin))[order],
        gap_ps=_gaps(host, device[order], first[order]),
        first_kernel=metadata[events.rows[mine[begin]]].astype(np.int64)[order],
    )


def replayed_events(host: Host, graph: int) -> I64:
    """Rows of ``device_events`` of the first replay of a graph, in order of begin."""
    events, found = device_events(host), replays(host)
    first = int(np.flatnonzero(found.graph == graph)[0])
    call = launched(host).call == found.call[first]
    mine = np.flatnonzero(call & (events.device == found.device[first]))
    return mine[np.argsort(events.start_ps[mine], kind="stable")]


def _gaps(host: Host, device: I64, first: I64) -> I64:
    """From the end of what ran before on the device to each begin; -1 without, 0 if it overlaps."""
    events = device_events(host)
    found = np.full(len(first), -1, np.int64)
    for number in np.unique(device).tolist():
        own = rows_of_device(host, number)
        own = own[np.argsort(events.start_ps[own], kind="stable")]
        until = np.maximum.accumulate(events.end_ps[own])
        mine = np.flatnonzero(device == number)
        at = np.searchsorted(events.start_ps[own], first[mine], side="left") - 1
        has = at >= 0
        found[mine[has]] = np.maximum(first[mine[has]] - until[at[has]], 0)
    return found
