"""Activities that wait for each other: what held each up, how late each may end, the longest way.

An activity starts a fixed time after the last one that it waits for has ended (the time that was
recorded between them), and takes as long as it was recorded to take. So a delay of one moves those
behind it exactly as far as it reaches them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stepscope.columns.space import I64
from stepscope.kernels import core


class Chains(NamedTuple):
    """One row per activity.

    Attributes:
        held_by: The pair (row of ``before`` and ``after``) that an activity waited for longest;
            -1 where it waited for none. Of pairs that ended at once the last given counts.
        slack_ps: How much later it could end with nothing ending later than the last activity, or
            than it did where that is later.
        way: The activities from the last one back, each held up by the next.
    """

    held_by: I64
    slack_ps: I64
    way: I64


def chains(start_ps: I64, end_ps: I64, before: I64, after: I64, last: int) -> Chains:
    """What holds up ``last``, and how far everything else is from doing so.

    Args:
        start_ps: Of the activities.
        end_ps: Of the activities, each behind its start.
        before: Of each pair the activity that is waited for: it ends by the start of ``after``.
        after: Of each pair the activity that waits.
        last: The activity whose end counts.

    Raises:
        ValueError: An activity takes no time, or one waits for what ends after its start.
    """
    if np.any(end_ps <= start_ps):
        raise ValueError("an activity takes no time")
    if np.any(end_ps[before] > start_ps[after]):
        raise ValueError("an activity waits for what ends after its start")
    count = len(start_ps)
    pairs = np.arange(len(before), dtype=np.int64)
    ranked = np.lexsort((pairs, end_ps[before], after))
    held_by = np.full(count, -1, np.int64)
    held_by[after[ranked]] = ranked  # the last written of each counts
    waited = np.flatnonzero(held_by >= 0)
    holder = np.full(count, -1, np.int64)
    holder[waited] = before[held_by[waited]]
    gap = np.zeros(count, np.int64)
    gap[waited] = start_ps[waited] - end_ps[holder[waited]]
    latest = np.maximum(end_ps, end_ps[last])
    # Activities take time, so that what waits for one always starts behind it.
    order = np.argsort(-start_ps[after], kind="stable")
    margin = (end_ps - start_ps + gap)[after[order]]
    core.wait.latest_ends(before[order].data, after[order].data, margin.data, latest.data)
    way = np.empty(count, np.int64)
    length = core.wait.way_back(holder.data, last, way.data)
    return Chains(held_by, latest - end_ps, way[:length].copy())
