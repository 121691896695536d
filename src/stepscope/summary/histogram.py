"""Histograms of durations whose boundaries are the same everywhere, so that they can be added.

Bucket *k* holds the durations in (γ^(k−1), γ^k] picoseconds, γ = (1 + α) / (1 − α). Any quantile
read from it is off by a relative α = 1 % at most (the idea of DDSketch, Masson et al., VLDB 2019);
merging is addition of counts: exact, in any order.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from stepscope.columns.space import I64

ALPHA: Final = 0.01
_GAMMA: Final = (1 + ALPHA) / (1 - ALPHA)
_LOG: Final = float(np.log(_GAMMA))


def bucket_of(duration_ps: I64) -> I64:
    """The bucket of each duration; what lasts no time at all shares that of 1 ps."""
    found: I64 = np.ceil(np.log(np.maximum(duration_ps, 1)) / _LOG).astype(np.int64)
    return found


def quantile_ps(bucket: I64, count: I64, share: float) -> float:
    """The duration that a share of all do not exceed; NaN where there are none.

    Args:
        bucket: Ascending.
        count: How many durations each holds.
        share: From 0 to 1.
    """
    total = int(count.sum())
    if total == 0:
        return float("nan")
    rank = min(max(int(np.ceil(share * total)), 1), total)
    place = int(np.searchsorted(np.cumsum(count), rank))
    return float(2 * _GAMMA ** int(bucket[place]) / (_GAMMA + 1))


def merged(tables: list[pl.DataFrame], by: list[str]) -> pl.DataFrame:
    """The sum of histograms with columns ``by``, ``bucket`` and ``count``, whatever their order."""
    whole = pl.concat(tables)
    return whole.group_by(*by, "bucket").agg(pl.col("count").sum()).sort(*by, "bucket")
