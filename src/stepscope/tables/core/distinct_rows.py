"""Distinct combinations of several integer keys, without sorting rows.

``np.unique(…, axis=1)`` compares rows as records, some thirty times slower than sorting one
integer per row; here the keys are first packed into one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import distinct, distinct_keys
from stepscope.columns.space import I64

_ROOM = 1 << 62


def packed(keys: Sequence[NDArray[np.integer]]) -> I64:
    """One integer per row, equal exactly where all keys are, and ordered as the keys are."""
    combined = np.zeros(len(keys[0]), dtype=np.int64)
    if len(combined) == 0:
        return combined
    bound = 1
    for key in keys:
        dense, size = _from_zero(key.astype(np.int64, copy=False))
        if bound * size >= _ROOM:
            values = distinct(combined)
            combined, bound = np.searchsorted(values, combined), len(values)
        combined = combined * size + dense
        bound *= size
    return combined


def _from_zero(key: I64) -> tuple[I64, int]:
    """The key counted from 0, and how many values that may take."""
    low, high = int(key.min()), int(key.max())
    if high - low < 1 << 31:
        return key - low, high - low + 1
    values = distinct(key)
    return np.searchsorted(values, key), len(values)


def distinct_rows(keys: Sequence[NDArray[np.integer]]) -> tuple[I64, I64]:
    """The distinct combinations of keys, in order.

    Returns:
        The place of the first row of each, and for every row which one it has.
    """
    return distinct_keys(packed(keys))


def split(rows: I64, group: I64, groups: int) -> list[I64]:
    """The rows of each group, in their order; those of group -1 are left out."""
    order = np.argsort(group, kind="stable")
    cuts = np.searchsorted(group[order], np.arange(groups + 1))
    return [rows[order[low:high]] for low, high in pairwise(cuts.tolist())]
