"""What each unit spends a step on, against its peers: the measures by which one can stand out.

Devices of one kind differ by a few percent in what they compute, so a host that waits 3 % of the
step for input hides in the sum; it does not in the time for input.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stepscope.columns.space import I64
from stepscope.summary.summary import Summary

F64 = NDArray[np.float64]

#: Causes that parts of a step stand for; collectives are waits, and waits are others' doing.
CAUSE_OF_PART: Final = {
    "device_compute_16": "compute",
    "device_compute_32": "compute",
    "device_to_device": "copies",
    "host_to_device": "copies",
    "output": "copies",
    "input": "input",
    "kernel_launch": "launch",
    "host_compute": "host",
    "compilation": "host",
    "other": "host",
}
# Ops that take less of all time do not make a step longer.
_LEAST_OF_TIME: Final = 0.05
_MOST_OPS: Final = 12


def parts_of(summaries: Sequence[Summary], units: int) -> dict[str, F64]:
    """By cause, what each unit spends on it in its mean step."""
    steps, first = [], 0
    for one in summaries:
        steps.append(
            one.steps.with_columns((pl.col("device").cast(pl.Int64) + first).alias("unit"))
        )
        first += len(one.who.devices)
    columns = [f"{part}_ps" for part in CAUSE_OF_PART]
    means = pl.concat(steps).group_by("unit").agg(pl.col(columns).mean()).sort("unit")
    found: dict[str, F64] = {}
    for part, cause in CAUSE_OF_PART.items():
        values = found.setdefault(cause, np.zeros(units))
        values[means["unit"].to_numpy()] += means[f"{part}_ps"].to_numpy()
    return found


def excesses_of(summaries: Sequence[Summary], stage: I64, steps: int) -> dict[str, F64]:
    """By measure (causes, and ops that take much time), how much more than peers, ps a step."""
    units = len(stage)
    measures = dict(parts_of(summaries, units))
    ops, first = [], 0
    for one in summaries:
        ops.append(one.ops.with_columns((pl.col("device").cast(pl.Int64) + first).alias("unit")))
        first += len(one.who.devices)
    whole = pl.concat(ops)
    by_op = whole.group_by("op").agg(pl.col("total_ps").sum()).sort("total_ps", "op")
    enough = by_op.filter(pl.col("total_ps") >= _LEAST_OF_TIME * pl.col("total_ps").sum())
    for op in enough["op"].to_list()[-_MOST_OPS:]:
        rows = whole.filter(pl.col("op") == op)
        values = np.zeros(units)
        values[rows["unit"].to_numpy()] = rows["total_ps"].to_numpy() / steps
        measures[f"op {op}"] = values
    return {name: values - _peers_median(values, stage) for name, values in measures.items()}


def _peers_median(values: F64, stage: I64) -> F64:
    found = np.zeros(len(values))
    for one in np.unique(stage):
        mine = stage == one
        found[mine] = np.median(values[mine])
    return found
