"""The framework ops of a session, by side."""

from __future__ import annotations

from collections.abc import Callable

from stepscope.tables.core.profile import Host, Profile, derived
from stepscope.tables.core.time_spans import TimeSpans
from stepscope.tables.ops.framework_totals import (
    OpTotals,
    device_op_totals,
    device_ops_within,
    host_op_totals,
    host_ops_within,
    merge_totals,
)
from stepscope.tables.steps.time_base import mean_steps, summed_hosts


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
