"""Pipelines, their calls, and which iterator each call waited for.

A pipeline is one root iterator; its calls are what the program waits for. Inside a call every
instant belongs to the deepest iterator that kept it waiting: an iterator keeps a call waiting
while its own span lies inside the wait of the call that asked for it. These *critical* times sum
to the call's duration. *Self* time is the incumbent's notion (reference §8.8): duration without
the overlap with direct children, whether or not anybody waited.
"""

from __future__ import annotations

import numpy as np

from stepscope.columns import sum_by_key, sweep
from stepscope.columns.space import I64, Bool
from stepscope.records import dataclass
from stepscope.tables.core.distinct_rows import distinct_rows, split
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.tf_data.events import IteratorCalls, iterator_calls

# Long chains of causes end here, as the incumbent's do; a pipeline is rarely 20 deep.
MAX_DEPTH = 100
# The sweep's classes: 0 is nothing, the last marks time that deeper iterators took.
_TAKEN = 63
_GROUP = 62
# Calls swept at a time: bounds the memory of a sweep (64 int64 per call).
_BLOCK = 4096
# A feed of one device's iterator from the host's pipeline (MultiDeviceIterator).
_DEVICE_FEED = "Iterator::Prefetch::Generator"


@dataclass(frozen=True, eq=False, slots=True)
class Traced:
    """The calls reached from roots, with the wait each lies in.

    Attributes:
        root: Row in ``IteratorCalls`` of the root call each belongs to (-1: none).
        depth: Calls above it.
        begin_ps, end_ps: The part of the root's call that it kept waiting (empty: begin ≥ end).
        self_ps: Duration without the union of its direct children.
    """

    root: I64
    depth: I64
    begin_ps: I64
    end_ps: I64
    self_ps: I64

    @property
    def blocking(self) -> Bool:
        """Whether somebody waited for the call."""
        mask: Bool = (self.root >= 0) & (self.end_ps > self.begin_ps)
        return mask


@derived
def traced_calls(host: Host) -> Traced:
    """Walk from the roots down the causes, level by level."""
    calls = iterator_calls(host)
    count = len(calls)
    depth_of_name = np.asarray([name.count("::") for name in calls.long_name] or [0])
    is_root = (calls.cause < 0) & (depth_of_name[calls.node] == 1)
    root = np.where(is_root, np.arange(count), -1)
    depth = np.where(is_root, 0, -1)
    begin, end = calls.start_ps.copy(), calls.end_ps.copy()
    level = np.flatnonzero(is_root)
    pending = np.flatnonzero(calls.cause >= 0)
    for number in range(1, MAX_DEPTH + 1):
        if len(level) == 0:
            break
        above = calls.cause[pending]
        reached = (depth[above] == number - 1) & (depth[pending] < 0)
        level, above = pending[reached], above[reached]
        depth[level], root[level] = number, root[above]
        begin[level] = np.maximum(begin[level], begin[above])
        end[level] = np.minimum(end[level], np.maximum(end[above], begin[above]))
        pending = pending[~reached]
    return Traced(root, depth, begin, end, _self_times(calls))


def _self_times(calls: IteratorCalls) -> I64:
    """Duration minus the union of the direct children inside it."""
    duration = calls.end_ps - calls.start_ps
    # All parents laid end to end on one axis, so that one pass over it serves them all.
    offset = np.cumsum(duration) - duration
    child = np.flatnonzero(calls.cause >= 0)
    parent = calls.cause[child]
    shift = offset[parent] - calls.start_ps[parent]
    begin = np.maximum(calls.start_ps[child], calls.start_ps[parent]) + shift
    end = np.minimum(calls.end_ps[child], calls.end_ps[parent]) + shift
    real = end > begin
    begin, end, parent = begin[real], end[real], parent[real]
    order = np.argsort(begin, kind="stable")
    begin, end, parent = begin[order], end[order], parent[order]
    reach = np.maximum.accumulate(np.concatenate([[np.iinfo(np.int64).min], end]))[:-1]
    covered = np.maximum(end - np.maximum(begin, reach), 0)
    own: I64 = duration - sum_by_key(parent, covered, len(calls))
    return own


@dataclass(frozen=True, eq=False, slots=True)
class Pipeline:
    """One root iterator of a host.

    Attributes:
        name: "Host:0", "Device:0" … in order of first call.
        is_device: Whether it only carries the host pipeline's batches to a device.
        calls: Rows in ``IteratorCalls`` of its root calls, by start.
        nodes: Its iterators: indices into ``IteratorCalls.long_name``, upstream last.
        critical_ps: int64[calls, nodes]: critical time of each iterator in each call.
        starved: Calls whose data was in the making before the recording began, so that what
            they waited for is not known.
    """

    name: str
    is_device: bool
    calls: I64
    nodes: I64
    critical_ps: I64
    starved: Bool


@derived
def pipelines(host: Host) -> tuple[Pipeline, ...]:
    """The pipelines of a host, in order of their first call."""
    calls, traced = iterator_calls(host), traced_calls(host)
    roots = np.flatnonzero(traced.depth == 0)
    if len(roots) == 0:
        return ()
    # Old recorders give no ids: then the long name tells pipelines apart.
    ids = calls.id[roots]
    first, code = distinct_rows((ids, np.where(ids == 0, calls.node[roots], -1)))
    by_start = np.argsort(calls.start_ps[roots], kind="stable")
    calls_of = split(roots[by_start], code[by_start], len(first))
    pipeline = np.full(len(calls), -1, dtype=np.int64)
    pipeline[roots] = code
    traced_rows = np.flatnonzero(traced.root >= 0)
    rows_of = split(traced_rows, pipeline[traced.root[traced_rows]], len(first))
    place = np.full(len(calls), -1, dtype=np.int64)
    starved_root = np.zeros(max(len(calls), 1), dtype=bool)
    starved = calls.starved & traced.blocking
    starved_root[traced.root[starved]] = True
    feeds = np.asarray([name == _DEVICE_FEED for name in calls.long_name] or [False])
    device_root = np.zeros(max(len(calls), 1), dtype=bool)
    fed = feeds[calls.node] & (traced.root >= 0)
    device_root[traced.root[fed]] = True
    counts = {True: 0, False: 0}
    found = []
    for number in np.argsort(calls.start_ps[roots[first]], kind="stable").tolist():
        own = calls_of[number]
        place[own] = np.arange(len(own))
        is_device = bool(device_root[own].any())
        name = f"{'Device' if is_device else 'Host'}:{counts[is_device]}"
        counts[is_device] += 1
        nodes, critical = _critical(calls, traced, own, rows_of[number], place)
        found.append(Pipeline(name, is_device, own, nodes, critical, starved_root[own]))
    return tuple(found)


def _critical(
    calls: IteratorCalls, traced: Traced, own: I64, rows: I64, place: I64
) -> tuple[I64, I64]:
    """The nodes of a pipeline, and each one's critical time in each of its calls.

    Args:
        calls: All of the host.
        traced: How they hang together.
        own: The pipeline's own calls.
        rows: The calls that were made for them.
        place: Of each of ``own``, its place there.
    """
    nodes, code = np.unique(calls.node[rows], return_inverse=True)
    level = np.zeros(len(nodes), dtype=np.int64)
    np.maximum.at(level, code, traced.depth[rows])
    order = np.argsort(level, kind="stable")
    rank = np.empty(len(nodes), dtype=np.int64)
    rank[order] = np.arange(len(nodes))
    waiting = traced.begin_ps[rows] < traced.end_ps[rows]
    rows, code = rows[waiting], rank[code[waiting]]
    call = place[traced.root[rows]]
    duration = calls.end_ps[own] - calls.start_ps[own]
    offset = np.cumsum(duration) - duration
    shift = (offset - calls.start_ps[own])[call]
    begin, end = traced.begin_ps[rows] + shift, traced.end_ps[rows] + shift
    critical = np.zeros((len(own), len(nodes)), dtype=np.int64)
    blocks = split(np.arange(len(call)), call // _BLOCK, -(-len(own) // _BLOCK))
    for number, inside in enumerate(blocks):
        window = slice(number * _BLOCK, (number + 1) * _BLOCK)
        critical[window] = _deepest(
            begin[inside],
            end[inside],
            code[inside],
            (offset[window], (offset + duration)[window]),
            len(nodes),
        )
    return nodes[order], critical


def _deepest(begin: I64, end: I64, node: I64, windows: tuple[I64, I64], count: int) -> I64:
    """Per window, the time for which each node was the deepest (largest) one active.

    The sweep knows 62 classes; larger pipelines take several, from the deepest nodes up.
    """
    time = np.zeros((len(windows[0]), count), dtype=np.int64)
    for top in range(count, 0, -_GROUP):
        low = max(top - _GROUP, 0)
        level = np.where(node >= top, _TAKEN, node - low + 1)
        level[node < low] = 0
        swept = sweep(begin, end, level, *windows)
        time[:, low:top] = swept[:, 1 : top - low + 1]
    return time
