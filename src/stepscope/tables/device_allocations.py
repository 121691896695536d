"""The host's calls that get or give back a device's memory from the driver, in counted steps.

An allocator asks the driver rarely: while it grows, or when it runs out and gives back what it
cached. Such a call takes long and waits for the device.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.columns.space import I64
from stepscope.tables.driver_calls import allocating_names
from stepscope.tables.host_events import timed_events
from stepscope.tables.profile import Host, Profile, derived
from stepscope.tables.session_steps import aligned_steps


@dataclass(frozen=True, slots=True)
class DriverCalls:
    """Calls of one name that begin in counted steps.

    Attributes:
        name: As recorded.
        occurrences: How many.
        total_ps: Their time.
    """

    name: str
    occurrences: int
    total_ps: int


@derived
def session_allocations(profile: Profile) -> tuple[DriverCalls, ...]:
    """The calls of all hosts that take part in the steps, by name, the longest total first."""
    aligned = aligned_steps(profile)
    kept = np.all([one.steps.kept[one.rows] for one in aligned], axis=0) if aligned else None
    sums: dict[str, list[int]] = {}
    for one in aligned:
        host, chosen = profile.hosts[one.host], one.rows[kept]
        rows = _calls(host, one.steps.start_ps[chosen], one.steps.end_ps[chosen])
        meta, duration = host.space.events.metadata[rows], host.space.events.duration_ps[rows]
        for entry in np.unique(meta).tolist():
            total = sums.setdefault(host.space.event_metadata.name[entry], [0, 0])
            total[0] += int((meta == entry).sum())
            total[1] += int(duration[meta == entry].sum())
    found = [DriverCalls(name, *total) for name, total in sums.items()]
    return tuple(sorted(found, key=lambda call: (-call.total_ps, call.name)))


def _calls(host: Host, start: I64, end: I64) -> I64:
    """Allocating events that begin in one of these disjoint ascending intervals."""
    events = host.space.events
    if not len(events) or not len(start):
        return np.zeros(0, dtype=np.int64)
    rows = np.flatnonzero(allocating_names(host)[events.metadata] & timed_events(host))
    at = events.start_ps[rows]
    place = np.maximum(np.searchsorted(start, at, side="right") - 1, 0)
    return rows[(at >= start[place]) & (at < end[place])].astype(np.int64)
