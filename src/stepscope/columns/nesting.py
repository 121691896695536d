"""Which event contains which, and who is active when.

The nesting rule, per line: events are taken by start (ascending), then duration (descending),
then file order. The parent of an event is the innermost event still open that contains it
completely: its start is not after, its end not before. An event that does not contain the next
one is closed for good, so two events that overlap only in part are siblings. Events without
length have parents, too. Self time is the duration less the union of the direct children.
Negative durations count as 0.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import I32, I64, U8, Bool
from stepscope.kernels import core
from stepscope.kernels.cores import on_cores

CLASSES: Final = 64
_THREADS_FROM_EVENTS: Final = 1 << 17
_NO_ORDER: Final = np.empty(0, np.int64)
_ALL: Final = np.empty(0, np.uint8)


class Nesting(NamedTuple):
    """How events contain each other; one row per event.

    Attributes:
        parent: Row of the containing event, -1 if there is none.
        self_ps: Duration not covered by children.
        depth: Number of containing events.
    """

    parent: I32
    self_ps: I64
    depth: I32


def nest(
    start_ps: I64,
    duration_ps: I64,
    line_begin: I64,
    *,
    select: Bool | None = None,
    threads: int | None = None,
) -> Nesting:
    """Nest the events of all lines.

    Args:
        start_ps: Of each event, line after line.
        duration_ps: Of each event.
        line_begin: lines+1 offsets.
        select: Events to nest, as if the others did not exist; those get parent -1, self 0 and
            depth 0.
        threads: At most this many lines at a time; the cores this process may use by default.
    """
    count = len(start_ps)
    nesting = Nesting(
        np.empty(count, np.int32), np.empty(count, np.int64), np.empty(count, np.int32)
    )
    mask = _ALL if select is None else np.ascontiguousarray(select).view(np.uint8)
    starts, durations = np.ascontiguousarray(start_ps), np.ascontiguousarray(duration_ps)

    def work(line: int) -> None:
        _nest_line(
            starts, durations, int(line_begin[line]), int(line_begin[line + 1]), mask, nesting
        )

    by_size = np.argsort(line_begin[:-1] - line_begin[1:], kind="stable").tolist()
    on_cores(work, by_size, "stepscope-nest", 1 if count < _THREADS_FROM_EVENTS else threads)
    return nesting


def _nest_line(
    starts: I64, durations: I64, begin: int, end: int, mask: U8, nesting: Nesting
) -> None:
    if begin == end:
        return
    order, levels = _NO_ORDER, 256
    while True:
        stopped = core.nest.nest_line(
            starts.data,
            durations.data,
            begin,
            end,
            order.data,
            mask.data,
            np.empty(levels, np.int64).data,
            nesting.parent.data,
            nesting.self_ps.data,
            nesting.depth.data,
        )
        if not stopped:
            return
        if stopped == 1:
            order = begin + _order(starts[begin:end], durations[begin:end])
        else:
            levels = min(levels * 8, end - begin + 1)


def _order(starts: I64, durations: I64) -> I64:
    # Not -durations: that overflows for the smallest int64. No event goes on after the largest, so
    # that of two which reach it, and start together, neither is the longer.
    room = np.iinfo(np.int64).max - np.maximum(starts, 0)
    length = np.minimum(np.maximum(durations, 0), room)
    return np.lexsort((-length, starts)).astype(np.int64)


def innermost(begin: I64, end: I64, times: I64) -> I64:
    """For each time the innermost of the intervals around it, -1 where there is none.

    Args:
        begin: Of the intervals.
        end: Of the intervals; they are half-open. Those that overlap in part count as neighbours.
        times: When.
    """
    order = None if _is_outer_first(begin, end) else np.lexsort((-end, begin)).astype(np.int64)
    starts, ends = (begin, end) if order is None else (begin[order], end[order])
    line = np.asarray([0, len(starts)], np.int64)
    parent = nest(starts, ends - starts, line).parent
    at: I64 = np.searchsorted(starts, times, side="right") - 1
    while True:
        over = np.flatnonzero(at >= 0)
        over = over[ends[at[over]] <= times[over]]
        if not len(over):
            break
        at[over] = parent[at[over]]
    return at if order is None else np.append(order, -1)[at]


def _is_outer_first(begin: I64, end: I64) -> bool:
    """Whether intervals ascend, of those that begin together the longest first."""
    later = begin[1:] > begin[:-1]
    if later.all():
        return True
    same = np.flatnonzero(~later)
    return bool(((begin[same + 1] == begin[same]) & (end[same + 1] <= end[same])).all())


def sweep(
    starts_ps: I64, ends_ps: I64, classes: NDArray[np.integer], step_begin_ps: I64, step_end_ps: I64
) -> I64:
    """How long, in each step, each class was the highest active one.

    Args:
        starts_ps: Starts of spans in any order, overlapping as they like.
        ends_ps: Their ends.
        classes: Of each span, 0–63; where spans overlap the highest class has the time. Class 0
            is the same as no span.
        step_begin_ps: Begins of steps, which are sorted and disjoint.
        step_end_ps: Their ends.

    Returns:
        int64[steps, 64], ps. Each row sums to the length of its step; column 0 is time in which
        nothing was active.

    Raises:
        ValueError: Steps overlap or are not sorted, or a class is out of range.
    """
    step, kind, time = sweep_pieces(starts_ps, ends_ps, classes, step_begin_ps, step_end_ps)
    out = np.zeros((len(step_begin_ps), CLASSES), np.int64)
    out[step, kind] = time
    return out


def sweep_pieces(
    starts_ps: I64, ends_ps: I64, classes: NDArray[np.integer], begin_ps: I64, end_ps: I64
) -> tuple[I64, U8, I64]:
    """The same as ``sweep`` where steps are many and short: only times above 0.

    Returns:
        Step, class and time of each, by step and then by class.

    Raises:
        ValueError: As ``sweep``.
    """
    boundaries = _boundaries(starts_ps, ends_ps, classes, begin_ps, end_ps)
    room = len(begin_ps) + 2 * len(boundaries[0])
    step, time = np.empty(room, np.int64), np.empty(room, np.int64)
    kind = np.empty(room, np.uint8)
    scratch = np.zeros(CLASSES, np.int64), np.zeros(CLASSES, np.int64)
    count = core.nest.sweep_pieces(
        *boundaries, scratch[0].data, scratch[1].data, step.data, kind.data, time.data
    )
    return step[:count].copy(), kind[:count].copy(), time[:count].copy()


def _boundaries(
    starts: I64, ends: I64, classes: NDArray[np.integer], step_begin: I64, step_end: I64
) -> tuple[memoryview, memoryview, memoryview, memoryview, memoryview, memoryview]:
    """Where spans start and where they end, each sorted and with its class; the steps.

    As memory: where no kernel was compiled, its items are Python's integers, which do not overflow.
    """
    if np.any(step_end < step_begin) or np.any(step_begin[1:] < step_end[:-1]):
        raise ValueError("steps must be sorted and disjoint")
    if len(classes) and (classes.min() < 0 or classes.max() >= CLASSES):
        raise ValueError(f"classes must be 0..{CLASSES - 1}")
    real = (ends > starts) & (classes > 0)
    kinds = classes.astype(np.uint8, copy=False)
    if not real.all():
        starts, ends, kinds = starts[real], ends[real], kinds[real]
    return (
        *_sorted(starts, kinds),
        *_sorted(ends, kinds),
        np.ascontiguousarray(step_begin).data,
        np.ascontiguousarray(step_end).data,
    )


def _sorted(times: I64, kinds: U8) -> tuple[memoryview, memoryview]:
    order = np.argsort(times, kind="stable")
    return times[order].data, kinds[order].data


def union_spans(starts_ps: I64, ends_ps: I64) -> tuple[I64, I64]:
    """The spans merged: sorted, disjoint, and not touching; empty spans vanish."""
    starts, ends = np.ascontiguousarray(starts_ps), np.ascontiguousarray(ends_ps)
    merged = np.empty(len(starts), np.int64), np.empty(len(starts), np.int64)
    count = core.nest.merge_spans(starts, ends, *merged)
    if count < 0:
        order = np.argsort(starts, kind="stable")
        count = core.nest.merge_spans(starts[order], ends[order], *merged)
    return merged[0][:count].copy(), merged[1][:count].copy()
