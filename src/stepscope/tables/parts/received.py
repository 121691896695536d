"""How much of waiting for a batch the loop's thread spends taking over what workers have sent.

PyTorch's workers put each tensor's memory into a file of its own, and the loop's process asks for
each of them: many small tensors cost it more than what is in them.
"""

from __future__ import annotations

import re
from math import nan
from typing import Final

import numpy as np

from stepscope.tables.account.account import Account
from stepscope.tables.core.interval_overlap import covered
from stepscope.tables.core.profile import Host
from stepscope.tables.parts.below_input import input_spans
from stepscope.tables.python.frames import OWN
from stepscope.tables.python.moments import one_line

_TAKES: Final = re.compile(r"(?:^|\.)rebuild_(?:storage_\w+|tensor|typed_storage\w*)$")


def received_frac(host: Host, found: Account) -> float:
    """The share; NaN where no call for a batch, or nothing of Python, was recorded."""
    calls = found.frames
    spans = input_spans(host, found)
    if calls is None or not len(spans[0]):
        return nan
    takes = np.isin(
        calls.name, [row for row, one in calls.names.items() if _TAKES.search(one.function)]
    )
    parent = one_line(calls.start_ps, calls.length_ps).parent.astype(np.int64)
    below = takes
    while below.any():
        below = (parent >= 0) & (calls.kind != OWN) & below[np.maximum(parent, 0)] & ~takes
        takes |= below
    moments = calls.moments
    within = covered(*spans, moments.start_ps, moments.end_ps)
    whole = int(within.sum())
    return float(within[takes[moments.owner]].sum()) / whole if whole else nan
