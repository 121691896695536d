"""``events``: every recorded event."""

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
    lines_planes,
)
from stepscope.tables.core.profile import Profile


def _rows(profile: Profile, number: int) -> dict[str, Any]:
    host = profile.hosts[number]
    space = host.space
    line = space.event_line
    return {
        "plane": dictionary([plane.name for plane in space.planes], lines_planes(host)[line]),
        "line": dictionary([line.label for line in space.lines], line),
        "name": dictionary(space.event_metadata.name, space.events.metadata),
        "start_us": axis_time_us(profile, number, space.events.start_ps),
        "duration_us": space.length_ps / PS_PER_US,
        "event": event_ids(profile, number, np.arange(len(space.events), dtype=np.int64)),
    }


TABLE = QueryTable(
    "events",
    "Every event of the recording.",
    (
        HOST,
        QueryColumn("plane", "text", "Device, or side of the host, e.g. /device:GPU:0."),
        QueryColumn("line", "text", "Thread, stream or derived line."),
        QueryColumn("name", "text", "Name of the event."),
        QueryColumn("start_us", "number", "Start on the timeline's axis."),
        QueryColumn("duration_us", "number", "Length; 0 for instants."),
        EVENT,
    ),
    _rows,
)
