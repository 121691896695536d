"""The workers of a run: who needs how long for a step, and how long each waits for the others.

A worker is a host with its devices. Where the devices of a host meet in collectives each of them
is a worker of its own: they do the same work side by side, and a slow one keeps the others waiting.
Devices that do not meet share their host's step, like the stages of a pipeline.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import nan
from typing import Any

import numpy as np

from stepscope.comparison.comparison import WorkerTimeRow
from stepscope.comparison.pods import same_places
from stepscope.pod.decoded import pod_of_profile
from stepscope.records import dataclass, replace
from stepscope.result import Table
from stepscope.tables.collectives.operations import collectives
from stepscope.tables.core.profile import Profile
from stepscope.tables.device.events import device_events
from stepscope.tables.steps.session import aligned_steps, session_steps
from stepscope.tables.workers.exposed_time import ALL_DEVICES, exposed_of
from stepscope.tables.workers.steps import WAIT, worker_steps


@dataclass(frozen=True, slots=True)
class WorkerTime:
    """The average kept step of one worker.

    Attributes:
        name: The host, the device where it is one of several on the only host, else both.
        host: Index into ``Profile.hosts``.
        device: Row in its ``Space.planes``, or ``ALL_DEVICES``.
        step_ms: The step.
        wait_ms: How much of it the worker waits for slower ones.
    """

    name: str
    host: int
    device: int
    step_ms: float
    wait_ms: float

    @property
    def own_ms(self) -> float:
        """The time the worker itself needs."""
        return self.step_ms - self.wait_ms


def workers(profile: Profile) -> tuple[WorkerTime, ...]:
    """The workers of a run, by host and device; empty without kept steps."""
    found = session_steps(profile)
    if found is None or not found.kept.any():
        return ()
    step_ms = float(found.duration_ps[found.kept].mean()) / 1e9
    times = [
        time
        for one in aligned_steps(profile)
        for time in (
            _device_times(profile, one.host, step_ms)
            if _meet(profile, one.host)
            else [_host_time(profile, one.host, step_ms)]
        )
    ]
    return tuple(replace(time, name=_name(profile, time, times)) for time in times)


def _meet(profile: Profile, host: int) -> bool:
    """Whether several devices of a host run, and all of them meet others in collectives."""
    found = device_events(profile.hosts[host])
    running = np.unique(found.device[~found.is_container])
    meeting = collectives(profile)
    met = np.unique(meeting.device[(meeting.host == host) & (meeting.group >= 0)])
    return len(running) > 1 and bool(np.isin(running, met).all())


def _host_time(profile: Profile, host: int, step_ms: float) -> WorkerTime:
    one = exposed_of(profile, host, ALL_DEVICES)
    waited = float(one.exposed_ps[one.is_wait].sum()) / 1e9
    own_step = (one.end_ps - one.start_ps) / 1e9
    beyond = step_ms - float(own_step.mean())
    return WorkerTime("", host, ALL_DEVICES, step_ms, _no_less(waited / len(own_step) + beyond))


def _device_times(profile: Profile, host: int, step_ms: float) -> Iterator[WorkerTime]:
    found = worker_steps(profile)
    if found is None:
        return
    for row, worker in enumerate(found.workers):
        if worker.host == host:
            waited = found.parts_ps[WAIT][row][found.kept]
            own = (found.duration_ps[row][found.kept] - waited) / 1e9
            wait_ms = _no_less(step_ms - float(own.mean()))
            yield WorkerTime("", host, worker.device, step_ms, wait_ms)


def _no_less(wait_ms: float) -> float:
    """Without what only rounding leaves: equal workers wait equally, not for each other."""
    return max(round(wait_ms, 9), 0.0)


def _name(profile: Profile, time: WorkerTime, among: Sequence[WorkerTime]) -> str:
    host = profile.hosts[time.host]
    if time.device == ALL_DEVICES:
        return host.name
    device = host.space.planes[time.device].name.removeprefix("/device:")
    return device if len({one.host for one in among}) == 1 else f"{host.name} {device}"


def worker_times(before: Profile, after: Profile) -> Table[WorkerTimeRow]:
    """The workers of the new run beside those of the baseline in their places.

    Without places in common: beside those of the same name, else in order.
    """
    old, new = workers(before), workers(after)
    if max(len(old), len(new)) < 2:
        return Table.empty(WorkerTimeRow)
    nothing = WorkerTime("", 0, ALL_DEVICES, nan, nan)
    columns: dict[str, list[Any]] = {name: [] for name in WorkerTimeRow.__annotations__}
    for time, was in zip(new, _counterparts(before, after, old, new), strict=True):
        was = was or nothing
        for column, value in (
            ("worker", time.name),
            ("own_before_ms", was.own_ms),
            ("own_after_ms", time.own_ms),
            ("own_delta_ms", time.own_ms - was.own_ms),
            ("wait_before_ms", was.wait_ms),
            ("wait_after_ms", time.wait_ms),
        ):
            columns[column].append(value)
    return Table(WorkerTimeRow, columns)


def _counterparts(
    before: Profile, after: Profile, old: Sequence[WorkerTime], new: Sequence[WorkerTime]
) -> list[WorkerTime | None]:
    """By worker of the new run, the one that it is held against."""
    places = _places(before, after)
    if places is not None:
        by_key = {_key(before, time): time for time in old}
        return [by_key.get(places.get(_key(after, time), ("", ""))) for time in new]
    named = {one.name: one for one in old}
    if all(one.name in named for one in new):
        return [named[one.name] for one in new]
    return [old[place] if place < len(old) else None for place in range(len(new))]


def _key(profile: Profile, time: WorkerTime) -> tuple[str, str]:
    host = profile.hosts[time.host]
    if time.device == ALL_DEVICES:
        return host.name, ""
    return host.name, host.space.planes[time.device].name.removeprefix("/device:")


def _places(before: Profile, after: Profile) -> dict[tuple[str, str], tuple[str, str]] | None:
    """By host and device of the new run, those in its place before; None without places."""
    one, other = pod_of_profile(before), pod_of_profile(after)
    if isinstance(one, str) or isinstance(other, str):
        return None
    found = same_places(one, other)
    if found.matched_by == "order":
        return None
    devices = [[(row.host, row.device) for row in pod.devices.records()] for pod in (one, other)]
    places: dict[tuple[str, str], tuple[str, str]] = {}
    for was, now in zip(found.before.tolist(), found.after.tolist(), strict=True):
        there, here = devices[0][was], devices[1][now]
        places[here] = there
        places.setdefault((here[0], ""), (there[0], ""))
    return places
