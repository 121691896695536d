"""The workers of two runs side by side: who needs how long, and who waits for whom."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import Any

from stepscope.comparison.comparison import WorkerTimeRow
from stepscope.result import Table
from stepscope.tables.profile import Profile
from stepscope.tables.session_steps import session_steps
from stepscope.tables.worker_steps import WAIT, Worker, worker_steps


@dataclass(frozen=True, slots=True)
class _Time:
    """A worker's average kept step: its own part, and its waiting for slower workers."""

    own_ms: float
    wait_ms: float


def worker_times(before: Profile, after: Profile) -> Table[WorkerTimeRow]:
    """The workers of the new run beside those of the baseline of the same name, else in order."""
    old, new = _times(before), _times(after)
    if max(len(old), len(new)) < 2:
        return Table.empty(WorkerTimeRow)
    in_order = list(old.values())
    nothing = _Time(nan, nan)
    by_name = all(name in old for name in new)
    columns: dict[str, list[Any]] = {name: [] for name in WorkerTimeRow.__annotations__}
    for place, (name, time) in enumerate(new.items()):
        there = in_order[place] if place < len(in_order) else nothing
        was = old[name] if by_name else there
        for column, value in (
            ("worker", name),
            ("own_before_ms", was.own_ms),
            ("own_after_ms", time.own_ms),
            ("own_delta_ms", time.own_ms - was.own_ms),
            ("wait_before_ms", was.wait_ms),
            ("wait_after_ms", time.wait_ms),
        ):
            columns[column].append(value)
    return Table(WorkerTimeRow, columns)


def _times(profile: Profile) -> dict[str, _Time]:
    found, session = worker_steps(profile), session_steps(profile)
    if found is None or session is None or not found.kept.any():
        return {}
    longest = session.duration_ps[found.kept]
    times = {}
    for row, worker in enumerate(found.workers):
        wait = found.parts_ps[WAIT][row][found.kept]
        own = found.duration_ps[row][found.kept] - wait
        times[_name(worker, found.workers)] = _Time(
            float(own.mean()) / 1e9, float((longest - own).mean()) / 1e9
        )
    return times


def _name(worker: Worker, among: tuple[Worker, ...]) -> str:
    """The host, the device where there are several on it, the host before it where there are."""
    hosts = {one.host for one in among}
    if len(hosts) == len(among):
        return worker.host_name
    device = worker.device_name.removeprefix("/device:")
    return device if len(hosts) == 1 else f"{worker.host_name} {device}"
