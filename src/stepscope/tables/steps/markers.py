"""Which spans of a host are its steps: the best evidence there is, and how far it can be believed.

Marks come first: of the program, of its framework, of the devices. Without any, the rounds of
the program's loop are looked for; without a loop, the recording as a whole counts as a step,
so that its time is accounted for, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

import numpy as np

from stepscope.columns import median, rows_of, union_spans
from stepscope.columns.space import I64, Bool
from stepscope.quantities import share_words
from stepscope.schema import names
from stepscope.tables.core.presence import any_stretch, entries_shaped, entries_starting
from stepscope.tables.core.profile import Host, derived, known
from stepscope.tables.core.recording_gaps import (
    crosses_gap,
    gaps_at_steps,
    next_gap,
    recording_gaps,
)
from stepscope.tables.core.regions import is_of_backward, prepares_backward, region_name
from stepscope.tables.core.stats import event_stats
from stepscope.tables.core.time_spans import covered
from stepscope.tables.core.waits import is_wait_for_device
from stepscope.tables.device.driver_calls import waiting_names
from stepscope.tables.device.events import device_events, device_lines
from stepscope.tables.host.events import (
    host_thread_rows,
    is_pool_thread,
    is_tf_data_thread,
    python_lines,
    timed_events,
)
from stepscope.tables.steps import marked
from stepscope.tables.steps.calls import Calls, function_calls
from stepscope.tables.steps.found import WINDOW, Markers
from stepscope.tables.steps.program_runs import program_runs
from stepscope.tables.steps.recorder_work import recorder_spans, summary_spans

# Share of a loop's time between marks from which a step lasts to the start of the next.
BETWEEN_FRAC = 0.1
# A pause is a rare stretch between two marks that is longer than this many steps.
_PAUSE_STEPS, _RARE = 5, 0.05
# Among this many stretches a single long one is not part of the loop.
_ENOUGH = 5

# A window is what it says, but no step: shares of it hold, times of it are of no step.
_WINDOW_CONFIDENCE = 0.3

_Finder = Callable[[Host], Markers | None]

# What Keras' loops call once a batch.
_BATCH_FUNCTIONS = (
    "train_function",
    "test_function",
    "predict_function",
    "one_step_on_iterator",
    "multi_step_on_iterator",
)
# A batch without its mark is within this many batches of the next.
_NEAR_BATCHES = 2.0

# The start or stop of a profiler within this many rounds is an edge of the loop.
_SOON_ROUNDS = 2
# A stretch before the first call, as a share of a round, that is a part of each round.
_LEADING_FRAC = 0.25

# What people call the range around one pass of a model, and words that say it is a loop.
_PASS: Final = re.compile(r"inference|forward|predict|evaluat|generat|model", re.IGNORECASE)
_LOOP: Final = re.compile(r"train|loop|epoch|steps|iter|bench|batches|warm|repeat", re.IGNORECASE)
_MODULE: Final = f"{names.PYTHON_CALL_MARK}nn.Module: "
# Rounds of which nothing else says that they are steps, and less of the recording: no loop.
_LEAST_FRAC: Final = 1 / 3


def _finders() -> Iterator[_Finder]:
    """Where steps are looked for, the best evidence first."""
    yield from (marked.annotated, marked.pytorch, marked.keras, marked.device_steps)
    # Most programs mark their steps.
    from stepscope.tables.steps import inferred

    yield from (
        inferred.rounds_on_devices,
        inferred.rounds_of_functions,
        inferred.rounds_of_programs,
        inferred.rounds_of_ops,
        inferred.single_calls,
        inferred.rounds_of_graphs,
        inferred.rounds_of_kernels,
        inferred.rounds_of_ranges,
    )


@derived
def step_markers(host: Host) -> Markers | None:
    """The host's steps, or the recording as a whole; None where nothing was recorded."""
    for find in () if host.as_window else _finders():
        found = find(host)
        if found is not None and not _are_layers(host, found):
            marks = _add_cut_batches(host, found)
            whole = _whole(host, marks)
            unseen = (whole.end_ps <= whole.start_ps) & (marks.end_ps > marks.start_ps)
            if 2 * unseen.sum() > len(whole):
                return _without_steps(host, int(unseen.sum()))
            return _keep_loop_thread(host, whole)
    return recording_window(host)


def _without_steps(host: Host, unseen: int) -> Markers | None:
    """The recording as a whole, where it paused as soon as most steps had begun."""
    window = recording_window(host)
    told = f"Of {marked.counted(unseen)} only the begin was recorded"
    return window and replace(
        window,
        explanation=f"{told}, so the recording as a whole is accounted for.",
        reason="the recorder wrote a chunk in each step",
    )


def _are_layers(host: Host, found: Markers) -> bool:
    """Whether what recurs is not a loop, but what one pass is made of."""
    layers = (_is_one_pass, _is_one_module_call, _is_one_forward)
    return any(is_one(host, found) for is_one in layers) or (
        _is_small_part(found, _recorded_span(host))
    )


def has_steps(host: Host) -> bool:
    """Whether ``step_markers`` finds steps, marked or inferred from what repeats.

    Marks and the steps of devices are seen in the first of their events. Only what follows from
    calls and kernels that repeat takes all of them.
    """
    if host.as_window:
        return False
    if (given := known(step_markers, host)) is not None:
        return not given.is_window
    # Where a recorder paused, it may have done so in each step.
    cheap = (marked.has_annotated, marked.has_pytorch, marked.has_device_steps)
    if len(recording_gaps(host)[0]) == 0 and any(find(host) for find in cheap):
        return True
    found = step_markers(host)
    return found is not None and not found.is_window


def has_account(host: Host) -> bool:
    """Whether ``step_markers`` finds anything: steps, or events to make a window of."""
    lines = [*host_thread_rows(host).tolist(), *device_lines(host), *python_lines(host)]
    return any_stretch(host, lines, lambda one: bool((one.timed & (one.length_ps > 0)).any())) or (
        has_steps(host)
    )


def _keep_loop_thread(host: Host, found: Markers) -> Markers:
    return replace(found, thread=loop_thread(host, found.line))


def _whole(host: Host, found: Markers) -> Markers:
    """The steps with the time that belongs to them: to the next start, less what a recorder did."""
    if not found.is_start_to_start:
        found = _to_next_start(host, found)
    found = _extended_to_profiler(host, found)
    start, end = found.start_ps, found.end_ps
    end = np.minimum(end, np.maximum(next_gap(host, start), start))
    end = np.maximum(_end_before_recorder(host, found, end), start)
    found = replace(found, end_ps=end, mark_end_ps=np.minimum(found.mark_end_ps, end))
    return _alone(found) if len(found) == 1 and found.certainty == "certain" else found


def _alone(found: Markers) -> Markers:
    """One step: it is what it is, but not what others are."""
    return replace(
        found,
        explanation=f"{found.explanation} One step does not tell how much steps differ.",
        certainty="likely",
        reason="only one step was recorded",
    )


def _to_next_start(host: Host, found: Markers) -> Markers:
    """Let steps last to the next start where the marks leave out a part of the loop."""
    if len(found) < 2:
        return found
    start, end = found.start_ps, found.end_ps
    # Where the next step begins: at its mark, or at a gap that began as that was reached.
    following, gap = start[1:], next_gap(host, end[:-1])
    following = np.where(np.isin(gap, gaps_at_steps(host)), np.minimum(gap, following), following)
    between, period = following - end[:-1], following - start[:-1]
    counts = ~crosses_gap(host, end[:-1], following) & ~pauses(between, period)
    others = found.others_ps
    counts &= np.searchsorted(others, following) == np.searchsorted(others, end[:-1])
    if not counts.any():
        return found
    share = float(between[counts].sum() / max(int(period[counts].sum()), 1))
    if share <= BETWEEN_FRAC:
        return found
    to_next = end.copy()
    to_next[:-1] = np.where(counts, following, end[:-1])
    # What follows the last mark lasts as long as usual, if that much was recorded.
    last = int(end[-1]) + int(median(between[counts]))
    to_next[-1] = max(int(end[-1]), min(last, _last_moment(host, found.line)))
    return replace(
        found,
        end_ps=to_next,
        is_start_to_start=True,
        is_last_open=True,
        explanation=f"{found.explanation} The marks leave out {share_words(share)} of the loop, so "
        "each step lasts to the start of the next.",
    )


def pauses(between: I64, period: I64) -> Bool:
    """Which stretches between marks are pauses of the loop (an evaluation, an epoch's end)."""
    typical = median(period)
    long: Bool = between > _PAUSE_STEPS * max(typical, 1.0)
    most = max(_RARE * len(between), 1 if len(between) >= _ENOUGH else 0)
    return long if long.sum() <= most else np.zeros(len(between), dtype=bool)


def _last_moment(host: Host, row: int) -> int:
    """When the last event of a line ends; of all host threads without one."""
    space = host.space
    rows = [row] if row >= 0 else host_thread_rows(host).tolist()
    ends = [
        int(
            (
                space.events.start_ps[one.begin : one.end] + space.length_ps[one.begin : one.end]
            ).max()
        )
        for one in (space.lines[row] for row in rows)
        if one.end > one.begin
    ]
    return max(ends, default=0)


def _end_before_recorder(host: Host, found: Markers, end: I64) -> I64:
    """Ends of steps, the last of which ends before the recorder's own work."""
    end = end.copy()
    start, finish = recorder_spans(host)
    after = start[(start > found.start_ps[-1]) & (finish >= end[-1])]
    if len(after):
        end[-1] = min(int(end[-1]), int(after[0]))
    if len(found) == 1 and found.source != "markers":
        # Of one recorded batch the callback that records it writes summaries; nothing says that
        # every step does.
        start, finish = summary_spans(host)
        after = start[(start > found.start_ps[-1]) & (start < end[-1])]
        if len(after) and _is_last_work(host, found, int(after[0]), int(end[-1])):
            end[-1] = int(after[0])
    return end


def _is_last_work(host: Host, found: Markers, at: int, end: int) -> bool:
    """Whether nothing ran on a device from a moment on to the step's end."""
    space = host.space
    for row in device_lines(host):
        line = space.lines[row]
        begin = space.events.start_ps[line.begin : line.end]
        if ((begin >= at) & (begin < end)).any():
            return False
    return len(found) == 1


def recording_window(host: Host) -> Markers | None:
    """The recording as a whole, or the selected part of it, in pieces where the recorder paused."""
    span = _recorded_span(host)
    if span is None:
        return None
    span = host.span_ps or span
    begin, finish = recording_gaps(host)
    inside = (finish > span[0]) & (begin < span[1])
    start = np.concatenate([[span[0]], finish[inside]]).astype(np.int64)
    end = np.concatenate([begin[inside], [span[1]]]).astype(np.int64)
    start, end = start[end > start], end[end > start]
    if len(start) == 0:
        return None
    many = len(start) > 1
    what = "recording" if host.span_ps is None else "selection"
    if host.as_window:
        explanation = f"The {what} as a whole is accounted for, as was asked."
        reason = "its steps were not asked for"
    elif host.span_ps is None:
        explanation = (
            "No step was marked and none could be inferred, so the recording as a whole "
            "is accounted for."
        )
        reason = "nothing recurs that would tell one step from the next"
    else:
        explanation = "No whole step lies in the selection, so all of it is accounted for."
        reason = "no whole step lies in it"
    found = Markers(
        source=WINDOW,
        confidence=_WINDOW_CONFIDENCE,
        explanation=explanation,
        num=np.arange(len(start), dtype=np.int64),
        name=[f"the {what}, part {i + 1}" if many else f"the {what}" for i in range(len(start))],
        start_ps=start,
        end_ps=end,
        line=-1,
        mark_end_ps=end,
        certainty="uncertain",
        reason=reason,
    )
    return _keep_loop_thread(host, found)


def _recorded_span(host: Host) -> tuple[int, int] | None:
    """From the first to the last event of threads and devices, less the recorder's own work.

    Where there is none, what was recorded of Python alone tells.
    """
    space = host.space
    lengths = space.length_ps
    lasting = timed_events(host) & (lengths > 0)
    for wanted in ([*host_thread_rows(host).tolist(), *device_lines(host)], python_lines(host)):
        own = np.flatnonzero(space.on_lines(wanted) & lasting)
        if len(own):
            break
    else:
        return None
    start, finish = recorder_spans(host)
    begin = space.events.start_ps[own]
    end = begin + lengths[own]
    kept = np.ones(len(own), dtype=bool)
    if len(start):
        place = np.searchsorted(start, begin, side="right") - 1
        kept = ~((place >= 0) & (end <= finish[np.maximum(place, 0)]))
        begin, end = begin[kept], end[kept]
    if len(begin) == 0:
        return None
    waits = waiting_names(host)[space.events.metadata[own[kept]]]
    first, last = _first_moment(host, waits, begin, end), int(end.max())
    # An event that holds the recorder's start or stop (a frame of the program) begins or ends
    # with it, as does what waits on another thread: nothing else ends before, or begins after.
    on_device = np.isin(space.lines_of(own[kept]), device_lines(host))
    held = finish[finish <= end.min()]
    first = max(first, int(held[-1])) if len(held) else first
    edge = start[(start > first) & ((finish >= last) | (start >= begin.max()))]
    if len(edge):
        last = min(last, max(int(edge[0]), int(end[on_device].max(initial=0))))
    return (first, last) if last > first else None


def _first_moment(host: Host, waits: Bool, begin: I64, end: I64) -> int:
    """When a recording begins to be about what was recorded.

    A wait for a device before anything else is for work from before the recording. So is one that
    lasts until the first of what is recorded on devices begins, if it is most of what is before.
    """
    if waits.all():
        return int(begin.min())
    first = int(begin[~waits].min())
    devices = device_events(host)
    if len(devices) == 0:
        return first
    started = int(devices.start_ps.min())
    pending = waits & (begin < started) & (end > started)
    if not pending.any() or 2 * (started - int(begin[pending].min())) < started - first:
        return first
    return max(started, first)


def loop_thread(host: Host, marked: int) -> int:
    """Row of the thread's line, -1 where no thread of the program was recorded.

    Args:
        host: Whose.
        marked: Row of the line the steps are marked on, -1 without one. Where it is a device's,
            the thread that calls functions, launches kernels and waits for devices is looked for.
    """
    if marked >= 0:
        return marked
    space = host.space
    own = [
        row
        for row in host_thread_rows(host).tolist()
        if space.lines[row].end > space.lines[row].begin
        and not is_tf_data_thread(space.lines[row].name)
        and not is_pool_thread(space.lines[row].name)
    ]
    if not own:
        return -1
    stats = event_stats(host)
    calls = entries_shaped(
        host, lambda name: name.startswith(names.PJIT_FUNCTION) or is_wait_for_device(name)
    )
    for rows in (
        np.union1d(stats.rows(names.TF_FUNCTION_CALL), rows_of(space.events.metadata, calls)),
        stats.rows(names.CORRELATION_ID),
    ):
        lines = space.lines_of(rows)
        counts = np.bincount(lines[np.isin(lines, own)], minlength=len(space.lines))
        if counts.max(initial=0) > 0:
            return int(counts.argmax())
    longest: int = max(own, key=lambda row: _time(host, row))
    return longest


def _time(host: Host, row: int) -> int:
    """From the first to the last moment of a line; the program's thread is there throughout."""
    line, events = host.space.lines[row], host.space.events
    start = events.start_ps[line.begin : line.end]
    end = start + host.space.length_ps[line.begin : line.end]
    return int(end.max() - start.min())


def _add_cut_batches(host: Host, found: Markers) -> Markers:
    """The marked steps, with the batch before the first mark and the one after the last.

    Keras 2 marks a batch around the callbacks that begin and end to record within it: of the first
    and the last batch the function's call is recorded and the mark is not.
    """
    if found.source != "markers" or len(found) < 2:
        return found
    call = next((one for one in function_calls(host) if _is_once_each(one, found)), None)
    if call is None:
        return found
    near = _NEAR_BATCHES * median(np.diff(found.start_ps))
    before = np.flatnonzero(call.end_ps <= found.start_ps[0])
    after = np.flatnonzero(call.start_ps >= found.end_ps[-1])
    is_before = len(before) == 1 and found.start_ps[0] - call.end_ps[before[0]] <= near
    is_after = len(after) == 1 and call.start_ps[after[0]] - found.end_ps[-1] <= near
    start, end, num, name = found.start_ps, found.end_ps, found.num, found.name
    if is_before:
        start, end = np.append(call.start_ps[before], start), np.append(start[:1], end)
        num, name = np.append(num[:1] - 1, num), ["cut at the begin", *name]
    if is_after:
        start, end = np.append(start, end[-1:]), np.append(end, call.end_ps[after])
        num, name = np.append(num, num[-1:] + 1), [*name, "cut at the end"]
    cut = int(is_before) + int(is_after)
    if not cut:
        return found
    return replace(
        found,
        explanation=f"{found.explanation} {cut} more {'was' if cut == 1 else 'were'} cut at the "
        "edges of the recording.",
        num=num,
        name=name,
        start_ps=start,
        end_ps=end,
        mark_end_ps=end,
        is_first_open=is_before,
        is_last_cut=is_after,
    )


def _is_once_each(one: Calls, found: Markers) -> bool:
    """Whether a function of Keras' is called once within each mark."""
    if one.kind != "call" or one.line != found.line or one.name not in _BATCH_FUNCTIONS:
        return False
    first, last = (np.searchsorted(one.start_ps, edge) for edge in (found.start_ps, found.end_ps))
    return bool((last - first == 1).all())


def _extended_to_profiler(host: Host, found: Markers) -> Markers:
    """Rounds from the profiler's start and to its stop, where these are recorded and near.

    People start a profiler right before the loop and stop it right after. Where the recording has
    these calls (frames of Python), what the loop did before its first recorded call and after its
    last belongs to its rounds.
    """
    if not found.is_last_open or len(found) < 2:
        return found
    return _to_the_stop(host, _extend_to_start(host, found))


def _extend_to_start(host: Host, found: Markers) -> Markers:
    """Let rounds begin where their first unrecorded work does: at the end of the one before."""
    if found.source != "framework":
        return found
    _starts, ends = recorder_spans(host)
    before = ends[ends <= found.start_ps[0]]
    if len(before) == 0:
        return found
    usual = median(np.diff(found.start_ps))
    led = float(found.start_ps[0] - before[-1])
    if not _LEADING_FRAC * usual <= led <= _SOON_ROUNDS * usual:
        return found
    end = found.mark_end_ps
    return replace(
        found,
        start_ps=np.concatenate([before[-1:], end[:-1]]),
        end_ps=end,
        explanation=found.explanation.replace("start to start", "end to end"),
    )


def _to_the_stop(host: Host, found: Markers) -> Markers:
    """Let the last round last to the profiler's stop, if that is near or work is waited for."""
    stops, _ends = recorder_spans(host)
    after = stops[stops >= found.end_ps[-1]]
    if len(after) == 0:
        return found
    end = found.end_ps.copy()
    end[-1] = after[0]
    usual = median(np.diff(found.start_ps))
    is_near = end[-1] - found.start_ps[-1] <= _SOON_ROUNDS * usual
    if not is_near and not _is_worked(host, found.end_ps[-1:], end[-1:]):
        return found
    return replace(found, end_ps=end, is_last_open=False)


def _is_worked(host: Host, start: I64, end: I64) -> bool:
    """Whether programs or devices run most of a time: the loop's work is waited for in it."""
    runs, devices = program_runs(host), device_events(host)
    busy = union_spans(
        np.concatenate([runs.start_ps, devices.start_ps]),
        np.concatenate([runs.end_ps, devices.end_ps]),
    )
    return bool(2 * covered(*busy, start, end)[0] > end[0] - start[0])


def _is_one_pass(host: Host, found: Markers) -> bool:
    """Whether inferred steps lie in one range that the program calls a pass of its model.

    Layers of one kind run the same ops one after the other, as steps do.
    """
    if found.source != "inferred" or found.line < 0:
        return False
    space = host.space
    if names.NAMED_OPS not in space.stat_metadata.name:
        return False
    line = space.lines[found.line]
    begin = space.events.start_ps[line.begin : line.end]
    until = begin + space.length_ps[line.begin : line.end]
    around = (begin <= found.start_ps[0]) & (until >= found.mark_end_ps[-1])
    return any(
        _PASS.search(name) is not None and _LOOP.search(name) is None
        for meta in space.events.metadata[line.begin : line.end][around].tolist()
        if (name := region_name(space.event_metadata.name[meta]))
    )


def _is_one_module_call(host: Host, found: Markers) -> bool:
    """Whether inferred steps lie within one call of a module of PyTorch's.

    A loop calls its model in each step, and no module's call holds the loop.
    """
    if found.source not in ("inferred", "framework"):
        return False
    space = host.space
    is_module = entries_starting(host, _MODULE)
    rows = rows_of(space.events.metadata, is_module)
    begin = space.events.start_ps[rows]
    until = begin + space.length_ps[rows]
    # The last round may end behind the call: devices do.
    around = (begin <= found.start_ps[0]) & (until > found.start_ps[-1])
    return bool(around.any())


def _is_one_forward(host: Host, found: Markers) -> bool:
    """Whether inferred steps only prepare a backward pass, which was not recorded.

    Every step of a training has one: rounds without it are the layers of a forward pass.
    """
    if found.source not in ("inferred", "framework"):
        return False
    texts = host.space.event_metadata.name
    return any(map(prepares_backward, texts)) and not any(map(is_of_backward, texts))


def _is_small_part(found: Markers, recorded_ps: tuple[int, int] | None) -> bool:
    """Whether steps that are only a guess have little of what was recorded."""
    if found.source != "inferred" or found.certainty != "uncertain" or recorded_ps is None:
        return False
    steps = int(found.end_ps[-1]) - int(found.start_ps[0])
    return steps < _LEAST_FRAC * (recorded_ps[1] - recorded_ps[0])
