"""Steps per worker: every device (or host without devices) with its own attribution.

The host's threads explain a step for all of its devices, each device's own work only for itself.
Time in a collective is split into waiting for the last device and the transfer. As everywhere the
parts are disjoint and sum to the step.
"""

from __future__ import annotations

from math import nan
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import rows_by_key, sweep, union_spans
from stepscope.columns.space import I64, U8, Bool
from stepscope.records import dataclass
from stepscope.tables.collectives.operations import CollectiveEvents, collectives
from stepscope.tables.core.devices import Device, devices
from stepscope.tables.core.profile import Host, Profile, derived
from stepscope.tables.core.time_spans import covered
from stepscope.tables.device.events import device_events, rows_of_device
from stepscope.tables.host.events import Work
from stepscope.tables.steps.attribution import PARTS, host_work
from stepscope.tables.steps.session import AlignedSteps, aligned_steps

F64 = NDArray[np.float64]

WAIT: Final = "collective_wait"
TRANSFER: Final = "collective_transfer"
# The parts of a worker's step: those of a host's, the collectives in two.
WORKER_PARTS: Final[tuple[str, ...]] = tuple(
    name for part in PARTS for name in ((WAIT, TRANSFER) if part == "collectives" else (part,))
)
# Classes of the sweep are twice the work's, which leaves room for the wait just below transfers.
_WAIT_CLASS: Final = 2 * Work.COLLECTIVE - 1


@dataclass(frozen=True, slots=True)
class PodColumn:
    """One column of a pod: a device, or a host without devices.

    Attributes:
        host: Index into ``Profile.hosts``.
        host_name: Its name.
        device: Row in its ``Space.planes`` (-1: the host itself).
        device_name: "/device:GPU:0", or "CPU".
        device_type: What it is.
    """

    host: int
    host_name: str
    device: int
    device_name: str
    device_type: str


@dataclass(frozen=True, eq=False, slots=True)
class WorkerSteps:
    """Aligned steps of all workers.

    Attributes:
        workers: The workers, by host and plane.
        num: Step numbers.
        kept: Steps that count.
        duration_ps: int64[workers, steps].
        parts_ps: ``{part of WORKER_PARTS: int64[workers, steps]}``; they sum to the duration.
        transfer_ps: int64[workers, steps], all time in which a collective transfers; what exceeds
            the part is hidden behind other work.
        stood_ps: By worker, begins and ends of the spans in which it is in a collective and its
            device does nothing else: disjoint, ascending, on its host's own clock.
    """

    workers: tuple[PodColumn, ...]
    num: I64
    kept: Bool
    duration_ps: I64
    parts_ps: dict[str, I64]
    transfer_ps: I64
    stood_ps: tuple[tuple[I64, I64], ...]

    @property
    def counted(self) -> Bool:
        """The steps that means are over: those kept, or all where none is."""
        return self.kept if self.kept.any() else np.ones(len(self.num), dtype=bool)

    @property
    def mean_step_ms(self) -> float:
        """Mean time of the counted steps, of the slowest worker each; NaN without steps."""
        if not len(self.num):
            return nan
        return float(self.duration_ps.max(axis=0)[self.counted].mean()) / 1e9

    @property
    def hidden_transfer_ms(self) -> F64:
        """Transfer time per counted step behind work of a higher precedence, by worker."""
        hidden = self.transfer_ps - self.parts_ps[TRANSFER]
        mean: F64 = hidden[:, self.counted].mean(axis=1) / 1e9
        return mean


@derived
def worker_steps(profile: Profile) -> WorkerSteps | None:
    """Attribute every step of every worker; None without steps."""
    aligned = aligned_steps(profile)
    if not aligned or aligned[0].steps.markers.is_window:
        return None
    workers: list[PodColumn] = []
    durations: list[I64] = []
    transfers: list[I64] = []
    stood: list[tuple[I64, I64]] = []
    parts: dict[str, list[I64]] = {part: [] for part in WORKER_PARTS}
    for one in aligned:
        name = profile.hosts[one.host].name
        for device, found, transfer, waits in _host_workers(profile, one):
            plane, label, kind = (-1, "CPU", "CPU") if device is None else _facts(device)
            workers.append(PodColumn(one.host, name, plane, label, kind))
            durations.append(one.steps.duration_ps[one.rows])
            transfers.append(transfer)
            stood.append(waits)
            for part, values in found.items():
                parts[part].append(values)
    first = aligned[0]
    return WorkerSteps(
        workers=tuple(workers),
        num=first.steps.markers.num[first.rows],
        kept=np.all([one.steps.kept[one.rows] for one in aligned], axis=0),
        duration_ps=np.stack(durations),
        parts_ps={part: np.stack(values) for part, values in parts.items()},
        transfer_ps=np.stack(transfers),
        stood_ps=tuple(stood),
    )


def _facts(device: Device) -> tuple[int, str, str]:
    return device.plane, device.name, device.type


_OfWorker = tuple[Device | None, dict[str, I64], I64, tuple[I64, I64]]


def _host_workers(profile: Profile, one: AlignedSteps) -> list[_OfWorker]:
    """Parts, transfers and waits of each device of a host; of the host itself without any."""
    host = profile.hosts[one.host]
    told = host_work(host)
    threads = told.start_ps, told.end_ps, 2 * told.work
    found: list[_OfWorker] = []
    nothing = np.zeros(0, dtype=np.int64)
    meeting = collectives(profile)
    waits = np.flatnonzero((meeting.host == one.host) & (meeting.wait_ps > 0))
    waits_of = rows_by_key(meeting.device[waits])
    ran = [device for device in devices(host) if device.plane in one.steps.busy_ps]
    # All parts of a device that ran only outside of the steps would be the host's.
    in_steps = [device for device in ran if one.steps.busy_ps[device.plane][one.rows].any()]
    for device in in_steps or ran:
        spans = _device_spans(
            host, device.plane, meeting, waits[waits_of.get(device.plane, nothing)]
        )
        parts = _parts(one, threads, spans)
        found.append((device, parts, _transfer(one, threads, spans), _stood(spans)))
    return found or [(None, _parts(one, threads), _transfer(one, threads), (nothing, nothing))]


def _stood(spans: _Spans) -> tuple[I64, I64]:
    """Where a device is in a collective and does nothing else, whatever its host does."""
    starts, ends, classes = spans
    met = (classes == _WAIT_CLASS) | (classes == 2 * Work.COLLECTIVE)
    begin, end = union_spans(starts[met], ends[met])
    above = classes > 2 * Work.COLLECTIVE
    busy_begin, busy_end = union_spans(starts[above], ends[above])
    edges = np.unique(np.concatenate([begin, end, busy_begin, busy_end]))
    lengths = np.diff(edges)
    free = (covered(begin, end, edges[:-1], edges[1:]) == lengths) & (
        covered(busy_begin, busy_end, edges[:-1], edges[1:]) == 0
    )
    return union_spans(edges[:-1][free], edges[1:][free])


def _transfer(one: AlignedSteps, *spans: _Spans) -> I64:
    """All time of each step in which a collective transfers, hidden or not."""
    starts, ends, classes = (np.concatenate(column) for column in zip(*spans, strict=True))
    is_transfer = np.isin(classes, [2 * work for work in PARTS["collectives"]])
    merged = union_spans(starts[is_transfer], ends[is_transfer])
    time: I64 = covered(*merged, one.steps.start_ps, one.steps.end_ps)[one.rows]
    return time


_Spans = tuple[I64, I64, U8]


def _device_spans(host: Host, device: int, meeting: CollectiveEvents, waits: I64) -> _Spans:
    """What one device ran; collectives cut in two where their group is known."""
    found = device_events(host)
    own = rows_of_device(host, device)
    own = own[~found.is_container[own]]
    start, end = found.start_ps[own].copy(), found.end_ps[own]
    place = np.searchsorted(own, meeting.event[waits])
    arrived = start[place]
    start[place] += meeting.wait_ps[waits]
    return (
        np.concatenate([start, arrived]),
        np.concatenate([end, start[place]]),
        np.concatenate([2 * found.work[own], np.full(len(place), _WAIT_CLASS, dtype=np.uint8)]),
    )


def _parts(one: AlignedSteps, *spans: _Spans) -> dict[str, I64]:
    """Sweep the spans over the host's steps."""
    starts, ends, classes = (np.concatenate(column) for column in zip(*spans, strict=True))
    time = sweep(starts, ends, classes, one.steps.start_ps, one.steps.end_ps)[one.rows]
    found = {}
    for part in WORKER_PARTS:
        if part == WAIT:
            found[part] = time[:, _WAIT_CLASS].copy()  # not all classes with it
        else:
            kinds = PARTS["collectives" if part == TRANSFER else part]
            found[part] = time[:, [2 * kind for kind in kinds]].sum(axis=1)
    return found
