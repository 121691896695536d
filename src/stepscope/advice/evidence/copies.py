"""The memory of the host that copies come from, for the rules about copies."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from stepscope.tables.core.thresholds import HALF_FRAC

if TYPE_CHECKING:
    from stepscope.analysis.device_idle import DeviceIdle
    from stepscope.analysis.hlo_stats import HloStats

# XLA's memory space 5 is the host's.
_HOST_MEMORY = re.compile(r"S\(5\)")


def comes_from(idle: DeviceIdle | None) -> str:
    """The memory most of the copying to the device is from: "pageable", "pinned"; "" if unknown."""
    rows = [] if idle is None else list(idle.copies.records())
    times = {"pageable": 0.0, "pinned": 0.0, "": 0.0}
    for row in rows:
        if row.direction == "host to device":
            memory = row.host_memory if row.host_memory in times else ""
            times[memory] += row.time_ms
    most = max(times, key=lambda memory: times[memory])
    return most if times[most] >= HALF_FRAC * sum(times.values()) > 0 else ""


def host_memory_ops(hlo: HloStats | None) -> tuple[float, tuple[str, ...]]:
    """The share of copying ops' time that involves host memory, and the longest such ops."""
    rows = () if hlo is None else hlo.ops.records()
    copies = [row for row in rows if row.category.startswith(("copy", "async"))]
    whole = sum(row.self_time_us for row in copies)
    own = [row for row in copies if _HOST_MEMORY.search(row.expression)]
    share = sum(row.self_time_us for row in own) / whole if whole else 0.0
    return share, tuple(row.hlo_op for row in own[:4])
