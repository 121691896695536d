"""How much of the devices' time is replayed from CUDA or HIP graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stepscope.schema import names

if TYPE_CHECKING:
    from stepscope.analysis.overview_page import OverviewPage

#: From this share on, a step is launched as a graph already, whatever runs around it.
MOSTLY: Final = 0.5


def replayed_frac(overview: OverviewPage | None) -> float:
    """The share of the devices' op time that graphs replay, 0–1."""
    if overview is None:
        return 0.0
    return sum(
        float(row.self_time_frac)
        for row in overview.top_ops.records()
        if row.operation == names.FROM_GRAPH
    )
