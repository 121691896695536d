"""Which rows are one meeting: the same communicator, and the same number."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import I32, I64, Bool
from stepscope.pod.rows import pieces
from stepscope.records import dataclass

_MOST: Final = 1 << 62


@dataclass(frozen=True, eq=False, slots=True)
class Identified:
    """Meetings, numbered by communicator, step (where numbers are of steps) and number.

    Attributes:
        kept: Rows that are one of at least two members, and the only one of their unit.
        node: Of these rows, which meeting each is.
        communicator, size: By meeting; its members are counted here.
        twice: How many rows have a number that occurs twice on their unit.
    """

    kept: Bool
    node: I32
    communicator: I32
    size: I32
    twice: int


def identified(rows: dict[str, Any]) -> Identified:
    """Number the meetings, and take what names them out of the columns.

    Args:
        rows: By unit: "unit", "communicator", "step", "number", and "numbered" where numbers count
            through all steps.
    """
    unit = rows["unit"]
    communicator = rows.pop("communicator")
    numbered = rows.pop("numbered")
    in_step = _count_from_one(rows["step"])
    in_step[numbered] = 0
    del numbered
    both = packed(communicator, in_step)
    del in_step
    key = packed(both, rows.pop("number"))
    del both
    order, is_first = _sorted(key)
    del key
    begin = np.flatnonzero(is_first).astype(np.int32)
    # Rows of a meeting are in the order of units.
    once = np.ones(len(order), dtype=np.bool_)
    for piece in pieces(max(len(order) - 1, 0)):
        here, there = order[piece], order[piece.start + 1 : piece.stop + 1]
        again = (unit[here] == unit[there]) & ~is_first[piece.start + 1 : piece.stop + 1]
        once[piece] &= ~again
        once[piece.start + 1 : piece.stop + 1] &= ~again
    del is_first
    twice = len(once) - int(np.count_nonzero(once))
    members: I32 = np.append(begin[1:], np.int32(len(order)))[: len(begin)] - begin
    size = np.add.reduceat(once, begin, dtype=np.int32) if len(begin) else begin
    counts = size > 1
    of_node = communicator[order[begin[counts]]]
    del communicator, begin
    number = np.cumsum(counts, dtype=np.int32)
    number -= 1
    once &= np.repeat(counts, members)
    node = np.empty(len(order), dtype=np.int32)
    node[order] = np.repeat(number, members)
    kept = np.empty(len(order), dtype=np.bool_)
    kept[order] = once
    del order, once, members, number
    return Identified(
        kept=kept,
        node=node if kept.all() else node[kept],
        communicator=of_node.astype(np.int32),
        size=size[counts],
        twice=twice,
    )


def _sorted(key: I64) -> tuple[NDArray[Any], Bool]:
    """Rows by key, then number, and which of them are the first of their key; spoils the keys."""
    is_first = np.ones(len(key), dtype=np.bool_)
    bits = len(key).bit_length()
    if not len(key) or int(key.max()) >= _MOST >> bits:
        order = np.argsort(key, kind="stable")
        key = key[order]
        np.not_equal(key[1:], key[:-1], out=is_first[1:])
        return order, is_first
    # With the row in its lowest bits a key is sorted in its place.
    key <<= bits
    for piece in pieces(len(key)):
        key[piece] |= np.arange(piece.start, piece.stop)
    key.sort()
    order = np.empty(len(key), dtype=np.int32)
    for piece in pieces(len(key)):
        order[piece] = key[piece] & ((1 << bits) - 1)
        before = max(piece.start - 1, 0)
        is_first[before + 1 : piece.stop] = np.diff(key[before : piece.stop] >> bits) != 0
    return order, is_first


def packed(high: NDArray[Any], low: NDArray[Any]) -> I64:
    """One number for every pair, in the order of pairs."""
    if not len(high):
        return np.zeros(0, dtype=np.int64)
    if _span(high) * _span(low) >= _MOST:
        # As many as rows at most, so pairs of these do fit.
        high, low = (np.unique(one, return_inverse=True)[1] for one in (high, low))
    found = np.empty(len(high), dtype=np.int64)
    first, second, size = int(high.min()), int(low.min()), _span(low)
    for piece in pieces(len(high)):
        found[piece] = high[piece]
        found[piece] -= first
        found[piece] *= size
        found[piece] += low[piece].astype(np.int64) - second
    return found


def _span(values: NDArray[Any]) -> int:
    """How many numbers there are from the least to the most of these."""
    return int(values.max()) - int(values.min()) + 1


def _count_from_one(values: NDArray[Any]) -> NDArray[Any]:
    """The same numbers, the least of which is 1."""
    if not len(values) or _span(values) >= _MOST:  # more than 64 bits hold
        return np.unique(values, return_inverse=True)[1] + 1
    least = int(values.min()) - 1
    narrow = _span(values) < np.iinfo(np.int32).max
    found = np.empty(len(values), dtype=np.int32 if narrow else np.int64)
    for piece in pieces(len(values)):
        found[piece] = values[piece].astype(np.int64) - least
    return found
