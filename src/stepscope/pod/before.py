"""What each collective of a unit came from: the one that it stood for last."""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.columns.space import I32, I64, Bool
from stepscope.pod.rows import runs, whole_units

_MOST: Final = 1 << 62


def latest_before(unit: I32, start_ps: I64, duration_ps: I64, stood: Bool) -> I32:
    """By row, the row of its unit that ended last before it began; -1 for none.

    Args:
        unit: Ascending.
        start_ps: Of the rows, ascending within a unit.
        duration_ps: Of the rows.
        stood: Which rows can be what another came from; they take time.
    """
    found = np.full(len(unit), -1, dtype=np.int32)
    stack = list(whole_units(unit))
    while stack:
        at = stack.pop()
        begin = runs(unit[at])
        place = np.repeat(np.arange(len(begin)), np.diff(np.append(begin, at.stop - at.start)))
        start = start_ps[at] - start_ps[at][begin][place]
        end = start + duration_ps[at]
        span = int(max(end.max(), start.max())) + 1
        if span * len(begin) >= _MOST and len(begin) > 1:
            middle = at.start + int(begin[len(begin) // 2])
            stack += [slice(at.start, middle), slice(middle, at.stop)]
            continue
        # One axis for all: each unit has a stretch of it.
        rows = np.flatnonzero(stood[at])
        if not len(rows):
            continue
        key = place * span
        ends = (key + end)[rows]
        order = np.argsort(ends, kind="stable")
        last = np.searchsorted(ends[order], key + start, side="right") - 1
        source = rows[order][np.maximum(last, 0)]
        found[at] = np.where((last >= 0) & (place[source] == place), source + at.start, -1)
    return found
