"""``collectives``: every part of a collective on a device."""

from __future__ import annotations

from typing import Any

import numpy as np

from stepscope.sql.tables.table import (
    EVENT,
    HOST,
    PS_PER_US,
    QueryColumn,
    QueryTable,
    axis_time_us,
    dictionary,
    event_ids,
)
from stepscope.tables.collectives.operations import collectives
from stepscope.tables.core.profile import Profile
from stepscope.tables.device.events import device_events


def _rows(profile: Profile, number: int) -> dict[str, Any]:
    found, host = collectives(profile), profile.hosts[number]
    mine = np.flatnonzero(found.host == number)
    group = found.group[mine]
    matched = (group >= 0).tolist()
    rows = device_events(host).rows[found.event[mine]]
    length, wait = (
        (found.end_ps - found.start_ps)[mine] / PS_PER_US,
        found.wait_ps[mine] / PS_PER_US,
    )
    planes = [plane.name.removeprefix("/device:") for plane in host.space.planes]

    def known(values: np.ndarray) -> list[float | None]:
        pairs = zip(values.tolist(), matched, strict=True)
        return [value if one else None for value, one in pairs]

    return {
        "device": dictionary(planes, found.device[mine]),
        "name": dictionary(host.space.event_metadata.name, host.space.events.metadata[rows]),
        "operation": known(group),
        "start_us": axis_time_us(profile, number, host.space.events.start_ps[rows]),
        "duration_us": length,
        "wait_us": known(wait),
        "transfer_us": known(length - wait),
        "event": event_ids(profile, number, rows),
    }


TABLE = QueryTable(
    "collectives",
    "Every part of a collective: one row for each device that takes part.",
    (
        HOST,
        QueryColumn("device", "text", "Device, e.g. GPU:0."),
        QueryColumn("name", "text", "Name of the kernel or op."),
        QueryColumn(
            "operation",
            "integer",
            "Number of the exchange, equal on all its devices; empty without partners.",
        ),
        QueryColumn("start_us", "number", "Start on the timeline's axis."),
        QueryColumn("duration_us", "number", "Length on this device."),
        QueryColumn("wait_us", "number", "Until the last device arrived; empty without partners."),
        QueryColumn(
            "transfer_us", "number", "After the last device arrived; empty without partners."
        ),
        EVENT,
    ),
    _rows,
)
