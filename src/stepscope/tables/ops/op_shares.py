"""How much of a program's ops runs on devices, and how much eagerly."""

from __future__ import annotations

from typing import NamedTuple

from stepscope.tables.core.profile import Profile
from stepscope.tables.ops.framework_totals import (
    OpTotals,
    device_op_totals,
    host_op_totals,
    merge_totals,
)


class Shares(NamedTuple):
    """By occurrence, and of op time; None where there is nothing to share.

    Attributes:
        host_frac, device_frac: Of all runs of ops, those on the host and on devices.
        host_eager_frac, device_eager_frac: Of each side's op time, that of eager ops.
    """

    host_frac: float | None
    device_frac: float | None
    host_eager_frac: float | None
    device_eager_frac: float | None


def op_shares(profile: Profile) -> Shares:
    """The shares over all hosts."""
    host = merge_totals([host_op_totals(one) for one in profile.hosts])
    device = merge_totals([device_op_totals(one) for one in profile.hosts])
    counts = int(host.executions.sum()), int(device.executions.sum())
    total = sum(counts)
    return Shares(
        counts[0] / total if total else None,
        counts[1] / total if total else None,
        _eager(host),
        _eager(device),
    )


def _eager(totals: OpTotals) -> float | None:
    whole = totals.op_time_ps
    return int(totals.self_ps[totals.eager].sum()) / whole if whole else None
