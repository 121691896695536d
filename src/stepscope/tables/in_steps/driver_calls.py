"""The host's calls of a device's driver in counted steps: launches of kernels, and its memory.

A launch is joined to the kernel by the correlation id; what the call is called does not matter
(``cuLaunchKernel``, ``hipModuleLaunchKernel``, in old recordings the kernel's own name).

An allocator asks the driver rarely: while it grows, or when it runs out and gives back what it
cached. Such a call takes long and waits for the device.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import among, distinct
from stepscope.columns.space import I64
from stepscope.records import dataclass
from stepscope.tables.core.processes import launch_ids
from stepscope.tables.core.profile import Host, Profile, derived
from stepscope.tables.device.driver_calls import allocating_names
from stepscope.tables.device.events import device_events
from stepscope.tables.host.events import timed_rows
from stepscope.tables.steps.session import aligned_steps

F64 = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class DriverCalls:
    """Calls of one name that begin in counted steps.

    Attributes:
        name: As recorded.
        occurrences: How many.
        total_ps: Their time.
        spread_frac: Over how large a share of the counted steps their time is spread: with time t
            in each of n steps (Σt)² / (n Σt²), which is 1 for equal times and 1/n where all of
            it is in one step.
    """

    name: str
    occurrences: int
    total_ps: int
    spread_frac: float


@derived
def session_allocations(profile: Profile) -> tuple[DriverCalls, ...]:
    """The calls of all hosts that take part in the steps, by name, the longest total first."""
    aligned = aligned_steps(profile)
    kept = np.all([one.steps.kept[one.rows] for one in aligned], axis=0) if aligned else None
    count = int(kept.sum()) if kept is not None else 0
    occurrences: dict[str, int] = {}
    time: dict[str, F64] = {}
    for one in aligned:
        host, chosen = profile.hosts[one.host], one.rows[kept]
        rows, step = _calls(host, one.steps.start_ps[chosen], one.steps.end_ps[chosen])
        meta, duration = host.space.events.metadata[rows], host.space.length_ps[rows]
        for entry in distinct(meta).tolist():
            own, name = meta == entry, host.space.event_metadata.name[entry]
            spent = np.bincount(step[own], weights=duration[own].astype(float), minlength=count)
            occurrences[name] = occurrences.get(name, 0) + int(own.sum())
            time[name] = time.get(name, np.zeros(count)) + spent
    found = [
        DriverCalls(name, occurrences[name], int(spent.sum()), _spread(spent))
        for name, spent in time.items()
    ]
    return tuple(sorted(found, key=lambda call: (-call.total_ps, call.name)))


def _spread(time: F64) -> float:
    square = float((time**2).sum())
    return float(time.sum()) ** 2 / (len(time) * square) if square else 1.0


def _calls(host: Host, start: I64, end: I64) -> tuple[I64, I64]:
    """Allocating events that begin in one of these disjoint ascending intervals, and in which."""
    events = host.space.events
    nothing = np.zeros(0, dtype=np.int64)
    if not len(events) or not len(start):
        return nothing, nothing
    rows = timed_rows(host, allocating_names(host))
    at = events.start_ps[rows]
    place = np.maximum(np.searchsorted(start, at, side="right") - 1, 0)
    inside = (at >= start[place]) & (at < end[place])
    return rows[inside], place[inside].astype(np.int64)


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
