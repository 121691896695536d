"""Steps and where each one's time goes: disjoint parts, on host and device, that sum to the step.

A step's interval is its marker, unless the devices run behind the host (asynchronous dispatch):
then step *i* lasts from the end of step *i-1*'s device work to the end of its own, where "own"
means launched from inside its marker. Intervals are disjoint either way, so a sweep over time
can give every picosecond to exactly one part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import sweep, union_spans
from stepscope.columns.space import I64, U8, Bool
from stepscope.schema import names
from stepscope.tables.core.interval_overlap import covered
from stepscope.tables.core.planes import PlaneKind, planes
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.stats import event_stats
from stepscope.tables.device.driver_calls import allocating_names
from stepscope.tables.device.events import DeviceEvents, device_events
from stepscope.tables.host.events import (
    Work,
    host_names,
    host_thread_rows,
    is_pool_thread,
    is_tf_data_thread,
    timed_events,
)
from stepscope.tables.steps.markers import Markers, step_markers

# The parts of a step, in the order every surface stacks them, and the work each is made of.
PARTS: dict[str, tuple[Work, ...]] = {
    "device_compute_16": (Work.COMPUTE_16,),
    "device_compute_32": (Work.COMPUTE_32,),
    "device_to_device": (Work.DEVICE_TO_DEVICE,),
    "collectives": (Work.COLLECTIVE,),
    "input": (Work.INPUT_WAIT,),
    "host_to_device": (Work.HOST_TO_DEVICE,),
    "output": (Work.DEVICE_TO_HOST,),
    "kernel_launch": (Work.LAUNCH,),
    "host_compute": (Work.HOST_COMPUTE,),
    "compilation": (Work.COMPILE,),
    "other": (Work.NOTHING,),
}
# More steps than this, and the first and the last are left out: they are cut or warming up.
EDGE_LIMIT = 5
# Device work may end this much after the marker and still count as synchronous.
_SYNC_SLACK = 0.02


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of a host.

    Attributes:
        markers: Where they come from.
        start_ps, end_ps: Disjoint half-open intervals, ascending.
        parts_ps: ``{part: int64[steps]}``; over the parts they sum to the interval.
        busy_ps: ``{device plane row: int64[steps]}``: time the device ran anything.
        kept: Steps that count (edges left out when there are more than ``EDGE_LIMIT``).
        runs_behind: Whether the devices run behind the host.
    """

    markers: Markers
    start_ps: I64
    end_ps: I64
    parts_ps: dict[str, I64]
    busy_ps: dict[int, I64]
    kept: Bool
    runs_behind: bool

    def __len__(self) -> int:
        return len(self.start_ps)

    @property
    def duration_ps(self) -> I64:
        """Length of each step."""
        length: I64 = self.end_ps - self.start_ps
        return length


def sum_parts(parts: Mapping[str, NDArray[Any]], members: Iterable[str]) -> NDArray[Any]:
    """Σ of some parts, element by element."""
    total: NDArray[Any] = np.stack([parts[part] for part in members]).sum(axis=0)
    return total


@derived
def steps(host: Host) -> Steps | None:
    """The steps of a host with their attribution; None when it has none."""
    markers = step_markers(host)
    if markers is None or len(markers) == 0:
        return None
    start, end, behind = _intervals(host, markers)
    spans = step_spans(host, markers)
    time = sweep(spans.start_ps, spans.end_ps, spans.work, start, end)
    parts = {part: time[:, list(kinds)].sum(axis=1) for part, kinds in PARTS.items()}
    kept = np.ones(len(start), dtype=bool)
    if len(start) > EDGE_LIMIT:
        kept[[0, -1]] = False
    return Steps(markers, start, end, parts, _busy(device_events(host), start, end), kept, behind)


def _intervals(host: Host, markers: Markers) -> tuple[I64, I64, bool]:
    """Step intervals, and whether the devices run behind the host."""
    start, end = markers.start_ps, markers.end_ps
    found = device_events(host)
    own_end = _launched_until(host, found, markers) if markers.line >= 0 and len(found) else None
    if own_end is None:
        return start, end, False
    late = own_end - end
    slack = _SYNC_SLACK * np.maximum(end - start, 1)
    if np.median(late - slack) <= 0:
        return start, end, False
    finish = np.maximum.accumulate(np.maximum(own_end, end))
    begin = np.maximum(start, np.concatenate([[np.iinfo(np.int64).min], finish[:-1]]))
    # Before the first step nothing is known of the devices' backlog: it begins with its work.
    return np.minimum(begin, finish), finish, True


def _launched_until(host: Host, found: DeviceEvents, markers: Markers) -> I64 | None:
    """Per step, when the last device event launched from inside its marker ends.

    Steps that launched nothing keep their marker's end; None when no launch is recorded.
    """
    stats = event_stats(host).ints(names.CORRELATION_ID)
    is_host = np.asarray([kind is PlaneKind.HOST for kind in planes(host).plane_kind] or [False])
    line_is_host = np.asarray([is_host[line.plane] for line in host.space.lines] or [False])
    if len(stats.rows) == 0:
        return None
    of_host = line_is_host[host.space.lines_of(stats.rows)]
    ids, at = stats.values[of_host], host.space.events.start_ps[stats.rows[of_host]]
    if len(ids) == 0:
        return None
    order = np.argsort(ids, kind="stable")
    ids, at = ids[order], at[order]
    place = np.minimum(np.searchsorted(ids, found.correlation), len(ids) - 1)
    has = (ids[place] == found.correlation) & (found.correlation >= 0)
    if not has.any():
        return None
    launch = at[place[has]]
    step = np.searchsorted(markers.start_ps, launch, side="right") - 1
    inside = (step >= 0) & (launch < markers.end_ps[np.maximum(step, 0)])
    until = markers.end_ps.copy()
    last = np.full(len(markers), np.iinfo(np.int64).min)
    np.maximum.at(last, step[inside], found.end_ps[has][inside])
    launched = last > np.iinfo(np.int64).min
    until[launched] = last[launched]
    return until


@dataclass(frozen=True, slots=True)
class StepSpans:
    """Spans that may explain time of a step: those of devices first, then those of threads.

    Attributes:
        start_ps, end_ps: As recorded; they overlap as they like.
        work: ``Work`` of each.
        event: Event row of each.
        device_row: Row in ``DeviceEvents`` of the first ``len(device_row)`` spans.
    """

    start_ps: I64
    end_ps: I64
    work: U8
    event: I64
    device_row: I64


def step_spans(host: Host, markers: Markers) -> StepSpans:
    """Every span that may explain time: device events, and host events of the step's threads."""
    found = device_events(host)
    on_device = np.flatnonzero(~found.is_container)
    rows, work = host_work(host, markers)
    events = host.space.events
    return StepSpans(
        start_ps=np.concatenate([found.start_ps[on_device], events.start_ps[rows]]),
        end_ps=np.concatenate(
            [found.end_ps[on_device], events.start_ps[rows] + host.space.length_ps[rows]]
        ),
        work=np.concatenate([found.work[on_device], work]),
        event=np.concatenate([found.rows[on_device], rows]),
        device_row=on_device,
    )


def host_work(host: Host, markers: Markers) -> tuple[I64, U8]:
    """Host events that stand for work of the step, and which work.

    They are those on the markers' thread and on the runtimes' pools; what tf.data prepares on
    its own threads runs beside the step, except the wait for its next element.
    """
    space, by_name, stats = host.space, host_names(host), event_stats(host)
    metadata, duration = space.events.metadata, space.events.duration_ps
    waits = np.where(by_name.is_input, by_name.work, Work.NOTHING).astype(np.uint8)
    reach = _line_reach(host, markers)
    found = np.zeros(len(space.events), dtype=np.uint8)
    for row in np.flatnonzero(reach).tolist():
        inside = slice(space.lines[row].begin, space.lines[row].end)
        work = by_name.work if reach[row] == _ALL_WORK else waits
        found[inside] = work[metadata[inside]] * (duration[inside] > 0)
    if PlaneKind.GPU in planes(host).plane_kind:
        calls = stats.rows(names.CORRELATION_ID)
        # Recorders number calls for memory, too, but they launch nothing.
        launches = calls[~allocating_names(host)[metadata[calls]]] if len(calls) else calls
        _say(found, launches, Work.LAUNCH, host, reach)
    _say(found, stats.rows(names.INPUT_STAGE_NAME), Work.INPUT_WAIT, host, reach)
    timed = timed_events(host)
    if not timed.all():
        found[~timed] = Work.NOTHING
    found[stats.rows(names.ROOT_LEVEL)] = Work.NOTHING
    found[_marker_rows(host, markers)] = Work.NOTHING
    rows = np.flatnonzero(found)
    return rows, found[rows]


_MAIN = "python"
# What of a line counts as the step's work.
_ONLY_INPUT, _ALL_WORK = 1, 2


def _line_reach(host: Host, markers: Markers) -> U8:
    """Per line of the space, how much of its work is the step's: none, input waits, or all."""
    lines = host.space.lines
    reach = np.zeros(len(lines), dtype=np.uint8)
    for row in host_thread_rows(host).tolist():
        name = lines[row].name
        if row == markers.line or is_pool_thread(name) or name == _MAIN:
            reach[row] = _ALL_WORK
        elif is_tf_data_thread(name):
            reach[row] = _ONLY_INPUT
    return reach


def _say(found: U8, rows: I64, work: Work, host: Host, reach: U8) -> None:
    """Give events the work their stats name, where all of their line's work counts."""
    if len(rows):
        own = rows[reach[host.space.lines_of(rows)] == _ALL_WORK]
        found[own[host.space.events.duration_ps[own] > 0]] = work


def _marker_rows(host: Host, markers: Markers) -> I64:
    """The events that are the step markers themselves, or as long: frames and no work."""
    if markers.line < 0:
        return np.empty(0, dtype=np.int64)
    line, events = host.space.lines[markers.line], host.space.events
    start = events.start_ps[line.begin : line.end]
    order = None if (start[1:] >= start[:-1]).all() else np.argsort(start, kind="stable")
    first = np.searchsorted(start, markers.start_ps, side="left", sorter=order)
    last = np.searchsorted(start, markers.start_ps, side="right", sorter=order)
    step = np.repeat(np.arange(len(markers)), last - first)
    place = np.arange(len(step)) - np.repeat(np.cumsum(last - first) - last, last - first)
    rows = line.begin + (place if order is None else order[place])
    ends = events.start_ps[rows] + host.space.length_ps[rows]
    covering: I64 = rows[ends >= markers.end_ps[step]]
    return covering


def _busy(found: DeviceEvents, start: I64, end: I64) -> dict[int, I64]:
    """Per device and step, the time anything ran on the device."""
    busy: dict[int, I64] = {}
    for device in np.unique(found.device).tolist():
        own = (found.device == device) & ~found.is_container
        if own.any():
            begin = found.start_ps[own]
            merged_start, merged_end = union_spans(begin, begin + found.duration_ps[own])
            busy[device] = covered(merged_start, merged_end, start, end)
    return busy
