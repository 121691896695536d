"""Time in which a device runs nothing, and what the host did meanwhile.

A gap is a stretch of a counted step in which nothing runs on a device. Its time is explained by
what the host's threads do in it, else by another device of the host still being at work, else by
the next event's having been launched without starting, else by Python's calls on the loop's thread,
else by nothing that was recorded. A gap that opens while the host sits in a call
that waits for the device is one that running ahead would have hidden: the host could not launch
the next work before, because it waited.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.columns import distinct, sweep, union_spans
from stepscope.columns.space import I64, U8, Bool
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.core.presence import Stretch, any_stretch, entries_shaped
from stepscope.tables.core.processes import launch_ids
from stepscope.tables.core.profile import Host, Profile, derived
from stepscope.tables.core.time_spans import covered
from stepscope.tables.core.waits import is_wait_for_device
from stepscope.tables.device.driver_calls import allocating_names
from stepscope.tables.device.events import (
    container_entries,
    device_events,
    device_lines,
    has_device_events,
    rows_of_device,
)
from stepscope.tables.host.events import Work, host_thread_rows, is_pool_thread, timed_rows
from stepscope.tables.in_steps.python_calls import python_spans
from stepscope.tables.steps.attribution import host_work
from stepscope.tables.steps.found import Markers
from stepscope.tables.steps.markers import has_account, step_markers
from stepscope.tables.steps.session import AlignedSteps, aligned_steps, taking_part

# Why a device has nothing to do, and the work of the host that says so. The order is that of
# menus; where several apply at once the larger ``Work`` names the time, as in ``steps``.
CAUSES: Final[dict[str, tuple[Work, ...]]] = {
    "input": (Work.INPUT_WAIT,),
    "copy": (Work.HOST_TO_DEVICE, Work.DEVICE_TO_DEVICE, Work.DEVICE_TO_HOST),
    "kernel_launch": (Work.LAUNCH,),
    "allocation": (),
    "compilation": (Work.COMPILE,),
    "host_compute": (Work.HOST_COMPUTE, Work.HOST_COLLECTIVE),
    "wait": (Work.WAIT,),
    "other_device": (),
    "queued": (),
    "python": (),
    "other": (Work.NOTHING,),
}
# Classes of the sweep: some for each ``Work``, so that the causes without a work of their own have
# their places: Python, what is launched and another device above nothing at all, waiting for idle
# devices above what else the host does, allocating above launching.
_CLASSES: Final = 4
_PYTHON, _QUEUED, _OTHER_DEVICE = (_CLASSES * Work.NOTHING + at for at in (1, 2, 3))
_WAIT: Final = _CLASSES * Work.HOST_COMPUTE + 1
_ALLOCATION: Final = _CLASSES * Work.LAUNCH + 1
_NOT_IDLE: Final = 63
_EXPLAINED_GAPS: Final = 4096
_OWN_CLASS: Final = {
    "other_device": _OTHER_DEVICE,
    "wait": _WAIT,
    "queued": _QUEUED,
    "python": _PYTHON,
    "allocation": _ALLOCATION,
}
# Device times are brought to the host's clock with an error of some microseconds: a call may seem
# to return just before the kernel it waits for ends.
_CLOCK_SLACK_PS: Final = 5_000_000


@dataclass(frozen=True, eq=False, slots=True)
class IdleGaps:
    """The gaps of one device in the counted steps, in order.

    Attributes:
        start_ps, end_ps: Disjoint, on the host's clock.
        after_wait: Whether the host was waiting for the device when the gap opened.
        cause: Row in ``CAUSES`` that has most of the gap; -1 of all but the longest gaps.
    """

    start_ps: I64
    end_ps: I64
    after_wait: Bool
    cause: I64

    def __len__(self) -> int:
        return len(self.start_ps)

    @property
    def duration_ps(self) -> I64:
        """Length of each gap."""
        length: I64 = self.end_ps - self.start_ps
        return length


@dataclass(frozen=True, slots=True)
class DeviceGaps:
    """Why one device was idle.

    Attributes:
        host: Index into ``Profile.hosts``.
        device: Row in its ``Space.planes``.
        gaps: Where.
        cause_ps: Idle time by cause, over the counted steps; sums to the idle time.
        after_wait_ps: The part of it that lies in gaps that opened while the host waited.
    """

    host: int
    device: int
    gaps: IdleGaps
    cause_ps: dict[str, int]
    after_wait_ps: dict[str, int]


@dataclass(frozen=True, slots=True)
class WaitCall:
    """Calls of one name that wait for the device.

    Attributes:
        host: Index into ``Profile.hosts``.
        name: As recorded.
        occurrences: That begin in a counted step.
        blocked_ps: Time in them, within counted steps, in which a device of the host was busy.
    """

    host: int
    name: str
    occurrences: int
    blocked_ps: int


@dataclass(frozen=True, slots=True)
class Idle:
    """Idle devices of a session.

    Attributes:
        devices: One per device that ran anything in a step.
        waits: Calls that wait for devices, by host and name.
        blocked_ps: Per host that takes part, the time its threads waited for busy devices.
        step_count: Counted steps; the same for all hosts.
        step_ps: Σ of the counted steps' lengths, by index of the host.
    """

    devices: tuple[DeviceGaps, ...]
    waits: tuple[WaitCall, ...]
    blocked_ps: dict[int, int]
    step_count: int
    step_ps: dict[int, int]


@derived
def idle(profile: Profile) -> Idle | None:
    """Find and explain the gaps of all devices; None without steps or devices."""
    aligned = aligned_steps(profile)
    if not aligned:
        return None
    kept = np.all([one.steps.kept[one.rows] for one in aligned], axis=0)
    devices: list[DeviceGaps] = []
    waits: list[WaitCall] = []
    blocked: dict[int, int] = {}
    length: dict[int, int] = {}
    for one in aligned:
        steps = one.steps.start_ps[one.rows[kept]], one.steps.end_ps[one.rows[kept]]
        calls = _wait_rows(profile.hosts[one.host], one.steps.markers)
        found = _host_idle(profile.hosts[one.host], one, steps, calls)
        devices += found
        own = _wait_calls(profile.hosts[one.host], one.host, steps, calls)
        waits += own
        blocked[one.host] = _blocked(profile.hosts[one.host], steps, calls)
        length[one.host] = int((steps[1] - steps[0]).sum())
    if not devices:
        return None
    return Idle(tuple(devices), tuple(waits), blocked, int(kept.sum()), length)


def has_idle(profile: Profile) -> bool:
    """Whether ``idle`` has any: a device of a host that takes part ran something in a step.

    Whether devices run behind the host need not be known: a step that lasts until its device
    work has ended contains its marker, or an earlier step does.
    """
    hosts = [host for host in taking_part(profile) if has_device_events(host)]
    if not any(has_account(host) for host in hosts):
        return False
    return any(_runs_in_a_marker(host) for host in hosts) or idle(profile) is not None


def _runs_in_a_marker(host: Host) -> bool:
    markers = step_markers(host)
    if markers is None:
        return False
    containers = container_entries(host)

    def runs(stretch: Stretch) -> bool:
        own = stretch.ints(names.DEVICE_DURATION_PS, -1)
        length = np.where(own >= 0, own, stretch.length_ps)
        works = stretch.timed & ~containers[stretch.entry]
        start = stretch.start_ps[works]
        end = start + length[works]
        return bool((covered(markers.start_ps, markers.end_ps, start, end) > 0).any())

    return any_stretch(host, device_lines(host), runs)


_Steps = tuple[I64, I64]


def _spans_of(host: Host, rows: I64) -> tuple[I64, I64]:
    events = host.space.events
    start = events.start_ps[rows]
    return start, start + host.space.length_ps[rows]


def _busy_spans(host: Host, device: int | None = None) -> tuple[I64, I64]:
    """When a device (or any) ran anything: disjoint and ascending."""
    found = device_events(host)
    own = np.flatnonzero(~found.is_container)
    if device is not None:
        own = rows_of_device(host, device)
        own = own[~found.is_container[own]]
    start = found.start_ps[own]
    return union_spans(start, start + found.duration_ps[own])


def _host_idle(host: Host, one: AlignedSteps, steps: _Steps, calls: I64) -> list[DeviceGaps]:
    told = host_work(host)
    allocates = allocating_names(host)[host.space.events.metadata[told.rows]]
    kinds = np.where(allocates, _ALLOCATION, _CLASSES * told.work).astype(np.uint8)
    python = python_spans(host)
    waiting = union_spans(*_spans_of(host, calls))
    anything = _busy_spans(host)
    result = []
    for device in distinct(device_events(host).device).tolist():
        # A device that ran nothing in any step was not idle in them: its events are elsewhere.
        inside = one.steps.busy_ps.get(device)
        if inside is None or not inside.any():
            continue
        busy = _busy_spans(host, device)
        start, end = _gaps(busy, steps)
        spans = _merge_classes(
            (told.start_ps, told.end_ps, kinds),
            {
                _WAIT: waiting,
                _OTHER_DEVICE: anything,
                _QUEUED: _queued(host, device),
                _PYTHON: python,
            },
        )
        gaps = IdleGaps(start, end, _inside(start, waiting), _largest_causes(spans, start, end))
        late = start[~gaps.after_wait], end[~gaps.after_wait]
        result.append(
            DeviceGaps(
                host=one.host,
                device=device,
                gaps=gaps,
                cause_ps=_sum_by_cause(spans, [busy], steps),
                after_wait_ps=_sum_by_cause(spans, [busy, late], steps),
            )
        )
    return result


def _merge_classes(
    spans: tuple[I64, I64, U8], more: dict[int, tuple[I64, I64]]
) -> tuple[I64, I64, U8]:
    """Spans with their classes, and others with one class each."""
    starts, ends, classes = ([one] for one in spans)
    for code, (start, end) in more.items():
        starts.append(start)
        ends.append(end)
        classes.append(np.full(len(start), code, np.uint8))
    return np.concatenate(starts), np.concatenate(ends), np.concatenate(classes)


@derived
def _calls_by_id(host: Host) -> tuple[I64, I64]:
    """Return the ids of launching calls, ascending, and the row of each."""
    calls = launch_ids(host)
    order = np.argsort(calls.values, kind="stable")
    return calls.values[order], calls.rows[order]


def _queued(host: Host, device: int) -> tuple[I64, I64]:
    """From the end of each launching call to the begin of the first thing it launched."""
    found = device_events(host)
    mine = rows_of_device(host, device)
    mine = mine[found.correlation[mine] >= 0]
    order = np.lexsort((found.start_ps[mine], found.correlation[mine]))
    mine = mine[order]
    ids = found.correlation[mine]
    mine = mine[np.append(True, ids[1:] != ids[:-1])[: len(ids)]]
    known, rows = _calls_by_id(host)
    at = np.searchsorted(known, found.correlation[mine])
    has = at < len(known)
    has[has] = known[at[has]] == found.correlation[mine[has]]
    begin = _spans_of(host, rows[at[has]])[1]
    end = found.start_ps[mine[has]]
    return union_spans(begin[begin < end], end[begin < end])


def _gaps(busy: _Steps, steps: _Steps) -> tuple[I64, I64]:
    """What neither the busy spans nor the time outside of the steps cover."""
    if not len(steps[0]):
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing
    # Time outside of the steps counts as busy, so that no gap reaches into it.
    far = np.int64(1) << 61
    outside_start = np.concatenate([[-far], steps[1]])
    outside_end = np.concatenate([steps[0], [far]])
    start, end = union_spans(
        np.concatenate([busy[0], outside_start]), np.concatenate([busy[1], outside_end])
    )
    return end[:-1], start[1:]


def _inside(at: I64, spans: _Steps) -> Bool:
    """Whether each time lies in one of the disjoint ascending spans, or just after it."""
    if not len(spans[0]):
        return np.zeros(len(at), dtype=bool)
    place = np.searchsorted(spans[0], at, side="right") - 1
    found: Bool = (place >= 0) & (at <= spans[1][np.maximum(place, 0)] + _CLOCK_SLACK_PS)
    return found


def _sum_by_cause(
    spans: tuple[I64, I64, U8], covers: list[_Steps], steps: _Steps
) -> dict[str, int]:
    """Time of the steps that no cover hides, by what explains it."""
    hidden = sum(len(cover[0]) for cover in covers)
    time = sweep(
        np.concatenate([spans[0], *(cover[0] for cover in covers)]),
        np.concatenate([spans[1], *(cover[1] for cover in covers)]),
        np.concatenate([spans[2], np.full(hidden, _NOT_IDLE, dtype=np.uint8)]),
        *steps,
    ).sum(axis=0)
    return {cause: int(time[_classes_of(cause)].sum()) for cause in CAUSES}


def _classes_of(cause: str) -> list[int]:
    classes = [_CLASSES * int(work) for work in CAUSES[cause]]
    return classes + ([_OWN_CLASS[cause]] if cause in _OWN_CLASS else [])


def _largest_causes(spans: tuple[I64, I64, U8], start: I64, end: I64) -> I64:
    """The largest cause of each of the longest gaps, as rows of ``CAUSES``; -1 of the others."""
    longest = np.sort(np.argsort(start - end, kind="stable")[:_EXPLAINED_GAPS])
    found = np.full(len(start), -1, dtype=np.int64)
    if len(longest):
        time = sweep(*spans, start[longest], end[longest])
        of_cause = [time[:, _classes_of(cause)].sum(axis=1) for cause in CAUSES]
        found[longest] = np.argmax(of_cause, axis=0)
    return found


def _wait_rows(host: Host, markers: Markers) -> I64:
    """Events of the step's threads in which the host waits for a device."""
    space = host.space
    waits = entries_shaped(host, is_wait_for_device)
    threads = set(host_thread_rows(host).tolist())
    own = space.on_lines(
        row
        for row, line in enumerate(space.lines)
        if row in threads and (row in (markers.line, markers.thread) or is_pool_thread(line.name))
    )
    rows = timed_rows(host, waits)
    of_step: I64 = rows[own[rows]]
    return of_step


def _wait_calls(host: Host, index: int, steps: _Steps, calls: I64) -> list[WaitCall]:
    start, _end = _spans_of(host, calls)
    place = np.maximum(np.searchsorted(steps[0], start, side="right") - 1, 0)
    inside = np.zeros(len(calls), dtype=bool)
    if len(steps[0]):
        inside = (start >= steps[0][place]) & (start < steps[1][place])
    meta = host.space.events.metadata[calls]
    found = []
    for row in distinct(meta[inside]).tolist():
        own = meta == row
        count = int((own & inside).sum())
        name = host.space.event_metadata.name[row]
        found.append(WaitCall(index, name, count, _blocked(host, steps, calls[own])))
    return sorted(found, key=lambda call: (-call.blocked_ps, call.name))


def _blocked(host: Host, steps: _Steps, calls: I64) -> int:
    """Time within the steps in which one of the calls is open and a device is busy."""
    waiting, busy = union_spans(*_spans_of(host, calls)), _busy_spans(host)
    either = union_spans(
        np.concatenate([waiting[0], busy[0]]), np.concatenate([waiting[1], busy[1]])
    )
    sizes = [int(covered(*spans, *steps).sum()) for spans in (waiting, busy, either)]
    return sizes[0] + sizes[1] - sizes[2]
