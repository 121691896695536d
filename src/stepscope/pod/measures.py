"""What each unit spends a step on, against its peers: the measures by which one can stand out.

Devices of one kind differ by a few percent in what they compute, so a host that waits 3 % of the
step for input hides in the sum; it does not in the time for input.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stepscope.columns.space import I64
from stepscope.pod.intake import Gathered

F64 = NDArray[np.float64]

# Ops that take less of all time do not make a step longer.
_LEAST_OF_TIME: Final = 0.05
_MOST_OPS: Final = 12


def excesses_of(gathered: Gathered, stage: I64, steps: int) -> dict[str, F64]:
    """By measure (causes, and ops that take much time), how much more than peers, ps a step."""
    measures = dict(gathered.parts_ps)
    by_op = gathered.ops.group_by("op").agg(pl.col("total_ps").sum())
    enough = by_op.filter(pl.col("total_ps") >= _LEAST_OF_TIME * pl.col("total_ps").sum())
    names = {gathered.op_names[op]: op for op in enough["op"].to_list()}
    totals = dict(enough.iter_rows())
    for name in sorted(names, key=lambda one: (totals[names[one]], one))[-_MOST_OPS:]:
        rows = gathered.ops.filter(pl.col("op") == names[name])
        values = np.zeros(len(stage))
        values[rows["unit"].to_numpy()] = rows["total_ps"].to_numpy() / steps
        measures[f"op {name}"] = values
    return {name: values - _peers_median(values, stage) for name, values in measures.items()}


def _peers_median(values: F64, stage: I64) -> F64:
    found = np.zeros(len(values))
    for one in np.unique(stage):
        mine = stage == one
        found[mine] = np.median(values[mine])
    return found
