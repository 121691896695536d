"""Messages between TPU slices, as their hosts' MegaScale runtime notes them on arrival.

Such an event is at the end of its message and says how long that was under way: the clocks of
two hosts measure it, and where they differ by more it says 0 (openxla/xprof,
xprof/convert/dcn_utils.cc).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.columns import distinct, stats_by_name, union_spans
from stepscope.columns.space import I64, Bool
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.core.distinct_rows import distinct_rows, split
from stepscope.tables.core.presence import entries_called
from stepscope.tables.core.profile import Host, Profile, derived
from stepscope.tables.core.stats import Ints
from stepscope.tables.host.events import on_host_threads, timed_rows

_US: Final = 1_000_000


@dataclass(frozen=True, eq=False, slots=True)
class DcnPath:
    """All messages from one slice to another; the same slice where they never left it.

    Attributes:
        source, destination: Numbers of the slices.
        messages: How many arrived.
        skewed: How many of them lack a latency, because the clocks differ by more.
        bytes: Σ of their sizes.
        latency_ps: Of those that have one, in no order.
        busy_ps: Time in which at least one is under way, Σ over receiving hosts.
        timed_bytes: Σ of the sizes of those with a latency.
    """

    source: int
    destination: int
    messages: int
    skewed: int
    bytes: int
    latency_ps: I64
    busy_ps: int
    timed_bytes: int


@derived
def dcn_paths(profile: Profile) -> tuple[DcnPath, ...]:
    """The paths that messages took, the one with most bytes first."""
    found = [_messages(host, index) for index, host in enumerate(profile.hosts)]
    source, destination, size, latency, end, host = np.concatenate(
        [np.zeros((6, 0), dtype=np.int64), *found], axis=1
    )
    first, path = distinct_rows((source, destination))
    paths = []
    by_path = split(np.arange(len(path)), path, len(first))
    for row, own in zip(first.tolist(), by_path, strict=True):
        timed = own[latency[own] > 0]
        paths.append(
            DcnPath(
                source=int(source[row]),
                destination=int(destination[row]),
                messages=len(own),
                skewed=len(own) - len(timed),
                bytes=int(size[own].sum()),
                latency_ps=latency[timed],
                busy_ps=_busy_ps(end[timed] - latency[timed], end[timed], host[timed]),
                timed_bytes=int(size[timed].sum()),
            )
        )
    return tuple(sorted(paths, key=lambda one: (-one.bytes, one.source, one.destination)))


def _busy_ps(start: I64, end: I64, host: I64) -> int:
    total = 0
    for one in distinct(host).tolist():
        own: Bool = host == one
        starts, ends = union_spans(start[own], end[own])
        total += int((ends - starts).sum())
    return total


def _messages(host: Host, index: int) -> I64:
    """Source, destination, bytes, latency, end and host of each message, as rows of a matrix."""
    rows = timed_rows(host, entries_called(host, (names.DCN_RECEIVE,)))
    rows = rows[on_host_threads(host)[rows]] if len(rows) else rows
    if not len(rows):
        return np.zeros((6, 0), dtype=np.int64)
    wanted = names.DCN_SOURCE_SLICE, names.DCN_DESTINATION_SLICE, names.PAYLOAD_BYTES
    stats = stats_by_name(host.space, (*wanted, names.MESSAGE_DURATION_US))
    source, destination, size = (
        Ints(stats[name].rows, stats[name].ints).at(rows, -1) for name in wanted
    )
    duration = stats[names.MESSAGE_DURATION_US]
    latency = Ints(duration.rows, duration.ints).at(rows, 0) * _US
    end = host.space.events.start_ps[rows]
    found = np.stack([source, destination, size, latency, end, np.full(len(rows), index)])
    whole: I64 = found[:, (found[:3] >= 0).all(axis=0)]
    return whole
