"""Which steps are long, what they cost, and which is the slowest."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from stepscope.advice.evidence.steps import LongSteps, long_steps

OUTLIER_MS = 77.0


def overview(*times_ms: float, kept: list[bool] | None = None) -> Any:
    """The overview of steps that follow each other, numbered from 10."""
    ends = np.cumsum(times_ms)
    table = {
        "step_num": np.arange(10, 10 + len(times_ms)),
        "start_ms": ends - times_ms,
        "step_time_ms": np.asarray(times_ms),
        "kept": np.asarray(kept if kept is not None else [True] * len(times_ms)),
        "is_outlier": np.asarray(times_ms) == OUTLIER_MS,
    }
    return SimpleNamespace(step_table=table)


def found(*times_ms: float, kept: list[bool] | None = None) -> LongSteps:
    steps = long_steps(overview(*times_ms, kept=kept))
    assert isinstance(steps, LongSteps)
    return steps


def test_what_costs_less_than_three_per_cent_is_cheap() -> None:
    # 11 of 1,011 ms, and 40 of 1,030 ms.
    assert found(*[10.0] * 99, 21.0).is_cheap
    assert not found(*[10.0] * 98, 50.0).is_cheap
    even = found(*[10.0] * 8)
    assert (even.count, even.cost_frac, even.is_cheap) == (0, 0.0, True)
    assert found(*[0.0] * 8).cost_frac == 0.0
