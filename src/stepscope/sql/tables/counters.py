"""``counters``: every reading of every counter over time, as ``nvidia-smi`` logs them."""

from __future__ import annotations

from typing import Any

import numpy as np

from stepscope.sql.tables.table import HOST, QueryColumn, QueryTable, axis_time_us, dictionary
from stepscope.tables.core.profile import Profile
from stepscope.timeline.counters import counter_tracks


def _rows(profile: Profile, number: int) -> dict[str, Any] | None:
    host = profile.hosts[number]
    found = [
        (plane, track.name, track.counter)
        for plane, track in counter_tracks(host)
        if track.counter is not None
    ]
    if not found:
        return None
    code = np.repeat(np.arange(len(found)), [len(one.time_ps) for _, _, one in found])
    times = np.concatenate([one.time_ps for _, _, one in found])
    return {
        "plane": dictionary([host.space.planes[plane].name for plane, _, _ in found], code),
        "counter": dictionary([name for _, name, _ in found], code),
        "time_us": axis_time_us(profile, number, times),
        "value": np.concatenate([one.value for _, _, one in found]),
        "unit": dictionary([one.unit for _, _, one in found], code),
    }


TABLE = QueryTable(
    "counters",
    "Every reading of every counter of the recording: utilisation, power, memory, hardware.",
    (
        HOST,
        QueryColumn("plane", "text", "Device, or side of the host, that it is of."),
        QueryColumn("counter", "text", "Its name."),
        QueryColumn("time_us", "number", "Time on the timeline's axis."),
        QueryColumn("value", "number", "In the unit; it holds until the next reading."),
        QueryColumn("unit", "text", "Such as W, % or bytes; empty if not recorded."),
    ),
    _rows,
)
