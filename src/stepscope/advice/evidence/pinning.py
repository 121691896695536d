"""Whether what a step copies to the device comes from pinned memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stepscope.analysis.device_idle import DeviceIdle

#: Of the time of copies to the device: from here on their memory is what decides.
_MOST = 0.5


def comes_from(idle: DeviceIdle | None) -> str:
    """The memory most of the copying to the device is from: "pageable", "pinned"; "" if unknown."""
    if idle is None:
        return ""
    rows = [row for row in idle.copies.records() if row.direction == "host to device"]
    whole = sum(row.time_ms for row in rows)
    for memory in ("pageable", "pinned"):
        own = sum(row.time_ms for row in rows if row.host_memory == memory)
        if own and own >= _MOST * whole:
            return memory
    return ""
