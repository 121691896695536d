"""Events by what they have in common; where keys are few, in one pass without sorting.

A key counts from 0: the row of an event's name in the metadata, an op, a label. Millions of events
share a few hundred.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stepscope.columns.space import I32, I64, Bool
from stepscope.kernels import core
from stepscope.records import dataclass

Number = TypeVar("Number", bound=np.generic)
Rows = TypeVar("Rows", bound=NDArray[np.integer[Any]])

# So many places cost nothing, however few the keys are.
_FEW = 1 << 16
# Keys repeat if so many of them are one on average.
_SEVERAL = 8


def distinct(values: NDArray[Number]) -> NDArray[Number]:
    """The distinct values of an array of any shape, ascending.

    NumPy's functions of this name and those below first import ``numpy.ma``, which takes 8 ms.
    """
    ordered = np.sort(values, axis=None)
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def quantile(values: ArrayLike, frac: float) -> float:
    """The value that ``frac`` (0-1) of the values lie below, linear between two neighbours.

    NaN of no values, and where one of them is NaN.
    """
    found = np.asarray(values)
    if not len(found) or np.isnan(found).any():
        return float("nan")
    place = frac * (len(found) - 1)
    below = int(place)
    above = min(below + 1, len(found) - 1)
    parted = np.partition(found, (below, above))
    low, high = float(parted[below]), float(parted[above])
    return low + (high - low) * (place - below) if high > low else low


def median(values: ArrayLike) -> float:
    """The middle value, halfway between two of an even number; NaN as of ``quantile``."""
    return quantile(values, 0.5)


def rows_of(key: I32, wanted: Bool) -> I64:
    """Where the keys are that have a flag in ``wanted``, ascending."""
    if not wanted.any():
        return np.empty(0, np.int64)
    keys, flags = np.ascontiguousarray(key), np.ascontiguousarray(wanted).view(np.uint8)
    rows = np.empty(core.key.count_wanted(keys, flags), np.int64)
    core.key.collect_wanted(keys, flags, rows)
    return rows


def count_of(key: I32, wanted: Bool) -> int:
    """How many keys have a flag in ``wanted``."""
    flags = np.ascontiguousarray(wanted).view(np.uint8)
    return core.key.count_wanted(np.ascontiguousarray(key), flags) if wanted.any() else 0


def distinct_keys(key: I64) -> tuple[I64, I64]:
    """The distinct keys, in order.

    Returns:
        Where each stands first, and for every key which one it is.

    Raises:
        IndexError: A key is negative.
    """
    if int(key.min(initial=0)) < 0:
        raise IndexError("a key is negative")
    room = int(key.max(initial=0)) + 1
    if room > max(_FEW, len(key)):  # too many possible ones to have a place for each
        used_keys = distinct(key)
        if len(used_keys) > len(key) // _SEVERAL:
            _keys, first, code = np.unique(key, return_index=True, return_inverse=True)
            return first.astype(np.int64), code.ravel().astype(np.int64)
        # np.unique would sort the places too, and hold five arrays as long as the keys.
        code = np.searchsorted(used_keys, key)
        first = np.full(len(used_keys), -1, np.int64)
        core.key.find_first(code, first)
        return first, code
    place = np.full(room, -1, np.int64)
    core.key.find_first(np.ascontiguousarray(key), place)
    used = place >= 0
    return place[used], (np.cumsum(used) - 1)[key]


def coded(values: I64) -> tuple[I64, I64]:
    """The distinct values, ascending, and for every value which of them it is.

    ``np.unique`` sorts all values for that. Those of a recording mostly lie close together, or
    follow each other in runs; then nothing is sorted, or a value of each run alone.
    """
    if not len(values):
        return values, np.zeros(0, np.int64)
    low, high = int(values.min()), int(values.max())
    if high - low < max(_FEW, len(values)):
        seen = np.zeros(high - low + 1, bool)
        seen[values - low] = True
        used: I64 = np.flatnonzero(seen) + low
        return used, (np.cumsum(seen) - 1)[values - low]
    heads = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    used, code = np.unique(values[heads], return_inverse=True)
    lengths = np.diff(np.append(heads, len(values)))
    return used, np.repeat(code.ravel().astype(np.int64), lengths)


def coded_rows(*columns: I64) -> tuple[list[I64], I64]:
    """The distinct rows of several columns, in order, as columns; and which each row is."""
    used, code = coded(columns[0])
    found = [used]
    for column in columns[1:]:
        more, inner = coded(column)
        rows, code = coded(code * max(len(more), 1) + inner)
        found = [*(one[rows // max(len(more), 1)] for one in found), more[rows % max(len(more), 1)]]
    return found, code


def distinct_codes(codes: NDArray[Any]) -> tuple[I64, NDArray[np.int32]]:
    """The distinct numbers of a column, none below -1, and where each stands among them.

    Returns: The numbers, -1 last; and by number (-1 is the last entry) its place. Costs a look at
    each row, not a sort of them.
    """
    seen = np.zeros(int(codes.max(initial=-1)) + 2, np.bool_)
    seen[codes] = True
    used = np.flatnonzero(seen)
    place = np.zeros(len(seen), np.int32)
    place[used] = np.arange(len(used), dtype=np.int32)
    used[used == len(seen) - 1] = -1
    return used, place


def by_place(place: NDArray[Any], rows: Rows) -> Iterator[tuple[int, Rows]]:
    """The rows of each place, in their order."""
    mine = place[rows]
    if len(rows) and (mine == mine[0]).all():
        yield int(mine[0]), rows
        return
    order = np.argsort(mine, kind="stable")
    mine = mine[order]
    cuts = np.flatnonzero(mine[1:] != mine[:-1]) + 1
    order = cast("Any", rows[order])
    del mine
    for begin, end in pairwise([0, *cuts.tolist(), len(order)]):
        if end > begin:
            yield int(place[order[begin]]), cast("Rows", order[begin:end])


def rows_by_key(key: NDArray[np.integer[Any]]) -> dict[int, I64]:
    """Return the rows of each key, ascending."""
    return dict(by_place(key, np.arange(len(key))))


def sum_by_key(key: NDArray[np.integer[Any]], value: I64, size: int) -> I64:
    """Σ ``value`` per key 0 … size-1, exact; keys take 32 bits.

    Raises:
        IndexError: A key is not among them.
    """
    _same_length(key, value)
    total = np.zeros(size, np.int64)
    keys = np.ascontiguousarray(key, np.int32)
    if not core.key.add_by_key(keys, np.ascontiguousarray(value, np.int64), total):
        raise IndexError(f"a key is not in 0..{size - 1}")
    return total


@dataclass(frozen=True, eq=False, slots=True)
class LabelSums:
    """What the events of each label come to, by label.

    Attributes:
        count: How many they are.
        total_ps, self_ps: Σ of both times.
        longest: Which has the largest total time, of equals the first; -1 where there is none.
    """

    count: I64
    total_ps: I64
    self_ps: I64
    longest: I64


def sum_labels(label: I32, total_ps: I64, self_ps: I64, size: int) -> LabelSums:
    """Count, sums and longest event per label 0 … size-1.

    Raises:
        IndexError: A label is not among them.
    """
    _same_length(label, total_ps, self_ps)
    count, total, own = (np.zeros(size, np.int64) for _ in range(3))
    longest = np.full(size, -1, np.int64)
    events = map(np.ascontiguousarray, (label, total_ps, self_ps))
    if not core.key.sum_labels(*events, count, total, own, longest):
        raise IndexError(f"a label is not in 0..{size - 1}")
    return LabelSums(count, total, own, longest)


def look_up(rows: I64, values: I64, wanted: I64, default: int) -> I64:
    """The value of each wanted row, ``default`` where it has none.

    Args:
        rows: Ascending; of equal ones the first counts.
        values: One for each.
        wanted: In any order; fastest where they ascend.
        default: What those have that are not among ``rows``.
    """
    _same_length(rows, values)
    found = np.full(len(wanted), default, np.int64)
    columns = (np.ascontiguousarray(one, np.int64) for one in (rows, values, wanted))
    core.key.look_up(*columns, found)
    return found


def among(rows: I64, wanted: I64) -> Bool:
    """Which of ``wanted``, in any order, are among ``rows``, which ascend."""
    found: Bool = look_up(rows, np.ones(len(rows), np.int64), wanted, 0) > 0
    return found


def one_of(codes: NDArray[np.integer[Any]], wanted: Collection[int]) -> Bool:
    """Which codes are among a few small numbers that are known, none below 0.

    A look-up for each code: ``np.isin`` takes longer than the columns of a small file.
    """
    is_wanted = np.zeros(max([int(codes.max(initial=0)), *wanted]) + 1, np.bool_)
    is_wanted[list(wanted)] = True
    found: Bool = is_wanted[codes]
    return found


def _same_length(*columns: NDArray[Any]) -> None:
    """The kernels read as many values as there are keys."""
    if len({len(one) for one in columns}) > 1:
        raise ValueError(f"columns of different lengths: {[len(one) for one in columns]}")
