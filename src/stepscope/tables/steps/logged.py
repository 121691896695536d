"""Every step of a run, from a step log: a row for a step, or for some that were put together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import stats_by_name
from stepscope.columns.space import F64, I64
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.core.profile import Host, derived


@dataclass(frozen=True, slots=True, eq=False)
class LoggedSteps:
    """The steps of one process, in order.

    Attributes:
        process: Its rank, or host and number.
        first: Number of steps before each row.
        steps: Steps of each row.
        start_ps: Begin of each row.
        sum_us, max_us, wait_us: Time of its steps, the longest one, and their wait for input.
        memory_bytes: Memory of the process; 0 if unknown.
        values: Means of the values that the program gave, by name; NaN in rows without.
        devices: Readings of devices by name, in the first row of each chunk that has some; energy
            is in J since the chunk before.
    """

    process: str
    first: I64
    steps: I64
    start_ps: I64
    sum_us: I64
    max_us: I64
    wait_us: I64
    memory_bytes: I64
    values: Mapping[str, F64]
    devices: Mapping[str, F64] = field(default_factory=dict)

    @property
    def mean_us(self) -> F64:
        """Mean step of each row."""
        mean: F64 = self.sum_us / np.maximum(self.steps, 1)
        return mean


@derived
def logged_steps(host: Host) -> tuple[LoggedSteps, ...]:
    """The steps of each process of a step log."""
    space = host.space
    prefixes = names.STEP_LOG_VALUE, names.STEP_LOG_DEVICE
    noted = {name for name in space.stat_metadata.name if name.startswith(prefixes)}
    given = sorted(noted, reverse=True)[: names.STEP_LOG_MOST_NAMES]
    numbers = (
        names.STEP_NUM,
        names.STEP_LOG_STEPS,
        names.STEP_LOG_SUM,
        names.STEP_LOG_MAX,
        names.STEP_LOG_WAIT,
        names.STEP_LOG_MEMORY,
    )
    columns = stats_by_name(space, (*numbers, *given))
    counted = [(columns[name].rows, columns[name].ints) for name in numbers]
    named = {name: (columns[name].rows, columns[name].floats) for name in sorted(given)}
    found = []
    for line in space.lines:
        if space.planes[line.plane].name != names.STEP_LOG_PLANE or line.begin == line.end:
            continue
        first, steps, sums, most, wait, memory = (
            _dense(rows, values, line.begin, line.end, 0) for rows, values in counted
        )
        means = {
            name: _dense(rows, values, line.begin, line.end, np.nan)
            for name, (rows, values) in named.items()
            if np.searchsorted(rows, line.begin) < np.searchsorted(rows, line.end)
        }
        values, devices = (
            {
                name.removeprefix(prefix): one
                for name, one in means.items()
                if name.startswith(prefix)
            }
            for prefix in prefixes
        )
        start = space.events.start_ps[line.begin : line.end]
        found.append(
            LoggedSteps(line.name, first, steps, start, sums, most, wait, memory, values, devices)
        )
    return tuple(found)


def _dense(rows: I64, values: NDArray[Any], begin: int, end: int, missing: float) -> Any:
    """A value for each row of a stretch of events, of a column that has some, in their order."""
    at = slice(*np.searchsorted(rows, [begin, end]).tolist())
    dense = np.full(end - begin, missing, values.dtype)
    dense[rows[at] - begin] = values[at]
    return dense
