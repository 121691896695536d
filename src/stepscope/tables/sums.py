"""Sums over all hosts of a session, of the recording or of the mean step: ops and kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from stepscope.tables.core.profile import Host, Profile, derived
from stepscope.tables.core.time_spans import TimeSpans
from stepscope.tables.device.kernels import DeviceKernel, host_kernels
from stepscope.tables.ops.framework_totals import (
    OpTotals,
    device_op_totals,
    device_ops_within,
    host_op_totals,
    host_ops_within,
    merge_totals,
)
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


@derived
def session_host_ops(profile: Profile) -> OpTotals:
    """Ops on the threads of all hosts."""
    return _session(profile, host_op_totals, host_ops_within)


@derived
def session_device_ops(profile: Profile) -> OpTotals:
    """Ops on the devices of all hosts."""
    return _session(profile, device_op_totals, device_ops_within)


def _session(
    profile: Profile,
    all_of: Callable[[Host], OpTotals],
    within: Callable[[Host, TimeSpans], OpTotals],
) -> OpTotals:
    found = merge_totals(
        [
            all_of(host) if spans is None else within(host, spans)
            for host, spans in summed_hosts(profile)
        ]
    )
    mean = mean_steps(profile)
    return found if mean is None else found.over(mean.count)


@derived
def session_kernels(profile: Profile) -> tuple[DeviceKernel, ...]:
    """The kernels of all hosts, by host and device."""
    found = [row for host, spans in summed_hosts(profile) for row in host_kernels(host, spans)]
    mean = mean_steps(profile)
    if mean is not None:
        found = [replace(row, times=row.times.over(mean.count)) for row in found]
    return tuple(found)
