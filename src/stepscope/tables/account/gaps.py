"""Gaps between the ops that a program dispatches one by one: handing them over takes the time.

Where no Python was recorded, what runs between two ops is unknown. Between ops that follow each
other closely, again and again, it is the hand-over itself; a pair of them may once be torn apart
by another program. What lies between others, or lasts, is the program's own.
"""

from __future__ import annotations

import numpy as np

from stepscope.columns.space import I64, Bool

# From this many gaps between dispatched ops in a step on, there is a usual one.
_MANY = 20
# A pair of ops is torn apart by chance if it follows closely as often as this in a step, and seldom
# does not: two ops between which the program computes every other time are no such pair.
_AGAIN, _TORN_FRAC = 8, 0.4
# A gap of this many times the usual one is more than a hand-over.
_CLOSE = 10


def between_ops(start_ps: I64, end_ps: I64, before: I64, after: I64, steps: int) -> Bool:
    """Which gaps are the hand-over of ops.

    Args:
        start_ps: When each gap between two dispatched ops begins,
        end_ps: and when it ends.
        before: What is dispatched before each,
        after: and after it.
        steps: How many steps they are in.
    """
    length = end_ps - start_ps
    if len(length) < _MANY * steps:
        return np.zeros(len(length), dtype=bool)
    most = _CLOSE * float(np.median(length))
    pair = before * (int(after.max()) + 1) + after
    _pairs, code, count = np.unique(pair, return_inverse=True, return_counts=True)
    torn = np.bincount(code.ravel(), weights=length > most, minlength=len(count))
    is_usual = (count >= _AGAIN * steps) & (torn <= _TORN_FRAC * count)
    found: Bool = (length <= most) | is_usual[code.ravel()]
    return found
