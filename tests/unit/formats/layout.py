"""What a ``Space`` holds, as plain values that a test can name."""

from __future__ import annotations

from typing import Any

from stepscope.columns import event_stats
from stepscope.columns.space import Space

Event = dict[str, Any]


def lines(space: Space) -> dict[tuple[str, str], list[Event]]:
    """Events by the names of their plane and line: name, shown, start and length in ns, stats."""
    found: dict[tuple[str, str], list[Event]] = {}
    for line in space.lines:
        into = found.setdefault((space.planes[line.plane].name, line.name), [])
        for row in range(line.begin, line.end):
            entry = int(space.events.metadata[row])
            into.append(
                {
                    "name": space.event_metadata.name[entry],
                    "shown": space.event_metadata.display_name[entry],
                    "start": space.origin_ns + int(space.events.start_ps[row]) // 1000,
                    "length": int(space.events.duration_ps[row]) // 1000,
                    **dict(event_stats(space, row)),
                }
            )
    return found
