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
from stepscope.tables.torch.launches import launched
from stepscope.tables.torch.op_calls import op_calls, ops_around
from stepscope.tables.torch.signature import arguments

NO_CAPTURE: Final = "no recording has its capture, or its kernels outside of a graph"
_LAUNCHES: Final = re.compile(r"Launch(?!HostFunc)|Memcpy|Memset", re.IGNORECASE)
_COPIES: Final = re.compile(r"memcpy|copyBuffer", re.IGNORECASE)
_SETS: Final = re.compile(r"memset|fillBuffer", re.IGNORECASE)


def _begins(call: str) -> bool:
    return "streambegincapture" in call.lower()


def _ends(call: str) -> bool:
    return "streamendcapture" in call.lower()


@dataclass(frozen=True, eq=False, slots=True)
class LaunchSequence:
    """What a program launched in some time, in that order.

    Attributes:
        kernels: Names of kernels and copies; "" where a launch does not say it.
        ops: The op of each; "" for none.
        nodes: Number of each in a graph, -1 where it is not recorded.
    """

    kernels: tuple[str, ...]
    ops: tuple[str, ...]
    nodes: I64


@dataclass(frozen=True, eq=False, slots=True)
class GraphOps:
    """The ops of a graph's kernels.

    Attributes:
        ops: By kernel, in the order of a replay; empty where they are not known.
        told_by: Where they are from, else why they are not known.
    """

    ops: tuple[str, ...]
    told_by: str


def ops_of_graph(host: Host, graph: int, others: Iterable[Host]) -> GraphOps:
    """The ops of one of a host's graphs, from its own recording, else from the first that knows."""
    events, wanted = device_events(host), replayed_events(host, graph)
    kernels = [_name(host, int(row)) for row in host.space.events.metadata[events.rows[wanted]]]
    nodes = event_stats(host).ints(names.GRAPH_NODE).at(events.rows[wanted], -1)
    reason = NO_CAPTURE
    for one in chain((host,), (other for other in others if other is not host)):
        where = "" if one is host else f" in {one.name}"
        for found in captures(one):
            ops, why = _joined(kernels, nodes, found)
            if ops:
                return GraphOps(ops, f"{why}{where}")
            reason = f"{why}{where}" if reason == NO_CAPTURE and why else reason
        for found in runs(one):
            told = _ops_of_runs(kernels, found)
            if len(told) == 1:
                return GraphOps(told.pop(), f"a run outside of graphs{where}")
            if told:
                reason = "other ops run the same kernels"
    return GraphOps((), reason)


@derived
def captures(host: Host) -> tuple[LaunchSequence, ...]:
    """What was captured on each thread, capture by capture."""
    space, ran = host.space, launched(host).call
    begins, ends = (
        rows_of(space.events.metadata, entries_named(host, one)) for one in (_begins, _ends)
    )
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


def _captured(host: Host, thread: int, calls: I64) -> LaunchSequence:
    ops = ops_around(host, thread, host.space.events.start_ps[calls])
    said = event_stats(host).texts(names.ARGUMENTS)
    arguments = [said.texts[code] if code >= 0 else "" for code in said.at(calls).tolist()]
    called = [_name(host, int(row)) for row in host.space.events.metadata[calls]]
    return LaunchSequence(
        tuple(map(_launched_name, called, arguments)),
        tuple(_op_name(host, row) for row in ops.tolist()),
        event_stats(host).ints(names.GRAPH_NODE).at(calls, -1),
    )


def _launched_name(call: str, said: str) -> str:
    """What a call launches: ROCm's say it, CUDA's only where it is a copy."""
    kernel = arguments(said).get("kernel")
    if isinstance(kernel, str) and kernel:
        return kernel
    return call if _COPIES.search(call) or _SETS.search(call) else ""


@derived
def runs(host: Host) -> tuple[LaunchSequence, ...]:
    """What ran outside of graphs, thread by thread."""
    calls, events, how = op_calls(host), device_events(host), launched(host)
    in_graph = np.append(entries_shaped(host, lambda name: "GraphLaunch" in name), False)
    metadata = host.space.events.metadata
    of_call = np.where(how.call >= 0, metadata[np.maximum(how.call, 0)], -1)
    alone = np.flatnonzero((how.call >= 0) & ~in_graph[of_call])
    found = []
    for thread in np.unique(how.thread[alone]).tolist():
        mine = alone[how.thread[alone] == thread]
        mine = mine[np.lexsort((events.start_ps[mine], how.start_ps[mine]))]
        op = calls.of_event[mine]
        rows = np.where(op >= 0, calls.rows[op] if len(calls) else -1, -1)
        entries = metadata[events.rows[mine]].tolist()
        if (rows >= 0).any():
            found.append(
                LaunchSequence(
                    tuple(_name(host, entry) for entry in entries),
                    tuple(_op_name(host, row) for row in rows.tolist()),
                    np.full(len(mine), -1, np.int64),
                )
            )
    return tuple(found)


def _joined(
    kernels: Sequence[str], nodes: I64, found: LaunchSequence
) -> tuple[tuple[str, ...], str]:
    """The ops by what a capture says, and how it was told; none and why not."""
    if (nodes >= 0).all() and (found.nodes >= 0).all():
        of_node = dict(zip(found.nodes.tolist(), found.ops, strict=True))
        if len(of_node) == len(found.ops) and all(one in of_node for one in nodes.tolist()):
            return tuple(of_node[one] for one in nodes.tolist()), "its capture, by node"
    if len(found.kernels) != len(kernels):
        return (), f"{len(found.kernels)} launches were captured, {len(kernels)} are replayed"
    if not all(found.kernels):
        return (), "the launches that were captured have no names"
    for number, pair in enumerate(zip(found.kernels, kernels, strict=True), 1):
        if not _is_same(*pair):
            return (), f"kernel {number} of {len(kernels)} is not the one that was captured there"
    return found.ops, "its capture, in order"


def _is_same(captured: str, replayed: str) -> bool:
    """Whether a launch is of what ran; copies are called after the call or after what they do."""
    if captured == replayed:
        return True
    return any(one.search(captured) and one.search(replayed) for one in (_COPIES, _SETS))


def _ops_of_runs(wanted: Sequence[str], ran: LaunchSequence) -> set[tuple[str, ...]]:
    """The ops of each place at which the wanted kernels ran in a row."""
    kernels = np.asarray(ran.kernels, object)
    at = np.arange(max(len(kernels) - len(wanted) + 1, 0))
    for number, name in enumerate(wanted):
        at = at[kernels[at + number] == name]
    return {ran.ops[begin : begin + len(wanted)] for begin in at.tolist()}


def _name(host: Host, entry: int) -> str:
    return host.space.event_metadata.name[entry]


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
