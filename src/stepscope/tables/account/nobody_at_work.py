"""How much of the loop's waits nobody in the process is at work for.

What ends such a wait is a time limit (a timeout, a batching window), or something outside.
"""

from __future__ import annotations

from math import nan

import numpy as np

from stepscope.columns import union_spans
from stepscope.columns.space import I64
from stepscope.tables.account.account import Account
from stepscope.tables.core.interval_overlap import covered
from stepscope.tables.core.profile import Host
from stepscope.tables.python.frames import Frames
from stepscope.tables.python.idle_calls import works
from stepscope.tables.python.other_threads import other_threads

# Who waits less is not asked what others do: to read the calls of many threads takes its time.
_LEAST_FRAC = 0.05


def nobody_frac(host: Host, found: Account) -> float:
    """Of the time in which the loop's thread waits, the share in which no other is at work.

    NaN where it hardly waits, or no other thread of the program was sampled.
    """
    calls, steps = found.frames, found.found
    if calls is None or not calls.is_sampled or not calls.is_passive.any():
        return nan
    begin_ps, end_ps = int(steps.start_ps[steps.kept][0]), int(steps.end_ps[steps.kept][-1])
    waits = calls.is_passive[calls.moments.owner]
    start = np.maximum(calls.moments.start_ps[waits], begin_ps)
    end = np.minimum(calls.moments.end_ps[waits], end_ps)
    inside = end > start
    waited_ps = int((end - start)[inside].sum())
    if waited_ps < _LEAST_FRAC * (end_ps - begin_ps):
        return nan
    work = [_at_work(host, one) for _name, one in other_threads(host, calls, begin_ps, end_ps)]
    if not work:
        return nan
    busy = union_spans(*(np.concatenate([one[side] for one in work]) for side in (0, 1)))
    return 1 - int(covered(*busy, start[inside], end[inside]).sum()) / waited_ps


def _at_work(host: Host, calls: Frames) -> tuple[I64, I64]:
    """When a thread runs the program's code or a library's, and does not wait."""
    runs = works(host, calls)
    return calls.moments.start_ps[runs], calls.moments.end_ps[runs]
