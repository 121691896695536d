"""Ranges that are written as a begin and an end, as slices: not Kineto's way, but others'."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import one_of
from stepscope.formats.kineto.reading.scan import HAS_DURATION, HAS_END
from stepscope.formats.kineto.reading.times import EventTimes
from stepscope.formats.kineto.reading.trace import Trace

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
Bool = NDArray[np.bool_]

#: The phase of an event that has its length.
SLICE: Final = ord("X")
_BEGIN, _END = ord("B"), ord("E")
# Ranges that are on no thread, of which each has an id: as written now, and long ago.
_ASYNC_BEGINS, _ASYNC_ENDS = (ord("b"), ord("S")), (ord("e"), ord("F"))
_ASYNC: Final = "async"
#: The phases of begins and ends.
RANGES: Final = (_BEGIN, _END, *_ASYNC_BEGINS, *_ASYNC_ENDS)
#: Those of ranges that are on no thread.
ASYNC: Final = (*_ASYNC_BEGINS, *_ASYNC_ENDS)


class RangeEnds:
    """Makes slices of begins and ends; what lacks the other is counted and left out.

    Args:
        trace: Where places are added, and what is unpaired is counted.
        columns: Of all events; begins become slices in ``phase`` and ``flags``.
        times: Of all events; begins get their lengths.
        place_of: The place of each event; begins on no thread get another.
        nameless: The number of the empty text, which ends may have as their name.
    """

    def __init__(
        self,
        trace: Trace,
        columns: dict[str, NDArray[Any]],
        times: EventTimes,
        place_of: I32,
        nameless: int,
    ) -> None:
        self._trace = trace
        self._columns = columns
        self._times = times
        self._place_of = place_of
        self._nameless = nameless

    def close(self) -> None:
        """Close all ranges."""
        self._pair_on_threads()
        self._pair_without_thread()

    def _pair_on_threads(self) -> None:
        """Phases B and E nest on their thread."""
        phase = self._columns["phase"]
        rows = np.flatnonzero(one_of(phase, (_BEGIN, _END)) & self._times.has_start)
        if len(rows):
            self._pair(rows, self._place_of[rows], phase[rows] == _BEGIN)

    def _pair_without_thread(self) -> None:
        """What is on no thread pairs by process, category and id; long ago by name as well.

        It gets a place of its own for each process, beside its threads.
        """
        columns = self._columns
        phase = columns["phase"]
        rows = np.flatnonzero(one_of(phase, (*_ASYNC_BEGINS, *_ASYNC_ENDS)) & self._times.has_start)
        if not len(rows):
            return
        is_old = one_of(phase[rows], (_ASYNC_BEGINS[1], _ASYNC_ENDS[1]))
        keys = (
            columns["pid"][rows],
            columns["category"][rows],
            columns["ident"][rows],
            np.where(is_old, columns["name"][rows], -1),
        )
        group = np.unique(np.stack(keys).astype(np.int64), axis=1, return_inverse=True)[1].ravel()
        begin = self._pair(rows, group, one_of(phase[rows], _ASYNC_BEGINS))
        used, inverse = np.unique(self._place_of[begin], return_inverse=True)
        places = self._trace.places
        found = []
        for place in used.tolist():
            mine = (places[place][0], _ASYNC)
            if mine not in places:
                places.append(mine)
            found.append(places.index(mine))
        self._place_of[begin] = np.asarray(found or [0], np.int64)[inverse]

    def _pair(self, rows: I64, group: NDArray[Any], begins: Bool) -> I64:
        """Make slices of the begins whose ends are there; rows of those slices.

        Args:
            rows: Begins and ends.
            group: What each belongs to: they nest within it.
            begins: Which are begins.
        """
        by_time = np.lexsort((rows, self._times.start[rows], group))
        order, group, begins = rows[by_time], group[by_time], begins[by_time]
        depth = np.cumsum(np.where(begins, 1, -1)) + ~begins
        # Of one group and depth, each begin is followed by its end.
        nested = np.lexsort((np.arange(len(order)), depth, group))
        first, second = nested[:-1], nested[1:]
        pairs = begins[first] & ~begins[second] & (depth[first] == depth[second])
        pairs &= group[first] == group[second]
        first, second = first[pairs], second[pairs]
        name = self._columns["name"][order]
        is_other = (name[second] >= 0) & (name[second] != self._nameless)
        is_other &= name[first] != name[second]
        if is_other.any():
            first, second = _pair_by_name(group, begins, name, self._nameless)
        begin: I64 = order[first]
        self._columns["phase"][begin] = SLICE
        self._columns["flags"][begin] |= HAS_DURATION | HAS_END
        self._times.end_at(begin, order[second])
        self._trace.unpaired += len(rows) - len(begin) - len(np.unique(second))
        return begin


def _pair_by_name(
    group: NDArray[Any], begins: Bool, name: NDArray[Any], nameless: int
) -> tuple[I64, I64]:
    """Begins with their ends, by time, where ends say the name of what they end.

    One that names a range further out ends those within it, too; one that names none of the open
    ranges ends nothing.
    """
    first, second = [], []
    # The open ranges of each group, and how many of them have each name.
    stacks: dict[int, list[tuple[int, int]]] = defaultdict(list)
    counts: dict[int, Counter[int]] = defaultdict(Counter)
    for at, (one, is_begin, own) in enumerate(
        zip(group.tolist(), begins.tolist(), name.tolist(), strict=True)
    ):
        stack, count = stacks[one], counts[one]
        if is_begin:
            stack.append((at, own))
            count[own] += 1
            continue
        is_named = own >= 0 and own != nameless
        if not stack or (is_named and not count[own]):
            continue
        while True:
            begin, said = stack.pop()
            count[said] -= 1
            first.append(begin)
            second.append(at)
            if not is_named or said == own:
                break
    return np.asarray(first, np.int64), np.asarray(second, np.int64)
