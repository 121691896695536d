"""The device-level ops of a session."""

from __future__ import annotations

from stepscope.tables.core.profile import Profile, derived
from stepscope.tables.ops.hlo_totals import HloTotals, hlo_totals, hlo_totals_within, merge
from stepscope.tables.steps.time_base import mean_steps, summed_hosts


@derived
def profile_totals(profile: Profile) -> HloTotals:
    """The device-level ops of all hosts, merged by program and op.

    Hosts whose devices ran nothing do not add CPU ops to those of other hosts' devices.
    """
    parts = [
        hlo_totals(host) if spans is None else hlo_totals_within(host, spans)
        for host, spans in summed_hosts(profile)
    ]
    on_device = any(part.on_device and len(part) for part in parts)
    found = merge([part for part in parts if part.on_device == on_device])
    mean = mean_steps(profile)
    return found if mean is None else found.over(mean.count)
