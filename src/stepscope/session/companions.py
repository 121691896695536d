"""Recordings of one run that lie beside each other, as one: on one clock, or said why not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from stepscope.columns.join import joined
from stepscope.columns.space import Bool, Space, Stats
from stepscope.columns.trim import touching, trimmed
from stepscope.errors import StepscopeError
from stepscope.formats import FORMATS
from stepscope.records import dataclass, replace
from stepscope.result import Diagnostic
from stepscope.schema import names
from stepscope.store import Source
from stepscope.store.companions import OPENED
from stepscope.tables.core.planes import DEVICE_KINDS, PlaneKind, plane_kind
from stepscope.tables.core.profile import Host
from stepscope.tables.recording.common_clock import CommonClock, common_clock, span_ps

_ITSELF: Final = "It is a run of its own in the list."


@dataclass(frozen=True, slots=True)
class Together:
    """A recording with those beside it.

    Attributes:
        space: The columns.
        notes: A note on each file beside it.
        paths: The files that are in the columns besides.
    """

    space: Space
    notes: tuple[Diagnostic, ...] = ()
    paths: tuple[str, ...] = ()


def with_companions(source: Source, space: Space, read: Callable[[Source], Space]) -> Together:
    """The recording with what its companions saw of the same time.

    Args:
        source: Of the recording.
        space: Its columns.
        read: Reads a companion.
    """
    notes, paths = [], []
    for one in source.companions:
        title = FORMATS[one.format].title
        try:
            other = Host(title, read(one))
            main = Host(source.host, space)
            clock = common_clock(main, other)
        except StepscopeError as error:
            clock = CommonClock(None, f"it does not open: {error.what}")
        if clock.shift_ps is None:
            text = f"A file beside this recording, {title}, is not shown with it: {clock.said}."
            notes.append(Diagnostic(OPENED, "info", f"{text} {_ITSELF}", source.host))
            continue
        seen, left_out = _clip_to_host(main, other, clock.shift_ps)
        space = joined(space, _drop_own_facts(seen), clock.shift_ps, _names(main, seen, title))
        text = f"A file beside this recording, {title}, is shown with it: {clock.said}."
        if left_out:
            text += f" {left_out:,} of its events are of another time. {_ITSELF}"
        notes.append(Diagnostic(OPENED, "info", text, source.host))
        paths.append(one.path)
    return Together(space, tuple(notes), tuple(paths))


def _clip_to_host(main: Host, other: Host, shift_ps: int) -> tuple[Space, int]:
    """The other's events that the first's time has, and how many are left out."""
    span = span_ps(main)
    if span is None:
        return other.space, 0
    keep: Bool = touching(other.space, span[0] - shift_ps, span[1] - shift_ps)
    return trimmed(other.space, keep), int((~keep).sum())


def _drop_own_facts(space: Space) -> Space:
    """Without what the other's file says of itself: the first's says what this recording is."""
    stats = space.plane_stats
    is_device = [plane_kind(plane.name) in DEVICE_KINDS for plane in space.planes]
    kept = np.zeros(len(stats), dtype=bool)
    planes, end = [], 0
    for plane, stays in zip(space.planes, is_device, strict=True):
        begin = end
        if stays:
            kept[plane.stat_begin : plane.stat_end] = True
            end += plane.stat_end - plane.stat_begin
        planes.append(replace(plane, stat_begin=begin, stat_end=end))
    return replace(
        space,
        planes=tuple(planes),
        plane_stats=Stats(stats.key[kept], stats.kind[kept], stats.value[kept]),
    )


def _names(main: Host, other: Space, title: str) -> list[str]:
    """What the other's planes are called: as they are where the first has nothing of the kind.

    Else they are tracks of their own, so that nothing is counted twice.
    """
    has_devices = _has(main.space, lambda kind: kind in DEVICE_KINDS)
    has_memory = bool(set(names.MEMORY_EVENTS) & set(main.space.event_metadata.name))
    known = {plane.name for plane in main.space.planes}
    found = []
    for row, plane in enumerate(other.planes):
        kind = plane_kind(plane.name)
        if kind in DEVICE_KINDS:
            is_new = not has_devices
        elif kind is PlaneKind.HOST:
            is_new = not has_memory and _is_memory(other, row)
        else:
            is_new = plane.name not in known
        found.append(plane.name if is_new else f"{title}: {plane.name.lstrip('/')}")
    return found


def _has(space: Space, wanted: Callable[[PlaneKind], bool]) -> bool:
    """Whether any plane of a wanted kind has events."""
    return any(
        line.end > line.begin and wanted(plane_kind(space.planes[line.plane].name))
        for line in space.lines
    )


def _is_memory(space: Space, plane: int) -> bool:
    """Whether the plane's events are what an allocator did, and nothing that ran."""
    mine = [line for line in space.lines if line.plane == plane]
    return bool(mine) and all(line.name.startswith(names.MEMORY_LINE) for line in mine)
