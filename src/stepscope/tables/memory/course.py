"""Use of a memory over time: which events are worth showing, and what held the bytes then."""

from __future__ import annotations

from math import nan
from typing import Any, Final

import numpy as np

from stepscope.columns import sum_by_key
from stepscope.columns.space import I64
from stepscope.records import dataclass
from stepscope.tables.memory.allocations import UNKNOWN, AllocationLabels, Allocations, alive_at
from stepscope.tables.memory.breakdown import last_freed

#: How holders are called that have no name of their own.
OTHERS: Final = "all others"
UNSAID: Final = "not recorded"
BEFORE_HOLDER: Final = "from before the recording"
STACK_HOLDER: Final = "stack"
# More names than these in one memory, and those that allocated the least are among the others.
_MOST_NAMES: Final = 1024


_FAR_PS: Final = 1 << 62
# A change of use that shows on a chart, as a share of its range.
_VISIBLE: Final = 0.01
# Shown before and behind the changes, as a share of these and of all.
_MARGIN, _LEAST_MARGIN = 0.05, 0.01
# Of the points, those before the changes, and as many behind: there is little to see.
_OUTSIDE: Final = 0.1


def moment_ps(time_ms: float) -> int:
    """Milliseconds as ps; what lies beyond every recording as a time that does, too."""
    return int(min(max(time_ms * 1e9, -_FAR_PS), _FAR_PS))


def changing(time_ps: I64, use_bytes: I64) -> tuple[int, int]:
    """Begin and end of the time in which the use changes, with the peak in it.

    All of the time, unless the use stays as it is for more than half of it, before or after.
    """
    first, last = int(time_ps[0]), int(time_ps[-1])
    near = _VISIBLE * (int(use_bytes.max()) - int(use_bytes.min()))
    left = np.flatnonzero(np.abs(use_bytes - use_bytes[0]) > near)
    settling = np.flatnonzero(np.abs(use_bytes - use_bytes[-1]) > near)
    if not len(left) or not len(settling):
        return first, last
    peak = int(time_ps[::-1][use_bytes[::-1].argmax()])
    begin = min(int(time_ps[left[0]]), peak)
    # It stays until the event after the last one that is far from the end.
    end = max(int(time_ps[min(settling[-1] + 1, len(time_ps) - 1)]), peak)
    margin = int(max(_MARGIN * (end - begin), _LEAST_MARGIN * (last - first)))
    begin, end = max(first, begin - margin), min(last, end + margin)
    return (begin, end) if 2 * (end - begin) < last - first else (first, last)


@dataclass(frozen=True, slots=True)
class Changes:
    """Begin and end of ``changing``, as results have them.

    Attributes:
        from_ms: First change.
        to_ms: Last change.
    """

    from_ms: float
    to_ms: float


def changes(time_ps: I64, use_bytes: I64) -> Changes:
    """When the use changes."""
    begin, end = changing(time_ps, use_bytes)
    return Changes(begin / 1e9, end / 1e9)


def shown(
    time_ps: I64, use_bytes: I64, from_ms: float | None, to_ms: float | None, points: int
) -> tuple[I64, int]:
    """``thinned`` over a range; without one, most of the points are where the use changes."""
    first, last = int(time_ps[0]), int(time_ps[-1])
    if from_ms is not None or to_ms is not None:
        begin = first if from_ms is None else moment_ps(from_ms)
        end = last if to_ms is None else moment_ps(to_ms)
        return thinned(time_ps, use_bytes, begin, end, points)
    begin, end = changing(time_ps, use_bytes)
    outside = int(points * _OUTSIDE)
    if not outside or (begin, end) == (first, last):
        return thinned(time_ps, use_bytes, first, last, points)
    before, few = thinned(time_ps, use_bytes, first, begin - 1, outside)
    within, most = thinned(time_ps, use_bytes, begin, end, points - 2 * outside)
    behind, rest = thinned(time_ps, use_bytes, end + 1, last, outside)
    return np.concatenate([before, within, behind]), few + most + rest


def thinned(
    time_ps: I64, use_bytes: I64, begin_ps: int, end_ps: int, points: int
) -> tuple[I64, int]:
    """Events of a range, at most ``points``: of each interval that of highest use, and the last.

    The last is what a memory stays at until its next event: without it, a peak of a moment would
    look as if it lasted through all quiet time behind it.

    Args:
        time_ps: Of all events, ascending.
        use_bytes: After each.
        begin_ps: First moment of the range.
        end_ps: Last moment of the range.
        points: How many; 0 for all events. A single one is the highest alone.

    Returns:
        Their places, ascending, and how many there are before thinning.
    """
    low = int(np.searchsorted(time_ps, begin_ps, side="left"))
    high = int(np.searchsorted(time_ps, end_ps, side="right"))
    places = np.arange(low, max(high, low), dtype=np.int64)
    if points <= 0 or len(places) <= points:
        return places, len(places)
    # As float: a product of two spans in ps does not fit 64 bits.
    intervals = max(points // 2, 1)
    share = (time_ps[low:high] - begin_ps) / max(end_ps - begin_ps, 1)
    interval = np.minimum((share * intervals).astype(np.int64), intervals - 1)
    order = np.lexsort((places, use_bytes[low:high], interval))
    highest = places[order[np.flatnonzero(np.diff(interval[order], append=intervals))]]
    if points == 1:
        return highest, len(places)
    last = places[np.flatnonzero(np.diff(interval, append=intervals))]
    return np.union1d(highest, last), len(places)


@dataclass(frozen=True, slots=True)
class Holder:
    """What holds bytes at a moment.

    Attributes:
        name: An op, a region, a line …; or one of the names above.
        held_bytes: How many.
        blocks: In how many blocks; None where only their sum is known.
        freed_ps: When the last block is freed; None where one never is, or not known.
    """

    name: str
    held_bytes: int
    blocks: int | None
    freed_ps: int | None = None


def holders(found: Allocations, memory: int, event: int, by: AllocationLabels) -> list[Holder]:
    """What a memory's bytes are for right after an event of it, largest first.

    They sum to the bytes in use, unless the recorded allocations exceed them.
    """
    alive = alive_at(found, memory, event)
    size = np.maximum(found.allocated_bytes[alive], 0)
    held = sum_by_key(by.codes[alive].astype(np.int64), size, len(by.texts))
    blocks = np.bincount(by.codes[alive], minlength=len(by.texts))
    freed = last_freed(found, alive, by.codes[alive].astype(np.int64), len(by.texts))
    rows = [
        Holder(by.texts[code] or UNSAID, int(held[code]), int(blocks[code]), freed[code])
        for code in np.flatnonzero(blocks).tolist()
    ]
    before = int(found.heap_bytes[event]) - int(size.sum())
    if before > 0:
        rows.append(Holder(BEFORE_HOLDER, before, None))
    if found.stack_bytes[event] > 0:
        rows.append(Holder(STACK_HOLDER, int(found.stack_bytes[event]), None))
    return sorted(rows, key=lambda row: (-row.held_bytes, row.name))


def holder_columns(live: list[Holder], in_use_bytes: int) -> dict[str, list[Any]]:
    """One row per holder, with its share of all in use."""
    return {
        "holder": [one.name for one in live],
        "held_bytes": [one.held_bytes for one in live],
        "share_frac": [one.held_bytes / in_use_bytes if in_use_bytes else nan for one in live],
        "blocks": [one.blocks for one in live],
        "freed_ms": [None if one.freed_ps is None else one.freed_ps / 1e9 for one in live],
    }


@dataclass(frozen=True, eq=False, slots=True)
class Layers:
    """What held a memory's bytes at some moments.

    Attributes:
        names: Holders, the one with the most first; the rest last.
        held_bytes: (moment, holder).
    """

    names: list[str]
    held_bytes: I64

    def columns(self, time_ps: I64) -> dict[str, list[Any]]:
        """One row per moment and holder; ``time_ps`` is when the moments are."""
        return {
            "time_ms": np.repeat(time_ps / 1e9, len(self.names)).tolist(),
            "holder": self.names * len(time_ps),
            "held_bytes": self.held_bytes.ravel().tolist(),
        }


def layers(found: Allocations, memory: int, events: I64, by: AllocationLabels, most: int) -> Layers:
    """The ``most`` largest holders right after each of some events of a memory, and the rest.

    Args:
        found: The events of all memories.
        memory: Which.
        events: Rows of its events, ascending.
        by: The holder of each event.
        most: How many have a layer of their own, by the most that each holds at any of the moments.
    """
    begun = np.flatnonzero((found.memory == memory) & found.is_allocation)
    size = np.maximum(found.allocated_bytes[begun], 0)
    total = sum_by_key(by.codes[begun].astype(np.int64), size, len(by.texts))
    known = np.argsort(-total, kind="stable")[:_MOST_NAMES]
    known = known[total[known] > 0]
    column = np.full(len(by.texts), len(known), np.int64)
    column[known] = np.arange(len(known))
    width = len(known) + 1
    change = np.zeros((len(events) + 1) * width, np.int64)
    # Bytes count from the first moment at or after their event on; what ends later than the last
    # of the moments falls into a row of its own.
    taken = np.searchsorted(events, begun) * width + column[by.codes[begun]]
    np.add.at(change, taken, size)
    ended = found.next_here[begun]
    is_ended = ended != UNKNOWN
    given = np.searchsorted(events, ended[is_ended]) * width + column[by.codes[begun[is_ended]]]
    np.subtract.at(change, given, size[is_ended])
    held = np.cumsum(change.reshape(-1, width), axis=0)[:-1]
    peaks = held[:, :-1].max(axis=0, initial=0)
    shown = np.argsort(-peaks, kind="stable")[:most]
    shown = shown[peaks[shown] > 0]
    rest = held.sum(axis=1) - held[:, shown].sum(axis=1)
    before = np.maximum(found.heap_bytes[events] - held.sum(axis=1), 0)
    stack = found.stack_bytes[events]
    names = [by.texts[known[one]] or UNSAID for one in shown.tolist()]
    columns = [*held[:, shown].T]
    for name, values in ((OTHERS, rest), (BEFORE_HOLDER, before), (STACK_HOLDER, stack)):
        if values.any():
            names.append(name)
            columns.append(values)
    return Layers(names, np.stack(columns, axis=1) if columns else np.zeros((len(events), 0), int))
