"""The host's calls that launch kernels: how many in a step, and how long each takes the host.

A call is joined to what it launched by the correlation id; what it is called does not matter
(``cuLaunchKernel``, ``hipModuleLaunchKernel``, in old recordings the kernel's own name).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.columns import among, distinct
from stepscope.columns.space import I64
from stepscope.tables.core.processes import launch_ids
from stepscope.tables.core.profile import Host, Profile, derived
from stepscope.tables.device.events import device_events
from stepscope.tables.steps.session import aligned_steps


@dataclass(frozen=True, eq=False, slots=True)
class StepLaunches:
    """The launches of all hosts that begin in counted steps.

    Attributes:
        duration_ps: Of each call.
        name: Index into ``names``.
        names: Distinct names of the calls.
    """

    duration_ps: I64
    name: I64
    names: list[str]

    def __len__(self) -> int:
        return len(self.duration_ps)


@derived
def session_launches(profile: Profile) -> StepLaunches:
    """The calls that launched a kernel (no copy), of all hosts that take part in the steps."""
    aligned = aligned_steps(profile)
    kept = np.all([one.steps.kept[one.rows] for one in aligned], axis=0) if aligned else None
    index: dict[str, int] = {}
    durations: list[I64] = []
    codes: list[I64] = []
    for one in aligned:
        host, chosen = profile.hosts[one.host], one.rows[kept]
        rows = _within(
            host, _kernel_calls(host), one.steps.start_ps[chosen], one.steps.end_ps[chosen]
        )
        meta = host.space.events.metadata[rows]
        used, code = np.unique(meta, return_inverse=True)
        texts = [host.space.event_metadata.name[row] for row in used.tolist()]
        lut = np.asarray([index.setdefault(text, len(index)) for text in texts], dtype=np.int64)
        durations.append(host.space.length_ps[rows])
        codes.append(lut[code] if len(lut) else code.astype(np.int64))
    nothing = np.zeros(0, dtype=np.int64)
    return StepLaunches(
        np.concatenate([nothing, *durations]), np.concatenate([nothing, *codes]), list(index)
    )


def _kernel_calls(host: Host) -> I64:
    """Host events whose correlation id is that of a kernel."""
    found = device_events(host)
    kernels = distinct(found.correlation[found.is_kernel & (found.correlation >= 0)])
    if not len(kernels):
        return np.zeros(0, dtype=np.int64)
    calls = launch_ids(host)
    rows: I64 = calls.rows[among(kernels, calls.values)]
    return rows


def _within(host: Host, rows: I64, start: I64, end: I64) -> I64:
    """The rows that begin in one of these disjoint ascending intervals."""
    at = host.space.events.start_ps[rows]
    place = np.searchsorted(start, at, side="right") - 1
    inside = place >= 0
    inside[inside] = at[inside] < end[place[inside]]
    return rows[inside]
