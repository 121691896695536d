"""Steps that are long or replayed from graphs, and what a rule says where there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stepscope.advice.render import unknown
from stepscope.columns import median
from stepscope.records import dataclass
from stepscope.registry import NEGLIGIBLE_FRAC, Unknown
from stepscope.result import Ref
from stepscope.schema import names
from stepscope.tables.core.thresholds import HALF_FRAC, MANY

if TYPE_CHECKING:
    from stepscope.analysis.overview_page import OverviewPage
    from stepscope.analysis.step_account import StepAccount


@dataclass(frozen=True, eq=False, slots=True)
class LongSteps:
    """The counted steps and outliers, and those longer than twice the median among them.

    Attributes:
        rows: Rows of these steps in overview_page's step table.
        time_ms: Time of each of them.
        is_long: Whether it is long.
        median_ms: The median step.
        excess_ms: What the long ones take beyond the median, together.
        slowest: Number of the slowest step, as recorded.
        slowest_begin_ms: When it begins.
    """

    rows: NDArray[np.int64]
    time_ms: NDArray[np.float64]
    is_long: NDArray[np.bool_]
    median_ms: float
    excess_ms: float
    slowest: int
    slowest_begin_ms: float

    @property
    def count(self) -> int:
        """How many are long."""
        return int(self.is_long.sum())

    @property
    def per_step_ms(self) -> float:
        """Their cost for the mean step."""
        return self.excess_ms / len(self.time_ms)

    @property
    def cost_frac(self) -> float:
        """Their excess as a share of all step time."""
        whole = float(self.time_ms.sum())
        return self.excess_ms / whole if whole else 0.0

    @property
    def is_cheap(self) -> bool:
        """Whether there are none, or too few to change a program for."""
        return not self.count or self.cost_frac < NEGLIGIBLE_FRAC

    @property
    def slowest_ms(self) -> float:
        """Time of the slowest step."""
        return float(self.time_ms.max())

    @property
    def measured(self) -> dict[str, float | str]:
        """The same as numbers, for a finding."""
        return {
            "slow_steps": self.count,
            "step_count": len(self.time_ms),
            "median_ms": self.median_ms,
            "slowest_ms": self.slowest_ms,
        }

    @property
    def slowest_ref(self) -> Ref:
        """The slowest step in the timeline."""
        begin = self.slowest_begin_ms
        end = begin + self.slowest_ms
        return Ref("trace_viewer", f"step {self.slowest}", from_ms=begin, to_ms=end)


def long_steps(overview: OverviewPage) -> LongSteps | Unknown:
    """The long steps of overview_page's table."""
    table = overview.step_table
    timed = np.asarray(table["kept"], dtype=np.bool_) | np.asarray(table["is_outlier"], np.bool_)
    rows = np.flatnonzero(timed)
    time = np.asarray(table["step_time_ms"], dtype=np.float64)[rows]
    if len(time) < MANY:
        return unknown("few_steps", count=len(time))
    typical = median(time)
    is_long = time > 2 * typical
    slowest = int(rows[time.argmax()])
    return LongSteps(
        rows=rows,
        time_ms=time,
        is_long=is_long,
        median_ms=typical,
        excess_ms=float((time[is_long] - typical).sum()),
        slowest=int(np.asarray(table["step_num"])[slowest]),
        slowest_begin_ms=float(np.asarray(table["start_ms"], dtype=np.float64)[slowest]),
    )


def is_the_recorders(account: StepAccount | None) -> bool:
    """Whether most of the steps is what a recorder does: they say nothing about the program."""
    return account is not None and account.recorder_ms >= HALF_FRAC * account.step_time_ms > 0


def is_window(overview: OverviewPage) -> bool:
    """Whether no step was found, and the whole recording counts as one."""
    return overview.steps.source == "window"


def replayed_frac(overview: OverviewPage | None) -> float:
    """The share of the devices' op time that CUDA or HIP graphs replay, 0–1."""
    if overview is None:
        return 0.0
    return sum(
        float(row.self_time_frac)
        for row in overview.top_ops.records()
        if row.operation == names.FROM_GRAPH
    )
