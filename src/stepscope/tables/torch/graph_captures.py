"""Which ops the kernels of a replayed CUDA or HIP graph come from, as its capture tells.

A replay says nothing of its kernels. What captured the graph may: the calls that were captured, in
the recording of the capture, and before it the same function run once without a graph, as is done
to warm up. Either counts only if all of it agrees, kernel by kernel; nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np

from stepscope.columns import rows_of
from stepscope.columns.space import I64
from stepscope.schema import names
from stepscope.tables.core.presence import entries_named, entries_shaped
from stepscope.tables.core.processes import correlation_ids
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.stats import event_stats
from stepscope.tables.device.events import device_events
from stepscope.tables.torch.graph_replays import replayed_events
from stepscope.tables.torch.launches import from_graphs, launched
from stepscope.tables.torch.op_calls import op_calls, ops_around
from stepscope.tables.torch.signature import arguments

NO_CAPTURE: Final = "no capture or eager run identifies them"
_LAUNCHES: Final = re.compile(r"Launch(?!HostFunc)|Memcpy|Memset", re.IGNORECASE)
_KINDS: Final = {
    "copy": re.compile(r"memcpy|copyBuffer", re.IGNORECASE),
    "set": re.compile(r"memset|fillBuffer", re.IGNORECASE),
}


@dataclass(frozen=True, eq=False, slots=True)
class LaunchSequence:
    """What a program launched in some time, in that order.

    Attributes:
        kernels: Names of kernels, "copy" or "set"; of the call where a launch does not say more.
        ops: The op of each; "" for none.
        nodes: Number of each in a graph, -1 where it is not recorded.
    """

    kernels: tuple[str, ...]
    ops: tuple[str, ...]
    nodes: I64


def ops_of_graph(host: Host, graph: int, others: Iterable[Host]) -> tuple[Sequence[str], str]:
    """The ops of one of a host's graphs, by kernel, from the first recording that knows them.

    Returns:
        They and where they are from; () and why not, where nothing agrees, or several things do.
    """
    events, wanted = device_events(host), replayed_events(host, graph)
    kernels = _names(host, events.rows[wanted])
    nodes = event_stats(host).ints(names.GRAPH_NODE).at(events.rows[wanted], -1)
    for one in chain((host,), (other for other in others if other is not host)):
        for told, made in (("its capture", captures(one)), ("a run outside of graphs", runs(one))):
            found = {ops for each in made for ops in _ops(kernels, nodes, each)}
            if len(found) == 1:
                return found.pop(), told if one is host else f"{told} in {one.name}"
    return (), NO_CAPTURE


def _ops(kernels: Sequence[str], nodes: I64, ran: LaunchSequence) -> Iterator[tuple[str, ...]]:
    """The ops of these nodes, else of each place at which such kernels were launched in a row."""
    of_node = dict(zip(ran.nodes.tolist(), ran.ops, strict=True))
    has_nodes = (nodes >= 0).all() and len(of_node) == len(ran.ops)
    if has_nodes and of_node.keys() >= set(nodes.tolist()):
        yield tuple(of_node[one] for one in nodes.tolist())
        return
    launched_names, count = np.asarray(ran.kernels, object), len(kernels)
    at = np.arange(max(len(launched_names) - count + 1, 0))
    for number, name in enumerate(kernels):
        at = at[launched_names[at + number] == name]
    yield from (ran.ops[begin : begin + count] for begin in at.tolist())


@derived
def captures(host: Host) -> tuple[LaunchSequence, ...]:
    """What was captured on each thread, capture by capture."""
    space, ran = host.space, launched(host).call
    begins, ends = (_calls(host, one) for one in ("streambegincapture", "streamendcapture"))
    if not len(begins) or not len(ends):
        return ()
    calls = correlation_ids(host).rows
    is_launch = entries_shaped(host, lambda name: bool(_LAUNCHES.search(name)))
    calls = calls[is_launch[space.events.metadata[calls]] & ~np.isin(calls, ran[ran >= 0])]
    line_of, start = space.lines_of(calls), space.events.start_ps
    calls = calls[np.lexsort((start[calls], line_of))]
    found = []
    for line in np.unique(space.lines_of(begins)).tolist():
        mine = calls[space.lines_of(calls) == line]
        began, ended = (np.sort(start[one[space.lines_of(one) == line]]) for one in (begins, ends))
        end_at = np.searchsorted(ended, began)
        for at, until in zip(
            began[end_at < len(ended)], ended[end_at[end_at < len(ended)]], strict=True
        ):
            first, last = np.searchsorted(start[mine], (at, until))
            if last > first:
                found.append(_captured(host, space.lines[line].id, mine[first:last]))
    return tuple(found)


def _calls(host: Host, word: str) -> I64:
    return rows_of(host.space.events.metadata, entries_named(host, lambda one: word in one.lower()))


def _captured(host: Host, thread: int, calls: I64) -> LaunchSequence:
    ops = ops_around(host, thread, host.space.events.start_ps[calls])
    said = event_stats(host).texts(names.ARGUMENTS)
    given = [arguments(said.texts[code] if code >= 0 else "") for code in said.at(calls).tolist()]
    return LaunchSequence(
        # ROCm's calls name the kernel, CUDA's only say whether they copy.
        tuple(
            _kind(str(one.get("kernel") or call))
            for one, call in zip(given, _names(host, calls), strict=True)
        ),
        tuple(_op_name(host, row) for row in ops.tolist()),
        event_stats(host).ints(names.GRAPH_NODE).at(calls, -1),
    )


@derived
def runs(host: Host) -> tuple[LaunchSequence, ...]:
    """What ran outside of graphs, thread by thread."""
    calls, events, how = op_calls(host), device_events(host), launched(host)
    alone = np.flatnonzero((how.call >= 0) & ~from_graphs(host))
    found = []
    for thread in np.unique(how.thread[alone]).tolist():
        mine = alone[how.thread[alone] == thread]
        mine = mine[np.lexsort((events.start_ps[mine], how.start_ps[mine]))]
        op = calls.of_event[mine]
        rows = np.where(op >= 0, calls.rows[op] if len(calls) else -1, -1)
        if (rows >= 0).any():
            found.append(
                LaunchSequence(
                    tuple(_names(host, events.rows[mine])),
                    tuple(_op_name(host, row) for row in rows.tolist()),
                    np.full(len(mine), -1, np.int64),
                )
            )
    return tuple(found)


def _names(host: Host, rows: I64) -> list[str]:
    text = host.space.event_metadata.name
    return [_kind(text[entry]) for entry in host.space.events.metadata[rows].tolist()]


def _kind(name: str) -> str:
    """A kernel's name; copies are called after the call or after what they do."""
    return next((kind for kind, one in _KINDS.items() if one.search(name)), name)


def _op_name(host: Host, row: int) -> str:
    """The op as PyTorch writes it; "" for none."""
    if row < 0:
        return ""
    metadata = host.space.event_metadata
    entry = int(host.space.events.metadata[row])
    return metadata.display_name[entry] or metadata.name[entry]


def op_counts(ops: Sequence[str], device_ps: I64) -> Iterator[tuple[str, int, int]]:
    """Each op of a graph with its kernels and their time, the longest first."""
    kernels: dict[str, list[int]] = {}
    for op, time in zip(ops, device_ps.tolist(), strict=True):
        kernels.setdefault(op, []).append(time)
    for op, times in sorted(kernels.items(), key=lambda one: (-sum(one[1]), one[0])):
        yield op, len(times), sum(times)
