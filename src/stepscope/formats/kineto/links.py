"""Which op launched each kernel and copy, or why none is known.

A kernel's correlation names the call that launched it; the innermost op around the begin of that
call on its thread is the op. ``External id`` says the same in some versions of PyTorch and
something else in others: it counts only where no call was recorded, and only if it agrees with
the calls everywhere else in the file.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import by_place, innermost
from stepscope.formats.kineto.reading.args import NONE
from stepscope.formats.kineto.slices import Slices, match
from stepscope.records import dataclass
from stepscope.schema import names

I64 = NDArray[np.int64]
Bool = NDArray[np.bool_]

_GRAPH: Final = re.compile(r"GraphLaunch|ExecGraph|graph_launch", re.IGNORECASE)


class Origin(IntEnum):
    """How a device event came to run."""

    OP = 0
    OUTSIDE = 1
    BEFORE = 2
    GRAPH = 3
    UNRECORDED = 4


#: Labels of the events without an op.
LABELS: Final = {
    Origin.OUTSIDE: names.OUTSIDE_OPS,
    Origin.BEFORE: names.BEFORE_RECORDING,
    Origin.GRAPH: names.FROM_GRAPH,
    Origin.UNRECORDED: names.NO_LAUNCH,
}


@dataclass(frozen=True, eq=False, slots=True)
class Links:
    """The origin of every device event.

    Attributes:
        rows: The device events, as rows of the slices.
        call: The call that launched each, as a row of the slices; -1 where none was recorded.
        op: The op that launched each; -1 where none is known.
        origin: ``Origin`` of each.
    """

    rows: I64
    call: I64
    op: I64
    origin: I64


def links(slices: Slices, *, of_ops: bool = False) -> Links:
    """The links of a trace.

    Args:
        slices: Its slices.
        of_ops: Whether device events are named by their ops.
    """
    rows = slices.rows("kernel", "copy", "set")
    call = _calls(slices, rows)
    if of_ops:
        is_op = slices.is_kind("kernel")[rows]
        origin = np.where(is_op, Origin.OP, Origin.OUTSIDE).astype(np.int64)
        return Links(rows, call, np.where(is_op, rows, NONE), origin)
    op = np.full(len(rows), NONE, np.int64)
    called = np.flatnonzero(call >= 0)
    op[called] = around(
        slices, slices.rows("op"), slices.place[call[called]], slices.start_ns[call[called]]
    )
    is_graph = slices.of_name(lambda name: bool(_GRAPH.search(name)))
    graph = np.zeros(len(rows), bool)
    graph[called] = is_graph[call[called]]
    _link_by_external_id(slices, rows, call, op)
    origin = np.full(len(rows), Origin.OP, np.int64)
    origin[op < 0] = Origin.OUTSIDE
    origin[(op < 0) & (call < 0)] = Origin.UNRECORDED
    origin[(op < 0) & (call < 0) & _is_early(slices, rows, call)] = Origin.BEFORE
    origin[(op < 0) & graph] = Origin.GRAPH
    return Links(rows, call, op, origin)


def _calls(slices: Slices, rows: I64) -> I64:
    """The call of each device event: of several with its correlation the last before it."""
    calls = np.flatnonzero(slices.is_kind("runtime") & (slices.correlation > 0))
    found = np.full(len(rows), NONE, np.int64)
    if not len(calls):
        return found
    # Several processes in one file count their calls each by itself, and numbers come round again.
    both = np.concatenate([calls, rows])
    is_call = np.arange(len(both)) < len(calls)
    numbers, starts = slices.correlation[both], slices.start_ns[both]
    order = np.lexsort((~is_call, starts, numbers))
    last = np.maximum.accumulate(np.where(is_call[order], np.arange(len(order)), NONE))
    group = np.searchsorted(numbers[order], numbers[order], side="left")
    # A kernel may seem to begin before its call, by what two clocks differ: then the first counts.
    at = np.where(last >= group, last, _next_call(is_call[order]))
    good = (
        (at >= 0) & (numbers[order[at]] == numbers[order]) & ~is_call[order] & (numbers[order] > 0)
    )
    found[order[good] - len(calls)] = both[order[at[good]]]
    return found


def _next_call(is_call: Bool) -> I64:
    """For each place the next one that is a call, -1 where there is none."""
    count = len(is_call)
    places = np.where(is_call, np.arange(count), count)
    after = np.minimum.accumulate(places[::-1])[::-1]
    return np.where(after < count, after, NONE)


def _is_early(slices: Slices, rows: I64, call: I64) -> Bool:
    """Whether a device event without a call was launched before any recorded call was.

    A stream runs in order: what runs before the first event with a recorded call was launched
    before it, too.
    """
    if not (call >= 0).any():
        return np.zeros(len(rows), bool)  # no call of the runtime was recorded at all
    stream = slices.place[rows]
    start = slices.start_ns[rows]
    first = np.full(len(slices.places) or 1, np.iinfo(np.int64).max)
    np.minimum.at(first, stream[call >= 0], start[call >= 0])
    # Of a stream without any recorded launch the device's first tells.
    first = np.where(first == np.iinfo(np.int64).max, int(start[call >= 0].min()), first)
    found: Bool = start < first[stream]
    return found


def _link_by_external_id(slices: Slices, rows: I64, call: I64, op: I64) -> None:
    """Ops of events without a call, by the id that both carry, if such ids tell the truth."""
    external = slices.external[rows]
    lost = np.flatnonzero((call < 0) & (external > 0))
    linked = np.flatnonzero((op >= 0) & (external > 0))
    if not len(lost) or not len(linked):
        return
    if (slices.external[op[linked]] != external[linked]).any():
        return
    ops = np.flatnonzero(slices.is_kind("op") & (slices.external > 0))
    at, same = match(slices.external[ops], external[lost])
    op[lost[same]] = ops[at[same]]


def around(slices: Slices, ops: I64, place: I64, time_ns: I64) -> I64:
    """For each time on a place the innermost of some slices around it, -1 where there is none.

    Args:
        slices: The slices.
        ops: Which of them count.
        place: Where to look, for each time.
        time_ns: When; an op is around its own begin, but not its end.
    """
    found = np.full(len(time_ns), NONE, np.int64)
    of_place = dict(by_place(slices.place, ops))
    for where, asked in by_place(place, np.arange(len(time_ns))):
        own = of_place.get(where)
        if own is not None:
            begin = slices.start_ns[own]
            at = innermost(begin, begin + slices.duration_ns[own], time_ns[asked])
            found[asked] = np.where(at >= 0, own[at], NONE)
    return found
