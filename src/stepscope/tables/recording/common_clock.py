"""Whether two recordings of one program can be put on one clock, and by what."""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.records import dataclass
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.host.events import timed_events
from stepscope.tables.recording.environment import recorded_at
from stepscope.tables.steps.markers import step_markers

# The wall clock in ns since 1970, from 2001 to 2096: no other clock of a machine counts so far.
_FIRST_NS, _LAST_NS = 10**18, 4 * 10**18
# Times that count from the recording's begin are less than this.
_DAY_NS: Final = 24 * 3600 * 10**9
_PS_PER_NS: Final = 1000
_FEWEST_STEPS: Final = 3
# Steps that two recorders saw begin so differently, in steps, are not the same ones.
_SPREAD: Final = 0.05


@dataclass(frozen=True, slots=True)
class CommonClock:
    """How the times of a second recording become those of a first.

    Attributes:
        shift_ps: Added to the second's; None where it is not recorded.
        said: By what, or why not, as a clause.
    """

    shift_ps: int | None
    said: str


def common_clock(first: Host, second: Host) -> CommonClock:
    """The clock that two hosts' recordings have in common: the wall clock, else common steps."""
    one, other = _unix_ns(first), _unix_ns(second)
    if one is not None and other is not None:
        shift = (other - one) * 1000
        apart = _apart_s(first, second, shift)
        if apart:
            when = "after" if apart > 0 else "before"
            return CommonClock(None, f"it was recorded {abs(apart):,.1f} s {when} this one")
        return CommonClock(shift, "both are on the wall clock")
    found = _shift_by_steps(first, second)
    if found is not None:
        return CommonClock(found, "steps of the same numbers are in both")
    return CommonClock(None, "they have neither a clock nor steps in common")


def _unix_ns(host: Host) -> int | None:
    """What time 0 of a host is on the wall clock; None where it is not recorded."""
    begin, origin = recorded_at(host).begin_unix_ns, host.space.origin_ns
    if _FIRST_NS <= begin < _LAST_NS and 0 <= origin < _DAY_NS:
        return begin + origin
    return origin if _FIRST_NS <= origin < _LAST_NS else None


@derived
def span_ps(host: Host) -> tuple[int, int] | None:
    """When the first event of a host begins and the last one ends; None without events."""
    timed = timed_events(host)
    start = host.space.events.start_ps[timed]
    if not len(start):
        return None
    return int(start.min()), int((start + host.space.length_ps[timed]).max())


def _apart_s(first: Host, second: Host, shift_ps: int) -> float:
    """How long the second begins after the first has ended; below 0: ends before it begins."""
    one, other = span_ps(first), span_ps(second)
    if one is None or other is None:
        return 0.0
    begin, end = other[0] + shift_ps, other[1] + shift_ps
    if begin > one[1]:
        return (begin - one[1]) / 1e12
    return (end - one[0]) / 1e12 if end < one[0] else 0.0


def _shift_by_steps(first: Host, second: Host) -> int | None:
    """The shift that puts steps of equal numbers onto each other; None where none does."""
    one, other = step_markers(first), step_markers(second)
    if one is None or other is None or {one.source, other.source} != {"markers"}:
        return None
    _, mine, theirs = np.intersect1d(one.num, other.num, return_indices=True)
    if len(mine) < _FEWEST_STEPS:
        return None
    shifts = one.start_ps[mine] - other.start_ps[theirs]
    middle = int(np.median(shifts))
    step = float(np.median((one.end_ps - one.start_ps)[mine]))
    middle -= middle % _PS_PER_NS
    return middle if float(np.abs(shifts - middle).max()) <= _SPREAD * step else None
