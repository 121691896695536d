"""Exact sums of int64 values by key."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import I64


def sum_by_key(key: NDArray[Any], value: I64, size: int) -> I64:
    """Σ ``value`` per key 0 … size-1.

    ``np.bincount`` cannot do it: its weights are float64 and lose digits above 2^53 ps (2.5 h).
    """
    total = np.zeros(size, dtype=np.int64)
    if len(key) == 0:
        return total
    order = np.argsort(key, kind="stable")
    keys = key[order]
    cuts = np.flatnonzero(np.diff(keys, prepend=-1))
    total[keys[cuts]] = np.add.reduceat(value[order], cuts)
    return total
