"""Whether each step runs more ops than the one before: what a program keeps, it goes through again.

Times waver with the machine, counts do not: a graph that is kept, a list that is gone through, or a
hook that is added again lengthens every step by the same number of ops.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.columns.space import I64
from stepscope.tables.account.native import DISPATCH, OP, Native
from stepscope.tables.steps.attribution import HostSteps

# Fewer steps may grow by chance.
_FEWEST = 4
# Of growth that counts: the last step has this many times the ops of the first.
_SOME = 1.2


@dataclass(frozen=True, slots=True)
class Growth:
    """Ops on the loop's thread that grow in number from each step to the next.

    Attributes:
        first, last: Ops of the first and of the last kept step.
        mean: Of all kept steps.
        op: Which of them grows most.
    """

    first: int
    last: int
    mean: float
    op: str


def growth(said: Native | None, steps: HostSteps) -> Growth | None:
    """None where some step runs no more than the one before it, or hardly more."""
    start, end = steps.start_ps[steps.kept], steps.end_ps[steps.kept]
    if said is None or len(start) < _FEWEST or steps.markers.is_window:
        return None
    ops = np.flatnonzero(np.isin(said.kind, (OP, DISPATCH)) & (said.label >= 0))
    step = np.searchsorted(start, said.start_ps[ops], side="right") - 1
    inside = (step >= 0) & (said.start_ps[ops] < end[np.maximum(step, 0)])
    ops, step = ops[inside], step[inside]
    count = np.bincount(step, minlength=len(start))
    if not (np.diff(count) > 0).all() or count[-1] < _SOME * count[0]:
        return None
    return Growth(
        int(count[0]), int(count[-1]), float(count.mean()), _growing(said, ops, step, len(start))
    )


def _growing(said: Native, ops: I64, step: I64, count: int) -> str:
    """The op of which the last step has most more than the first."""
    labels = said.named.labels
    last, first = (
        np.bincount(said.label[ops[step == one]], minlength=len(labels)) for one in (count - 1, 0)
    )
    return labels[int(np.argmax(last - first))][0]
