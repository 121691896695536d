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
from stepscope.columns.space import I32, I64
from stepscope.tables.core.profile import Host, derived

_ROOM = 1 << 62


def packed(keys: Sequence[NDArray[np.integer]]) -> I64:
    """One integer per row, equal exactly where all keys are, and ordered as the keys are."""
    combined = np.zeros(len(keys[0]), dtype=np.int64)
    if len(combined) == 0:
        return combined
    bound = 1
    for key in keys:
        dense, low, size = _dense(key)
        if bound * size >= _ROOM:
            values = distinct(combined)
            combined, bound = np.searchsorted(values, combined), len(values)
        combined *= size  # in place: there may be as many rows as events
        combined += dense
        combined -= low
        bound *= size
    return combined


def _dense(key: NDArray[np.integer]) -> tuple[NDArray[np.integer], int, int]:
    """The key, or what stands for it in its order; its least, and how many values it may take."""
    signed = key.astype(np.int64) if key.dtype == np.uint64 else key
    low, high = int(signed.min()), int(signed.max())
    if high - low < 1 << 31:
        return signed, low, high - low + 1
    values = distinct(signed)
    return np.searchsorted(values, signed), 0, len(values)


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


@derived
def name_codes(host: Host) -> I32:
    """Per row of ``Space.event_metadata``, a number that rows of the same name share."""
    metadata = host.space.event_metadata
    found = np.arange(len(metadata), dtype=np.int32)
    for rows in metadata.rows_by_name.values():
        if len(rows) > 1:
            found[rows] = rows[0]
    return found
