"""Rows of a large table, some at a time: what is made of them on the way stays small."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import I32, I64

_PIECE: Final = 1 << 16


def pieces(count: int) -> Iterator[slice]:
    """So many rows, some at a time."""
    return (slice(low, min(low + _PIECE, count)) for low in range(0, count, _PIECE))


def whole_units(unit: I32) -> Iterator[slice]:
    """All rows, some at a time; rows of a unit, which are together, come together."""
    bounds = [0]
    while (low := bounds[-1]) < len(unit):
        high = min(low + _PIECE, len(unit))
        if high < len(unit):
            first = int(np.searchsorted(unit, unit[high]))
            high = first if first > low else int(np.searchsorted(unit, unit[high], side="right"))
        bounds.append(high)
        yield slice(low, high)


def by_index(values: NDArray[Any], index: I32 | I64) -> NDArray[Any]:
    """``values[index]`` without a 64-bit copy of a narrow index."""
    found = np.empty(len(index), dtype=values.dtype)
    for piece in pieces(len(index)):
        found[piece] = values[index[piece]]
    return found


def runs(*columns: NDArray[Any]) -> I64:
    """Where runs of equal rows begin."""
    differ = np.zeros(len(columns[0]), dtype=np.bool_)
    differ[:1] = True
    for one in columns:
        differ[1:] |= one[1:] != one[:-1]
    return np.flatnonzero(differ)


class Numbers(Protocol):
    """A column that is there, or made a piece at a time."""

    def __len__(self) -> int: ...

    def __getitem__(self, piece: slice, /) -> I32: ...


def offsets(values: Numbers, size: int) -> I32:
    """Where each value from 0 on begins if they are sorted, and the end of the last."""
    found = np.zeros(size + 1, dtype=np.int32)
    for piece in pieces(len(values)):
        mine = values[piece]
        np.add.at(found, mine[mine >= 0] + 1, 1)
    return np.cumsum(found, dtype=np.int32, out=found)


def grouped(values: Numbers, begin: I32) -> I32:
    """Rows by their values (those from 0 on), in order among equal ones.

    Args:
        values: Small numbers.
        begin: Their ``offsets``, with which nothing is sorted but some rows at a time.
    """
    following = begin[:-1].copy()
    found = np.empty(int(begin[-1]), dtype=np.int32)
    for piece in pieces(len(values)):
        mine = values[piece]
        order = np.argsort(mine, kind="stable").astype(np.int32)
        order = order[int((mine < 0).sum()) :]
        first = runs(mine[order])
        many = np.diff(np.append(first, len(order))).astype(np.int32)
        value = mine[order[first]]
        place = np.arange(len(order), dtype=np.int32)
        place += np.repeat(following[value] - first.astype(np.int32), many)
        found[place] = order + np.int32(piece.start)
        following[value] += many
    return found
