"""What a timeline shows, as plain values, to compare a recording with its export read back."""

from __future__ import annotations

from collections import Counter
from typing import Any

from stepscope.timeline import Timeline
from stepscope.timeline.flows import flows
from stepscope.timeline.threads import threads


def shown(found: Timeline) -> tuple[Counter[Any], Counter[Any], dict[Any, Any]]:
    """Events by place, arrows by what they join, counters."""
    view = found.span()[0], found.span()[1] + 1
    events: Counter[Any] = Counter()
    of_id: dict[int, Any] = {}
    origin_ps = found.axis.origin_ns * 1000
    for one in threads(found, *view):
        section = found.sections[one.track.section].name
        rows = zip(
            one.event.tolist(),
            one.name.tolist(),
            one.begin_ps.tolist(),
            one.end_ps.tolist(),
            one.depth.tolist(),
            strict=True,
        )
        for number, name, begin, end, depth in rows:
            start, stop = ((origin_ps + at) // 1000 for at in (begin, end))
            # Lanes of a track that does not nest are tracks of their own in Perfetto.
            level = depth if one.lane < 0 else 0
            of_id[number] = (section, found.names[name], start, stop - start, level)
            events[of_id[number]] += 1
    arrows = flows(found.profile)
    joined = Counter(
        (of_id.get(a), of_id.get(b))
        for a, b in zip(arrows.source.tolist(), arrows.target.tolist(), strict=True)
    )
    counters = {
        (found.sections[one.section].name, one.name): (
            [(origin_ps + at) // 1000 for at in one.counter.time_ps.tolist()],
            one.counter.value.tolist(),
        )
        for one in found.tracks
        if one.counter is not None
    }
    return events, joined, counters
