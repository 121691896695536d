"""A recording of threads and devices as a ``Space``: planes, lines and stats that tools know."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np

from stepscope.columns import coded, sum_by_key
from stepscope.columns.space import Space
from stepscope.errors import FormatError
from stepscope.formats.launched.device_planes import device_planes
from stepscope.formats.launched.host_plane import host_plane
from stepscope.formats.launched.links import Scopes, calls_of
from stepscope.formats.launched.ranges import Ranges, ranges_of
from stepscope.formats.launched.recorded import I64, Ints, LaunchedRecording
from stepscope.formats.packed import compact
from stepscope.formats.xspace.plane_writer import PlaneWriter, Stat
from stepscope.formats.xspace.written import space_of
from stepscope.kernels.memory import give_back
from stepscope.schema import names

# 26 days on each side of the median: starts and lengths in ps can then be added up.
_REACH_NS: Final = 1 << 51


def to_space(recorded: LaunchedRecording, *, file: str) -> Space:
    """The recording as columns.

    Args:
        recorded: What a reader found.
        file: Name for reports.

    Raises:
        FormatError: There is nothing in it.
    """
    if not recorded.count:
        raise FormatError(
            recorded.title,
            "it has no events",
            file=file,
            hint="Record again, over a stretch in which the program uses its devices.",
        )
    give_back()
    _shift_to_wall_clock(recorded)
    ranges = _ranges(recorded)
    scopes, calls = Scopes(recorded, ranges), calls_of(recorded)
    planes = [
        host_plane(recorded, ranges, scopes, calls),
        *device_planes(recorded, ranges, scopes, calls),
        *_host_counters(recorded),
    ]
    # The planes hold the tables from here on, each until its lines are written.
    recorded.host.clear()
    recorded.device.clear()
    del scopes, calls
    give_back()
    return space_of(planes, warnings=recorded.warnings)


def _ranges(recorded: LaunchedRecording) -> Ranges:
    covered: dict[int, int] = {}
    for table in recorded.host:
        if table.kind == "range":
            used, inverse = coded(table.name.astype(np.int64))
            total = sum_by_key(inverse, table.duration_ns.astype(np.int64), len(used))
            for code, length in zip(used.tolist(), total.tolist(), strict=True):
                covered[code] = covered.get(code, 0) + length
    return ranges_of(recorded.texts.list, covered, covered)


def _shift_to_wall_clock(recorded: LaunchedRecording) -> None:
    """Shift all times to the wall clock, and bring impossible ones within reach of it."""
    shift = recorded.unix_ns or 0
    starts = [one.start_ns for one in recorded.host] + [one.start_ns for one in recorded.device]
    starts += [one.time_ns for one in recorded.counters]
    starts += [one.time_ns for one in recorded.allocations]
    some = np.sort(np.concatenate([one[:: max(len(one) // 1000, 1)] for one in starts]))
    middle = int(some[(len(some) - 1) // 2])
    low, high = middle - _REACH_NS, middle + _REACH_NS
    changed = 0

    def times(start: Ints) -> I64:
        nonlocal changed
        within = np.clip(start.astype(np.int64), low, high)
        changed += int((within != start).sum())
        within += shift
        return within

    def lengths(duration: Ints) -> Ints:
        return compact(np.clip(duration.astype(np.int64), 0, _REACH_NS))

    # One after the other: all of them twice would be more than the columns take.
    for at, host in enumerate(recorded.host):
        start, length = times(host.start_ns), lengths(host.duration_ns)
        recorded.host[at] = replace(host, start_ns=start, duration_ns=length)
    for at, work in enumerate(recorded.device):
        start, length = times(work.start_ns), lengths(work.duration_ns)
        recorded.device[at] = replace(work, start_ns=start, duration_ns=length)
    recorded.counters = [replace(one, time_ns=times(one.time_ns)) for one in recorded.counters]
    recorded.allocations = [
        replace(one, time_ns=times(one.time_ns)) for one in recorded.allocations
    ]
    if changed:
        recorded.warnings.append(
            f"{changed:,} events have times that no recording can have; they are shown at its edge."
        )
    if recorded.unix_ns is None:
        recorded.origin += (
            " This one does not say when it was recorded: its times are on a clock of the "
            "machine's and cannot be put beside other recordings'."
        )


def _host_counters(recorded: LaunchedRecording) -> Iterator[PlaneWriter]:
    """A plane of what was counted of the host; none where nothing was."""
    found = [one for one in recorded.counters if one.device < 0]
    if not found:
        return
    plane = PlaneWriter(names.TELEMETRY_PLANE)
    for number, one in enumerate(found, 1):
        plane.line(
            number,
            names.COUNTER_LINE,
            metadata=np.full(len(one.time_ns), plane.name(one.name)),
            start_ns=one.time_ns,
            stats=[Stat(names.COUNTER_VALUE, one.value)],
        )
    yield plane
