"""Steps and where each one's time goes: disjoint parts, on host and device, that sum to the step.

A step's interval is its marker's, up to the next where time between the markers belongs to the
loop; where work is done behind the thread that asks for it, it lasts until that work is done
(``intervals``). Intervals are disjoint either way, so a sweep over time can give every picosecond
to exactly one part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import distinct, median, rows_of, sweep, union_spans
from stepscope.columns.space import I64, U8, Bool
from stepscope.quantities import time_words
from stepscope.records import dataclass, field, replace
from stepscope.schema import names
from stepscope.tables.core.planes import PlaneKind, planes
from stepscope.tables.core.presence import entries_shaped, entries_starting
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.stats import event_stats
from stepscope.tables.core.time_spans import covered
from stepscope.tables.core.waits import Wait, wait_of
from stepscope.tables.device.driver_calls import allocating_names, waiting_names
from stepscope.tables.device.events import device_events
from stepscope.tables.host.events import (
    Work,
    host_names,
    host_thread_rows,
    is_pool_thread,
    is_tf_data_thread,
    timed_events,
    timed_rows,
)
from stepscope.tables.host.ops import host_ops
from stepscope.tables.steps import marked
from stepscope.tables.steps.found import Markers
from stepscope.tables.steps.intervals import Intervals, step_intervals
from stepscope.tables.steps.markers import pauses, step_markers
from stepscope.tables.steps.recorder_work import recorder_spans
from stepscope.tables.steps.statistics import StepChoice, choose_steps

# The parts of a step, in the order every surface stacks them, and the work each is made of.
PARTS: dict[str, tuple[Work, ...]] = {
    "device_compute_16": (Work.COMPUTE_16,),
    "device_compute_32": (Work.COMPUTE_32,),
    "device_to_device": (Work.DEVICE_TO_DEVICE,),
    "collectives": (Work.COLLECTIVE, Work.HOST_COLLECTIVE),
    "input": (Work.INPUT_WAIT,),
    "host_to_device": (Work.HOST_TO_DEVICE,),
    "output": (Work.DEVICE_TO_HOST,),
    "kernel_launch": (Work.LAUNCH,),
    "host_compute": (Work.HOST_COMPUTE,),
    "compilation": (Work.COMPILE,),
    "host_wait": (Work.WAIT,),
    "other": (Work.NOTHING,),
}
# Work that a thread does not do while it waits, whatever the event around the wait is called.
_PAUSED_BY_WAITS = (Work.HOST_COMPUTE, Work.LAUNCH)
# More steps than this, and the first and the last are left out: they are cut or warming up.
EDGE_LIMIT = 5
# From this many median steps on, a last step is long because it waits for the loop's work.
_LONG_STEPS = 2.0
# A last round that ends this much earlier than the others was not recorded to its end.
_SHORT_STEPS = 0.8
# Devices times steps in a recording whose devices run in few of its steps.
_MAX_SPARSE_CELLS, _MAX_CELLS_PER_RUN = 1 << 18, 4
# Devices of a host that are swept with all of its spans; more of them while these are few.
_MIN_DEVICES, _MAX_SWEPT_SPANS = 64, 1 << 24
# From this share of the rest on a recorder's own work is named.
_RECORDER_FRAC = 0.01
# Nothing ran in a step of which this share is accounted for by nothing.
_IDLE_FRAC = 0.95


@dataclass(frozen=True, eq=False, slots=True)
class HostSteps:
    """The steps of a host.

    Attributes:
        markers: Where they come from.
        start_ps, end_ps: Disjoint half-open intervals, ascending.
        parts_ps: ``{part: int64[steps]}``; over the parts they sum to the interval.
        busy_ps: ``{device plane row: int64[steps]}``: time the device ran anything.
        kept: Steps that count (edges left out when there are more than ``EDGE_LIMIT``).
        is_outlier: Steps left out only because they are far longer than all others.
        runs_behind: Whether the devices run behind the host.
        left_out: Which steps and times do not count, and why; sentences.
        recorder_ps: Time of each step in which a recorder did its own work on the thread.
    """

    markers: Markers
    start_ps: I64
    end_ps: I64
    parts_ps: dict[str, I64]
    busy_ps: dict[int, I64]
    kept: Bool
    is_outlier: Bool
    runs_behind: bool
    left_out: tuple[str, ...] = ()
    recorder_ps: I64 = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.start_ps)

    @property
    def timed(self) -> Bool:
        """Steps recorded whole after the warm-up: those kept, and outliers."""
        return self.kept | self.is_outlier

    @property
    def kept_spans(self) -> tuple[I64, I64]:
        """Begins and ends of the steps that count."""
        return self.start_ps[self.kept], self.end_ps[self.kept]

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
def steps(host: Host) -> HostSteps | None:
    """The steps of a host with their attribution; None when nothing was recorded.

    Where no steps are found the recording as a whole counts as one (``markers.is_window``).
    """
    markers = step_markers(host)
    if markers is None or len(markers) == 0:
        return None
    when = step_intervals(host, markers)
    start, end = when.start_ps, when.end_ps
    spans = step_spans(host)
    time = sweep(spans.start_ps, spans.end_ps, spans.work, start, end)
    parts = {part: time[:, list(kinds)].sum(axis=1) for part, kinds in PARTS.items()}
    kept, left_out = _kept(markers, when, sum_parts(parts, ("host_wait", "other")))
    choice = choose_steps(end - start, kept) if not markers.is_window else None
    is_outlier = np.zeros(len(markers), dtype=bool)
    if choice is not None:
        kept, is_outlier = choice.kept, choice.is_outlier
        left_out = [*_unusual(choice, start, end), *left_out]
    return HostSteps(
        markers=markers,
        start_ps=start,
        end_ps=end,
        parts_ps=parts,
        busy_ps=_busy(host, start, end),
        kept=kept,
        is_outlier=is_outlier,
        runs_behind=when.runs_behind,
        left_out=(*left_out, *_pauses(markers), *_recorders_time(host, markers)),
        recorder_ps=covered(*recorder_spans(host), start, end),
    )


def steps_on(part: Host, whole: HostSteps) -> HostSteps:
    """The same steps, of a part of their host's lines: what this part did in each.

    Args:
        part: The part; ``step_markers`` of it are known.
        whole: The steps of the host.
    """
    spans = step_spans(part)
    time = sweep(spans.start_ps, spans.end_ps, spans.work, whole.start_ps, whole.end_ps)
    return replace(
        whole,
        parts_ps={name: time[:, list(kinds)].sum(axis=1) for name, kinds in PARTS.items()},
        busy_ps=_busy(part, whole.start_ps, whole.end_ps),
    )


def steps_between(whole: HostSteps, begin_ps: int, end_ps: int, *, all_count: bool) -> HostSteps:
    """The steps that lie wholly in a range.

    Args:
        whole: All steps of the host.
        begin_ps: On the host's clock.
        end_ps: End of the range.
        all_count: Whether each of them counts, as where a person names them; else those that
            count in the whole, or all where none does.
    """
    rows = np.flatnonzero((whole.start_ps >= begin_ps) & (whole.end_ps <= end_ps))
    kept = whole.kept[rows]
    if all_count or not kept.any():
        kept = np.ones(len(rows), dtype=bool)
    marks = whole.markers
    has_first, has_last = 0 in rows, len(whole) - 1 in rows
    markers = replace(
        marks,
        num=marks.num[rows],
        name=[marks.name[row] for row in rows.tolist()],
        start_ps=marks.start_ps[rows],
        end_ps=marks.end_ps[rows],
        mark_end_ps=marks.mark_end_ps[rows],
        is_first_open=marks.is_first_open and has_first,
        is_last_open=marks.is_last_open and has_last,
        is_last_cut=marks.is_last_cut and has_last,
    )
    uncounted = int((~kept).sum())
    left_out = [f"{marked.counted(uncounted)} that the whole recording leaves out, too."]
    return HostSteps(
        markers=markers,
        start_ps=whole.start_ps[rows],
        end_ps=whole.end_ps[rows],
        parts_ps={name: time[rows] for name, time in whole.parts_ps.items()},
        busy_ps={device: time[rows] for device, time in whole.busy_ps.items()},
        kept=kept,
        is_outlier=whole.is_outlier[rows] & ~kept,
        runs_behind=whole.runs_behind,
        left_out=tuple(left_out) if uncounted else (),
        recorder_ps=whole.recorder_ps[rows],
    )


def found_steps(host: Host) -> HostSteps | None:
    """The steps of a host; None where it has none but the recording as a whole."""
    found = steps(host)
    return None if found is None or found.markers.is_window else found


def _kept(markers: Markers, when: Intervals, idle_ps: I64) -> tuple[Bool, list[str]]:
    """Which steps count, and why the others do not.

    Args:
        markers: Of the steps.
        when: Their intervals.
        idle_ps: Time of each step in which nothing ran.
    """
    count = len(markers)
    length = when.end_ps - when.start_ps
    kept, said = ~when.is_cut, []
    if when.drained_ps:
        said.append(
            f"The first {time_words(when.drained_ps / 1e9)} of the first step: it waits for work "
            "from before the recording."
        )
    if when.is_cut.any() and not markers.is_window:
        said.append(
            f"{marked.counted(int(when.is_cut.sum()))} cut off where the recorder wrote a chunk "
            "and recorded nothing."
        )
    if markers.is_window:
        return np.ones(count, dtype=bool), said
    if when.is_unfinished.any():
        kept &= ~when.is_unfinished
        said.append(
            f"{marked.counted(int(when.is_unfinished.sum()))} at the end, whose work was not "
            "recorded to its end."
        )
    typical = median(length[:-1]) if count > 1 else 0.0
    if markers.is_first_open and kept[0]:
        kept[0] = False
        said.append("The first step: nothing recorded tells where it begins.")
    is_short = length[-1] < _SHORT_STEPS * typical
    if markers.is_last_open and kept[-1] and is_short and not when.runs_behind:
        kept[-1] = False
        said.append("The last step: nothing recorded tells where it ends.")
    if markers.is_last_cut and kept[-1]:
        kept[-1] = False
        said.append("The last step, within which the recording ended.")
    if kept[-1] and is_short and _is_mark_alone(length, idle_ps):
        kept[-1] = False
        said.append("The last step, in which nothing ran: the loop was over, or the recording.")
    if count > EDGE_LIMIT:
        if kept[0]:
            said.append("The first step, which may be cut off or warming up.")
        kept[0] = False
        is_wait = length[-1] > _LONG_STEPS * typical and 2 * idle_ps[-1] < length[-1]
        is_whole = is_wait or (markers.is_start_to_start and not markers.is_last_open)
        if kept[-1] and (when.runs_behind or not is_whole):
            kept[-1] = False
            said.append("The last step, which may be cut off.")
    if not kept.any():
        kept = ~when.is_cut if not when.is_cut.all() else np.ones(count, dtype=bool)
    return kept, said


def _unusual(choice: StepChoice, start_ps: I64, end_ps: I64) -> list[str]:
    """Sentences about the steps that warm up and the outliers."""
    length_ms = (end_ps - start_ps) / 1e9
    usual = f"ms beside a median of {median(length_ms[choice.kept]):.3g} ms"
    said = []
    if choice.is_outlier.any():
        count = marked.counted(int(choice.is_outlier.sum()))
        longest = length_ms[choice.is_outlier].max()
        said.append(f"{count} far longer than all others: up to {longest:.3g} {usual}.")
    if choice.is_warm_up.any():
        count = marked.counted(int(choice.is_warm_up.sum()))
        longest = length_ms[choice.is_warm_up].max()
        said.append(f"{count} at the start, warming up: up to {longest:.3g} {usual}.")
    return said


def _is_mark_alone(length: I64, idle_ps: I64) -> bool:
    """Whether nothing ran in the last step, as in no other.

    A profiler that learns of the end of each step marks one more, in which the loop ends.
    """
    idle = idle_ps / np.maximum(length, 1)
    return bool(len(length) > 1 and idle[-1] > _IDLE_FRAC >= idle[:-1].max())


def _recorders_time(host: Host, markers: Markers) -> list[str]:
    """A sentence about a recorder's own work, where the recording as a whole is accounted for."""
    if not markers.is_window:
        return []
    begin, end = recorder_spans(host)
    own = int((end - begin).sum() - covered(begin, end, markers.start_ps, markers.end_ps).sum())
    if own < _RECORDER_FRAC * int((markers.end_ps - markers.start_ps).sum()):
        return []
    return [f"{time_words(own / 1e9)} in which the recorder itself began and ended."]


def _pauses(markers: Markers) -> list[str]:
    """Sentences about long stretches between steps, where steps last to the next start."""
    if not markers.is_start_to_start or len(markers) < 2:
        return []
    between = markers.start_ps[1:] - markers.end_ps[:-1]
    long = pauses(between, np.diff(markers.start_ps))
    if not long.any():
        return []
    total = float(between[long].sum()) / 1e9
    what = "1 pause" if long.sum() == 1 else f"{int(long.sum())} pauses"
    return [f"{what} between steps, {total:,.0f} ms in all: no step of the loop ran in them."]


@dataclass(frozen=True, eq=False, slots=True)
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


def step_spans(host: Host) -> StepSpans:
    """Every span that may explain time: device events, and host events of the step's threads."""
    found = device_events(host)
    on_device = np.flatnonzero(~found.is_container)
    own = host_work(host)
    traced, until, calls = _keep_step_threads(host, *tracing_spans(host))
    tracing = np.full(len(calls), Work.COMPILE, dtype=np.uint8)
    return StepSpans(
        start_ps=np.concatenate([found.start_ps[on_device], own.start_ps, traced]),
        end_ps=np.concatenate([found.end_ps[on_device], own.end_ps, until]),
        work=np.concatenate([found.work[on_device], own.work, tracing]),
        event=np.concatenate([found.rows[on_device], own.rows, calls]),
        device_row=on_device,
    )


@dataclass(frozen=True, eq=False, slots=True)
class HostWork:
    """Spans of host threads that stand for work of the step.

    Attributes:
        rows: Event row of each, ascending; an event within which its thread waits has several.
        start_ps, end_ps: Of each span.
        work: ``Work`` of each.
    """

    rows: I64
    start_ps: I64
    end_ps: I64
    work: U8

    def __getitem__(self, some: NDArray[Any]) -> HostWork:
        return HostWork(self.rows[some], self.start_ps[some], self.end_ps[some], self.work[some])


@derived
def host_work(host: Host) -> HostWork:
    """Host events that stand for work of the step; none without markers.

    They are those on the markers' thread and on the runtimes' pools; what tf.data prepares on
    its own threads runs beside the step, except the wait for its next element. What processes
    exchange is the step's on any thread. While a thread waits it neither computes nor launches.
    """
    markers = step_markers(host)
    if markers is None:
        nothing = np.empty(0, dtype=np.int64)
        return HostWork(nothing, nothing, nothing, np.empty(0, dtype=np.uint8))
    space, by_name, stats = host.space, host_names(host), event_stats(host)
    metadata, duration = space.events.metadata, space.events.duration_ps
    meets = np.where(by_name.work == Work.HOST_COLLECTIVE, by_name.work, Work.NOTHING)
    waits = np.where(by_name.is_input, by_name.work, meets).astype(np.uint8)
    of_reach = {_ALL_WORK: by_name.work, _ONLY_INPUT: waits, _NOTHING_ELSE: meets.astype(np.uint8)}
    # Threads of a pool wait for the system while nobody asks them for anything.
    busy = np.where(entries_shaped(host, _is_idle), Work.NOTHING, by_name.work).astype(np.uint8)
    reach = _line_reach(host, markers)
    found = np.zeros(len(space.events), dtype=np.uint8)
    for row in np.flatnonzero(reach).tolist():
        inside = slice(space.lines[row].begin, space.lines[row].end)
        is_pools = reach[row] == _ALL_WORK and row not in (markers.line, markers.thread)
        work = busy if is_pools else of_reach[reach[row]]
        found[inside] = work[metadata[inside]] * (duration[inside] > 0)
    if PlaneKind.GPU in planes(host).plane_kind:
        calls = stats.rows(names.CORRELATION_ID)
        # Recorders number all calls of the driver, but those for memory, and waits, launch nothing.
        idle = allocating_names(host) | waiting_names(host)
        launches = calls[~idle[metadata[calls]]] if len(calls) else calls
        _say(found, launches, Work.LAUNCH, host, reach)
        # Where nothing runs on a GPU, nobody needs what looks for copies among launches.
        from stepscope.tables.steps.staged_copies import staged_copies

        staged, way = staged_copies(host, launches)
        own = reach[space.lines_of(staged)] == _ALL_WORK
        found[staged[own]] = way[own]
    _say(found, stats.rows(names.INPUT_STAGE_NAME), Work.INPUT_WAIT, host, reach)
    timed = timed_events(host)
    if not timed.all():
        found[~timed] = Work.NOTHING
    found[stats.rows(names.ROOT_LEVEL)] = Work.NOTHING
    found[_marker_rows(host, markers)] = Work.NOTHING
    if host.as_window:  # of the whole recording the marks are frames all the same
        for find in (marked.annotated, marked.pytorch, marked.keras):
            marks = find(host)
            if marks is not None:
                found[_marker_rows(host, marks)] = Work.NOTHING
    rows = np.flatnonzero(found)
    start = space.events.start_ps[rows]
    return _without_waits(
        space.lines_of(rows), HostWork(rows, start, start + space.length_ps[rows], found[rows])
    )


def _is_idle(name: str) -> bool:
    return wait_of(name) in (Wait.PYTHON, Wait.SYSTEM)


def _without_waits(line: I64, work: HostWork) -> HostWork:
    """The same without the waits within what a thread computes and launches.

    Args:
        line: Of each span.
        work: Whole events; those of a line lie in each other or apart.
    """
    whole = np.ones(len(line), dtype=bool)
    pieces: list[HostWork] = []
    for thread in distinct(line[work.work == Work.WAIT]).tolist():
        own = np.flatnonzero(line == thread)
        works = own[np.isin(work.work[own], _PAUSED_BY_WAITS)]
        waits = own[work.work[own] == Work.WAIT]
        begin, end = union_spans(work.start_ps[waits], work.end_ps[waits])
        # A span within a wait is what the wait is made of; one around a wait pauses.
        first = np.searchsorted(begin, work.start_ps[works], side="left")
        last = np.searchsorted(end, work.end_ps[works], side="right")
        paused = last > first
        cut, first, last = works[paused], first[paused], last[paused]
        whole[cut] = False
        # Of each span as many pieces as waits, and one more.
        event = np.repeat(np.arange(len(cut)), last - first + 1)
        place = np.arange(len(event)) - np.searchsorted(event, event, side="left")
        wait = first[event] + place
        opens = np.where(place > 0, end[wait - 1], work.start_ps[cut[event]])
        is_last = wait == last[event]
        closes = np.where(is_last, work.end_ps[cut[event]], np.append(begin, 0)[wait])
        rest = HostWork(work.rows[cut[event]], opens, closes, work.work[cut[event]])
        pieces.append(rest[closes > opens])
    if not pieces:
        return work
    parts = [work[whole], *pieces]
    joined = HostWork(
        rows=np.concatenate([one.rows for one in parts]),
        start_ps=np.concatenate([one.start_ps for one in parts]),
        end_ps=np.concatenate([one.end_ps for one in parts]),
        work=np.concatenate([one.work for one in parts]),
    )
    return joined[np.lexsort((joined.start_ps, joined.rows))]


def _keep_step_threads(host: Host, begin: I64, until: I64, calls: I64) -> tuple[I64, I64, I64]:
    """Those of calls on threads whose work is the step's."""
    markers = step_markers(host)
    if markers is None or len(calls) == 0:
        return begin[:0], until[:0], calls[:0]
    mine = _line_reach(host, markers)[host.space.lines_of(calls)] == _ALL_WORK
    return begin[mine], until[mine], calls[mine]


_MAIN = "python"
# What of a line counts as the step's work, beside what processes exchange.
_ONLY_INPUT, _ALL_WORK, _NOTHING_ELSE = 1, 2, 3


def _line_reach(host: Host, markers: Markers) -> U8:
    """Per line of the space, how much of its work is the step's: none, input waits, or all."""
    lines = host.space.lines
    exchanges = (host_names(host).work == Work.HOST_COLLECTIVE).any()
    reach = np.zeros(len(lines), dtype=np.uint8)
    for row in host_thread_rows(host).tolist():
        name = lines[row].name
        if row in (markers.line, markers.thread) or is_pool_thread(name) or name == _MAIN:
            reach[row] = _ALL_WORK
        elif is_tf_data_thread(name):
            reach[row] = _ONLY_INPUT
        elif exchanges:
            reach[row] = _NOTHING_ELSE
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
    is_mark = not markers.is_start_to_start or markers.source == "markers"
    if not is_mark:
        return np.empty(0, dtype=np.int64)
    start = events.start_ps[line.begin : line.end]
    order = None if (start[1:] >= start[:-1]).all() else np.argsort(start, kind="stable")
    first = np.searchsorted(start, markers.start_ps, side="left", sorter=order)
    last = np.searchsorted(start, markers.start_ps, side="right", sorter=order)
    step = np.repeat(np.arange(len(markers)), last - first)
    place = np.arange(len(step)) - np.repeat(np.cumsum(last - first) - last, last - first)
    rows = line.begin + (place if order is None else order[place])
    ends = events.start_ps[rows] + host.space.length_ps[rows]
    covering: I64 = rows[ends >= markers.mark_end_ps[step]]
    return covering


def _busy(host: Host, start: I64, end: I64) -> dict[int, I64]:
    """Per device that takes part in the steps, and per step, the time anything ran on it."""
    found = device_events(host)
    own = np.flatnonzero(~found.is_container)
    if not len(own):
        return {}
    own = own[np.argsort(found.device[own], kind="stable")]
    planes, first = np.unique(found.device[own], return_index=True)
    merged = {}
    for plane, rows in zip(planes.tolist(), np.split(own, first[1:]), strict=True):
        begin = found.start_ps[rows]
        merged[plane] = union_spans(begin, begin + found.duration_ps[rows])
    ran_in = [len(np.unique(np.searchsorted(start, begin))) for begin, _ in merged.values()]
    chosen = planes[_taking_part(np.asarray(ran_in), len(start), len(host_work(host).rows))]
    return {plane: covered(*merged[plane], start, end) for plane in chosen.tolist()}


def _taking_part(ran_in: I64, steps: int, spans: int) -> I64:
    """Rows of the devices for which every step is accounted; all those of any real host.

    Each has a row per step and is swept with all spans of its host. A file with many devices
    that ran once would cost more than its bytes explain.

    Args:
        ran_in: By device, in how many steps it ran.
        steps: How many the host has.
        spans: How many the host's own work has.
    """
    order = np.argsort(-ran_in, kind="stable")
    count = np.arange(1, len(order) + 1)
    fits = count * steps <= np.maximum(
        _MAX_SPARSE_CELLS, _MAX_CELLS_PER_RUN * ran_in[order].cumsum()
    )
    fits &= (count <= _MIN_DEVICES) | (count * spans <= _MAX_SWEPT_SPANS)
    rows: I64 = np.sort(order[: int(fits.cumprod().sum())])
    return rows


#: What a call's stat begins with where it traced.
TRACED: Final = "traced"


@derived
def tracing_spans(host: Host) -> tuple[I64, I64, I64]:
    """Begin, end and call of each stretch of calls that build their function, without ops in it.

    TensorFlow says that a call traced. A call of JAX builds if it compiles: it traces and lowers
    its function, too, of which the runtime records nothing.
    """
    calls = _building_calls(host)
    if len(calls) == 0:
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing, nothing
    starts, lengths = host.space.events.start_ps, host.space.length_ps
    begin, until = union_spans(starts[calls], starts[calls] + lengths[calls])
    ops = host_ops(host)
    ran = ops.rows[ops.is_execution & ~ops.is_eager]
    busy = union_spans(starts[ran], starts[ran] + lengths[ran])
    times = distinct(np.concatenate([begin, until, *busy]))
    left, right = times[:-1], times[1:]
    inside = (covered(begin, until, left, right) > 0) & (covered(*busy, left, right) == 0)
    left, right = left[inside], right[inside]
    by_start = calls[np.argsort(starts[calls], kind="stable")]
    at = np.searchsorted(starts[by_start], left, side="right") - 1
    return left, right, by_start[at]


def _building_calls(host: Host) -> I64:
    """Rows of the calls of functions that trace or compile, ascending."""
    how = event_stats(host).texts(names.TF_FUNCTION_CALL)
    wanted = np.asarray([text.startswith(TRACED) for text in how.texts] or [False], dtype=bool)
    traced = how.rows[wanted[how.codes]] if len(how.rows) else how.rows
    space, metadata = host.space, host.space.events.metadata
    jitted = rows_of(metadata, entries_starting(host, names.PJIT_FUNCTION))
    if len(jitted) == 0:
        return traced
    compiling = timed_rows(host, host_names(host).work == Work.COMPILE)
    starts, lengths = space.events.start_ps, space.length_ps
    builds = np.zeros(len(jitted), dtype=bool)
    for line in distinct(space.lines_of(jitted)).tolist():
        own, inner = space.lines_of(jitted) == line, compiling[space.lines_of(compiling) == line]
        until = union_spans(starts[inner], starts[inner] + lengths[inner])
        begin = starts[jitted[own]]
        builds[own] = covered(*until, begin, begin + lengths[jitted[own]]) > 0
    return distinct(np.concatenate([traced, jitted[builds]]))
