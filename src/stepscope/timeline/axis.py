"""The common axis: where the clocks of the hosts lie on it."""

from __future__ import annotations

from typing import Final

from stepscope.tables.core.profile import Host, Profile, derived
from stepscope.tables.host.events import timed_events
from stepscope.tables.recording.environment import recorded_at
from stepscope.timeline.model import Axis

# Origins further apart than this are not two readings of one clock.
_ONE_CLOCK_NS: Final = 24 * 3600 * 10**9
# Far from what int64 holds: a begin is what a file says, and times are added to it.
_LAST_NS: Final = 1 << 62


@derived
def axis_of(profile: Profile) -> Axis:
    """The session's axis."""
    origins = _origins_ns([host for host in profile.hosts if len(host.space.events)])
    if not origins:
        return Axis(0, tuple(0 for _ in profile.hosts), "clock")
    first = min(origins.values())
    if max(origins.values()) - first <= _ONE_CLOCK_NS:
        shifts = tuple((origins.get(host, first) - first) * 1000 for host in profile.hosts)
        return Axis(first, shifts, "clock")
    starts = [host.space.events.start_ps[timed_events(host)] for host in profile.hosts]
    shifts = tuple(-int(start.min()) if len(start) else 0 for start in starts)
    return Axis(next(iter(origins.values())), shifts, "first event")


def _origins_ns(hosts: list[Host]) -> dict[Host, int]:
    """What time 0 of each host is: on the wall clock where all hosts tell, else on their own.

    TensorFlow, JAX and Stepscope count from the recording's begin and note when that was; two
    hosts that began apart would else lie side by side.
    """
    origins = {host: host.space.origin_ns for host in hosts}
    begins = {host: recorded_at(host).begin_unix_ns for host in hosts}
    if not all(0 < begin < _LAST_NS for begin in begins.values()):
        return origins
    return {
        host: begins[host] + origin if 0 <= origin < _ONE_CLOCK_NS else origin
        for host, origin in origins.items()
    }
