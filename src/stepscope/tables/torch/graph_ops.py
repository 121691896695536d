"""Which ops the kernels of a replayed CUDA or HIP graph come from, as a run without it tells.

A replay says nothing of its kernels. PyTorch wants what a graph captures to be run once before, to
warm up: its ops count if it ran the same kernels in a row, and nothing else did for other ops.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

import numpy as np

from stepscope.columns.space import I64
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.device.events import device_events
from stepscope.tables.torch.graph_replays import replayed_events
from stepscope.tables.torch.launches import from_graphs, launched
from stepscope.tables.torch.op_calls import op_calls

NOT_SEEN: Final = "no eager run identifies them"


def ops_of_graph(host: Host, graph: int, others: Iterable[Host]) -> tuple[Sequence[str], str]:
    """The ops of one of a host's graphs, by kernel, from the first recording that knows them.

    Returns:
        They and where they are from; () and why not, where none ran the kernels, or several did.
    """
    metadata = host.space.events.metadata
    rows = device_events(host).rows[replayed_events(host, graph)]
    kernels = [host.space.event_metadata.name[entry] for entry in metadata[rows].tolist()]
    for one in chain((host,), (other for other in others if other is not host)):
        found = {ops for each in runs(one) for ops in _ops(kernels, *each)}
        if len(found) == 1:
            where = "" if one is host else f" in {one.name}"
            return found.pop(), f"a run outside of graphs{where}"
    return (), NOT_SEEN


def _ops(
    wanted: Sequence[str], kernels: Sequence[str], ops: tuple[str, ...]
) -> Iterator[tuple[str, ...]]:
    """The ops of each place at which the wanted kernels ran in a row."""
    ran = np.asarray(kernels, object)
    at = np.arange(max(len(ran) - len(wanted) + 1, 0))
    for number, name in enumerate(wanted):
        at = at[ran[at + number] == name]
    yield from (ops[begin : begin + len(wanted)] for begin in at.tolist())


@derived
def runs(host: Host) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """The kernels that ran outside of graphs, and the op of each ("" none), thread by thread."""
    calls, events, how = op_calls(host), device_events(host), launched(host)
    metadata, entries = host.space.event_metadata, host.space.events.metadata
    # As PyTorch writes ops.
    shown = [
        metadata.display_name[entry] or metadata.name[entry]
        for entry in entries[calls.rows].tolist()
    ]
    alone = np.flatnonzero((how.call >= 0) & ~from_graphs(host))
    found = []
    for thread in np.unique(how.thread[alone]).tolist():
        mine = alone[how.thread[alone] == thread]
        mine = mine[np.lexsort((events.start_ps[mine], how.start_ps[mine]))]
        ops = [shown[at] if at >= 0 else "" for at in calls.of_event[mine].tolist()]
        kernels = [metadata.name[entry] for entry in entries[events.rows[mine]].tolist()]
        found += [(tuple(kernels), tuple(ops))] if any(ops) else []
    return tuple(found)


def op_counts(ops: Sequence[str], device_ps: I64) -> Iterator[tuple[str, int, int]]:
    """Each op of a graph with its kernels and their time, the longest first."""
    kernels: dict[str, list[int]] = {}
    for op, time in zip(ops, device_ps.tolist(), strict=True):
        kernels.setdefault(op, []).append(time)
    for op, times in sorted(kernels.items(), key=lambda one: (-sum(one[1]), one[0])):
        yield op, len(times), sum(times)
