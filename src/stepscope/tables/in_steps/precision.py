"""In how many bits the devices compute: shares of their time."""

from __future__ import annotations

from typing import NamedTuple

from stepscope.tables.core.profile import Profile
from stepscope.tables.device.events import DeviceEvents, device_events
from stepscope.tables.host.events import Work
from stepscope.tables.steps.session import SessionSteps


class PrecisionShares(NamedTuple):
    """Shares of device compute; they sum to 1.

    Attributes:
        bits_16_frac: In 16 bits or fewer.
        bits_32_frac: In more.
        unknown_frac: Not known; the step's parts count it as 32-bit.
    """

    bits_16_frac: float
    bits_32_frac: float
    unknown_frac: float


def precision_shares(profile: Profile, found: SessionSteps | None) -> PrecisionShares | None:
    """In the kept steps, else in the whole profile; None where no device computed."""
    events = [device_events(host) for host in profile.hosts]
    wide = sum(_time(one, Work.COMPUTE_32) for one in events)
    untold = sum(_time(one, Work.COMPUTE_32, untold=True) for one in events)
    low, high = sum(_time(one, Work.COMPUTE_16) for one in events), wide
    if found is not None and found.kept.any():
        low = int(found.parts_ps["device_compute_16"][found.kept].sum())
        high = int(found.parts_ps["device_compute_32"][found.kept].sum())
    total = low + high
    if not total:
        return None
    unknown = high / total * (untold / wide if wide else 0.0)
    return PrecisionShares(low / total, high / total - unknown, unknown)


def _time(events: DeviceEvents, work: Work, *, untold: bool = False) -> int:
    chosen = events.work == work
    return int(events.self_ps[chosen & ~events.bits_known if untold else chosen].sum())
