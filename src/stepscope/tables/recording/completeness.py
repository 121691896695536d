"""Is the profile whole? What was dropped, cut or misaligned, and what that does to the numbers."""

from __future__ import annotations

import re
from typing import Literal

import numpy as np

from stepscope.columns import among, distinct, median, pivot, union_spans
from stepscope.columns.space import I64, KIND_INT64, KIND_UINT64, Bool
from stepscope.quantities import time_words
from stepscope.records import dataclass
from stepscope.result import Diagnostic
from stepscope.schema import names
from stepscope.tables.core.devices import devices
from stepscope.tables.core.presence import entries_called, entries_shaped
from stepscope.tables.core.processes import launch_ids
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.time_spans import covered
from stepscope.tables.device.events import DeviceEvents, device_events
from stepscope.tables.host.events import Work, timed_events
from stepscope.tables.host.ops import host_ops
from stepscope.tables.recording.damage import damage_of
from stepscope.tables.recording.environment import environment, recorded_at
from stepscope.tables.recording.recorder_costs import costs_of_recording
from stepscope.tables.steps.attribution import steps

CompletenessVerdict = Literal["complete", "partial", "damaged"]
#: Slug of the diagnostic that nothing was recorded of devices that work was given to.
NO_DEVICE_EVENTS = "no-device-events"
#: The same where the host computes for most of the time: what it does is known nevertheless.
LOST_KERNELS = "lost-kernels"
#: Slug of the diagnostic that times seem to be of another unit.
IMPLAUSIBLE_TIMES = "implausible-times"
# Launches whose kernel may lie beyond the end of the recording are not missing kernels.
_MISSING_SHARE = 0.01
_NONE = np.zeros(0, dtype=bool)
_API = re.compile(r"(cu|cuda|hip)[A-Z]")
_STARTS_WORK = re.compile(r"Launch|Memcpy|Memset")
# Of this many events half are shorter, or longer, than any program's are.
_FEWEST_TIMES, _SHORTEST_PS, _LONGEST_PS = 10, 50_000, 2 * 10**12
# Nobody writes a trace of a program that ends sooner.
_SHORTEST_WHOLE_PS = 2 * 10**9
_DAY_PS = 86_400 * 10**12
_FAR_DAYS = 10


@dataclass(frozen=True, slots=True)
class HostCompleteness:
    """The verdict on one host and its reasons."""

    verdict: CompletenessVerdict
    diagnostics: tuple[Diagnostic, ...]


@derived
def completeness(host: Host) -> HostCompleteness:
    """Check one host. Every reason is a diagnostic; "info" ones do not spoil the verdict."""
    found = [
        *damage_of(host),
        *_said(host, "imported-recording", names.IMPORTED),
        *_said(host, "less-detail", names.LESS_DETAIL),
        *_never_ended(host),
        *_recorder_messages(host),
        *_dropped(host),
        *_devices_without_events(host),
        *_launches(host),
        *_clock(host),
        *_units(host),
        *_steps(host),
        *costs_of_recording(host),
    ]
    if host.space.damage is not None:
        return HostCompleteness("damaged", tuple(found))
    spoils = any(one.severity != "info" for one in found)
    return HostCompleteness("partial" if spoils else "complete", tuple(found))


def _said(host: Host, slug: str, stat: str) -> list[Diagnostic]:
    """Notes of the recorder or reader, such as what a file cannot hold."""
    return [
        Diagnostic(slug, "info", value, host.name)
        for row in range(len(host.space.planes))
        for key, value in pivot.plane_stats(host.space, row).items()
        if key == stat and isinstance(value, str)
    ]


def _units(host: Host) -> list[Diagnostic]:
    """Times that suggest another unit: home-made traces often have seconds or nanoseconds."""
    if names.PROGRAM_RANGES not in host.space.stat_metadata.name:
        return []
    space = host.space
    own = timed_events(host) & (space.length_ps > 0)
    if np.count_nonzero(own) < _FEWEST_TIMES:
        return []
    usual = median(space.length_ps[own])
    begin = space.events.start_ps[own]
    whole = int((begin + space.length_ps[own]).max() - begin.min())
    what, length = "Half of the events last", usual
    if usual < _SHORTEST_PS:
        than, unit = "less", "seconds"
    elif usual > _LONGEST_PS:
        than, unit = "more", "nanoseconds"
    elif whole < _SHORTEST_WHOLE_PS:
        what, length, than, unit = "All events together last", whole, "no more", "milliseconds"
    else:
        return []
    text = (
        f"{what} {than} than {time_words(length / 1e9)}, which is implausible. A "
        f"Chrome trace has microseconds: were these times written in {unit}?"
    )
    return [Diagnostic(IMPLAUSIBLE_TIMES, "warning", text, host.name)]


def _never_ended(host: Host) -> list[Diagnostic]:
    """Recorders note the begin first and the end last, so one without the other was cut short."""
    at = recorded_at(host)
    if at.begin_unix_ns <= 0 or at.end_unix_ns > 0:
        return []
    text = (
        "The recording was never ended: its program was killed, or is still being recorded. "
        "What ran after the last written part is missing."
    )
    return [Diagnostic("never-ended", "warning", text, host.name)]


def _recorder_messages(host: Host) -> list[Diagnostic]:
    space = host.space
    return [
        Diagnostic("recorder-error", "error", text, host.name)
        for text in dict.fromkeys(space.errors)
    ] + [
        Diagnostic("recorder-warning", "warning", text, host.name)
        for text in dict.fromkeys(space.warnings)
    ]


def _dropped(host: Host) -> list[Diagnostic]:
    space = host.space
    keys = [
        row for row, name in enumerate(space.stat_metadata.name) if name == names.DROPPED_TRACES
    ]
    count = 0
    for stats in (space.plane_stats, space.event_stats):
        if keys and len(stats):
            is_number = (stats.kind == KIND_INT64) | (stats.kind == KIND_UINT64)
            own = np.isin(stats.key, keys) & is_number
            count += int(np.maximum(stats.value[own].view(np.int64), 0).sum())
    if not count:
        return []
    text = f"The recorder dropped {count:,} events because its buffer was full; record fewer steps."
    return [Diagnostic("dropped-events", "warning", text, host.name)]


def _devices_without_events(host: Host) -> list[Diagnostic]:
    present = devices(host)
    silent = [device.name for device in present if not device.has_events]
    if not silent:
        return []
    if len(silent) == len(present):
        one = len(silent) == 1
        text = (
            f"No kernel, op or copy was recorded on {silent[0]}. "
            if one
            else f"No kernel, op or copy was recorded on any of the {len(silent)} devices. "
        ) + (
            "On GPUs this is usually missing profiling privilege (CUPTI), or a recording that "
            "began after the work."
        )
        return [Diagnostic(NO_DEVICE_EVENTS, "warning", text, host.name)]
    text = f"{len(silent)} of {len(present)} devices recorded no events: {', '.join(silent[:8])}."
    return [Diagnostic("idle-devices", "info", text, host.name)]


def _starts_work(host: Host) -> Bool:
    """Mask over ``Space.event_metadata``: names of calls after which something runs on a device.

    Recorders number every call of a runtime's interface, also those that only wait, ask or
    allocate. Old recordings name a launch after its kernel, which is no such call.
    """
    return entries_shaped(
        host, lambda name: not _API.match(name) or bool(_STARTS_WORK.search(name))
    )


def _runs_a_kernel(host: Host, found: DeviceEvents) -> Bool:
    """Mask over ``Space.event_metadata``: calls that leave an event on a device, unless it is lost.

    Copies and fills of no bytes, and copies from host to host, leave none; nor do the waits, notes
    and ranges that recorders of other interfaces number. Old recordings name a launch after its
    kernel.
    """
    names_ = host.space.event_metadata.name
    kernels = {names_[one] for one in distinct(host.space.events.metadata[found.rows]).tolist()}
    return entries_shaped(host, lambda name: "Launch" in name) | entries_called(host, kernels)


def _launches(host: Host) -> list[Diagnostic]:
    """Kernels without a launch and launches without a kernel."""
    found = device_events(host)
    calls = launch_ids(host)
    at = host.space.events.metadata[calls.rows]
    starts_work = _starts_work(host)[at]
    launches = distinct(calls.values[starts_work])
    if not (found.work != Work.NOTHING).any():
        return _no_kernels(host, calls.rows)
    kernels = distinct(found.correlation[found.correlation >= 0])
    if len(launches) == 0:
        return []
    orphans = int((~among(launches, kernels)).sum())
    launches = distinct(calls.values[starts_work & _runs_a_kernel(host, found)[at]])
    lost = int((~among(kernels, launches)).sum())
    said = []
    if orphans > _MISSING_SHARE * len(kernels):
        text = (
            f"{orphans:,} of {len(kernels):,} device events have no recorded launch, so they are "
            "joined to steps by time only."
        )
        said.append(Diagnostic("kernels-without-launch", "info", text, host.name))
    if lost > _MISSING_SHARE * len(launches):
        text = (
            f"{lost:,} of {len(launches):,} launches have no device event: the recording ended "
            "first, or the recorder lost kernels. Device times are lower bounds."
        )
        said.append(Diagnostic("launches-without-kernel", "warning", text, host.name))
    return said


_LAUNCHES = re.compile(r"^(?:cu|cuda|hip)\w{0,60}Launch\w{0,60}Kernel|^(?:cu|cuda|hip)GraphLaunch")


def _no_kernels(host: Host, numbered: I64) -> list[Diagnostic]:
    """Launches of kernels, none of which was recorded on a device."""
    present = devices(host)
    if present and not any(device.has_events for device in present):
        return []  # said of the devices
    is_launch = entries_shaped(host, lambda name: bool(_LAUNCHES.match(name)))
    count = int(is_launch[host.space.events.metadata[numbered]].sum())
    if not count:
        return []
    text = (
        f"{'A kernel was' if count == 1 else f'{count:,} kernels were'} launched and none was "
        "recorded: what the device did, and for how long, is unknown. Record the device as well "
        "(in PyTorch ProfilerActivity.CUDA), with the privilege that it takes, and wait for it "
        "before the recording ends."
    )
    launching = numbered[is_launch[host.space.events.metadata[numbered]]]
    slug = LOST_KERNELS if _is_the_hosts(host, launching) else NO_DEVICE_EVENTS
    return [Diagnostic(slug, "warning", text, host.name)]


def _is_the_hosts(host: Host, launches: I64) -> bool:
    """Whether the host computes for most of the time, by ops that launch nothing."""
    found, ops, space = steps(host), host_ops(host), host.space
    if found is None:
        return False
    rows = ops.rows[ops.is_execution]
    begin, line = space.events.start_ps[rows], space.lines_of(rows)
    until = begin + space.length_ps[rows]
    at, on = space.events.start_ps[launches], space.lines_of(launches)
    alone = np.zeros(len(rows), dtype=bool)
    for row in distinct(line).tolist():
        mine, calls = line == row, np.sort(at[on == row])
        alone[mine] = np.searchsorted(calls, begin[mine]) == np.searchsorted(calls, until[mine])
    spans = union_spans(begin[alone], until[alone])
    busy = covered(*spans, found.start_ps, found.end_ps).sum()
    return bool(2 * int(busy) > int(found.duration_ps.sum()))


def _clock(host: Host) -> list[Diagnostic]:
    """Events far outside the bulk, which no recording of this length can hold."""
    events, timed = host.space.events, timed_events(host)
    if not timed.any():
        return []
    said = []
    far_ps = _FAR_DAYS * _DAY_PS
    if events.start_ps.max() > far_ps or events.start_ps.min() < -far_ps:
        far = timed & ((events.start_ps > far_ps) | (events.start_ps < -far_ps))
        if far.any():
            text = (
                f"{int(far.sum()):,} events lie more than {_FAR_DAYS} days from the others: "
                "their clock is wrong."
            )
            said.append(Diagnostic("clock-skew", "warning", text, host.name))
    negative = timed & (events.duration_ps < 0) if events.duration_ps.min() < 0 else _NONE
    if negative.any():
        text = f"{int(negative.sum()):,} events end before they begin; they are shown as instants."
        said.append(Diagnostic("negative-durations", "warning", text, host.name))
    return said


# How a program marks a step, by framework.
_STEP_MARKS = {
    "TensorFlow": "tf.profiler.experimental.Trace('train', step_num=i, _r=1)",
    "JAX": "jax.profiler.StepTraceAnnotation('train', step_num=i)",
    "PyTorch": "profiler.step()",
}


def _marks(framework: str) -> str:
    """The call of the recorded framework; of each, where it is not known."""
    *others, last = _STEP_MARKS.values()
    return _STEP_MARKS.get(framework) or f"{', '.join(others)} or {last}"


def _steps(host: Host) -> list[Diagnostic]:
    if not host.space.length_ps.any():  # a snapshot of memory: nothing ran that has steps
        return []
    found = steps(host)
    left_out = [
        Diagnostic("edge-steps", "info", f"Not counted: {text}", host.name)
        for text in (() if found is None else found.left_out)
    ]
    if found is None or found.markers.is_window:
        text = (
            "No step was marked and none could be inferred, so numbers are of the recording as a "
            f"whole, not of a step. Mark steps with {_marks(environment(host).framework)}."
        )
        return [Diagnostic("no-steps", "info", text, host.name), *left_out]
    said = []
    if found.markers.source in ("framework", "inferred"):
        text = (
            f"{found.markers.explanation} That is {found.markers.certainty}: "
            f"{found.markers.reason}."
        )
        said.append(Diagnostic("steps-inferred", "info", text, host.name))
    elif found.markers.is_start_to_start:
        text = found.markers.explanation
        said.append(Diagnostic("time-between-marks", "info", text, host.name))
    if found.runs_behind:
        text = (
            "The devices run behind the host, so a step lasts from the end of the previous step's "
            "device work to the end of its own."
        )
        said.append(Diagnostic("asynchronous-steps", "info", text, host.name))
    return said + left_out
