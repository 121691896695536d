"""Exact sums of int64 values by key."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import I64

# Integers up to here are exact as float64.
_EXACT = 2**53


def sum_by_key(key: NDArray[Any], value: I64, size: int) -> I64:
    """Σ ``value`` per key 0 … size-1, exact.

    ``np.bincount`` is fastest but adds in float64, which is exact only while no sum can pass
    2^53 (ps: 2.5 h); beyond that the values are sorted by key and added as integers.
    """
    total = np.zeros(size, dtype=np.int64)
    if len(key) == 0:
        return total
    largest = max(int(value.max()), -int(value.min()))
    if largest * len(key) < _EXACT or float(np.abs(value.astype(np.float64)).sum()) < _EXACT / 2:
        return np.bincount(key, weights=value, minlength=size).astype(np.int64)
    order = np.argsort(key, kind="stable")
    keys = key[order]
    cuts = np.flatnonzero(np.diff(keys, prepend=-1))
    total[keys[cuts]] = np.add.reduceat(value[order], cuts)
    return total
