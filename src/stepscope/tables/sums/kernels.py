"""The kernels of a session."""

from __future__ import annotations

from dataclasses import replace

from stepscope.tables.core.profile import Profile, derived
from stepscope.tables.device.kernels import DeviceKernel, host_kernels
from stepscope.tables.steps.time_base import mean_steps, summed_hosts


@derived
def session_kernels(profile: Profile) -> tuple[DeviceKernel, ...]:
    """The kernels of all hosts, by host and device."""
    found = [row for host, spans in summed_hosts(profile) for row in host_kernels(host, spans)]
    mean = mean_steps(profile)
    if mean is not None:
        found = [replace(row, times=row.times.over(mean.count)) for row in found]
    return tuple(found)
