"""Traces of torch.compile: regions that run compiled, breaks between them, and compiling.

A region is a frame of Python, or the part of one up to a graph break, in one variant: "0/1" is
frame 0, compiled for the second time because a guard failed. What runs behind a break is a frame
of its own, whose function Dynamo names after the line it resumes at.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import numpy as np

from stepscope.columns import innermost, nest, sum_by_key
from stepscope.columns.space import I64, Bool
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.device.events import device_events
from stepscope.tables.host.events import timed_rows
from stepscope.tables.torch.launches import launched
from stepscope.tables.torch.presence import COMPILE, REGION, UNNUMBERED, threads

_LOOKUP: Final = "TorchDynamo Cache Lookup"
_RESUMED: Final = re.compile(
    re.escape(names.PYTHON_CALL_MARK)
    + r"(.{0,400}):\d{1,9} torch_dynamo_resume_in_(.{1,400})_at_(\d{1,9})$"
)
_BACKWARD: Final = "Backward"


@dataclass(frozen=True, eq=False, slots=True)
class Spans:
    """Events of some names: name by number, thread and time."""

    name: I64
    names: tuple[str, ...]
    thread: I64
    start_ps: I64
    end_ps: I64
    self_ps: I64
    is_outer: Bool


@dataclass(frozen=True, slots=True)
class Region:
    """One region of one host.

    Attributes:
        name: "0/1": the frame, and its variant; or the autograd function that ran it.
        calls: How often it ran.
        host_ps, self_ps: Time of its calls; without regions that these call.
        device_ps, kernels: What its calls launched, those of inner regions left out.
        compiles, compile_ps: How often it was compiled within the recording, and how long.
    """

    name: str
    calls: int
    host_ps: int
    self_ps: int
    device_ps: int
    kernels: int
    compiles: int
    compile_ps: int


@dataclass(frozen=True, slots=True)
class GraphBreak:
    """A line at which a function cannot be compiled any further.

    Attributes:
        function, file, line: Where.
        calls: How often the rest of the function was run behind it.
        host_ps: Time of these calls.
    """

    function: str
    file: str
    line: int
    calls: int
    host_ps: int


@dataclass(frozen=True, slots=True)
class CompiledCode:
    """Regions, breaks and compiling on one host.

    Attributes:
        regions: By name.
        breaks: Where stacks were recorded.
        lookup_ps: Time of checks of guards.
        compiles, compile_ps: Compiling within the recording.
        outside_ps: Device time launched outside of regions.
    """

    regions: tuple[Region, ...]
    breaks: tuple[GraphBreak, ...]
    lookup_ps: int
    compiles: int
    compile_ps: int
    outside_ps: int


@derived
def compiled(host: Host) -> CompiledCode:
    """Return the work of torch.compile on a host."""
    regions = _regions(host)
    compiles = spans(host, lambda text: "" if COMPILE.match(text) else None)
    lookups = spans(host, lambda text: "" if text == _LOOKUP else None)
    outer = compiles.is_outer
    events, of_event = device_events(host), _region_of_each(host, regions)
    return CompiledCode(
        regions=_by_name(regions, of_event, events.duration_ps, compiles),
        breaks=_breaks(host),
        lookup_ps=int((lookups.end_ps - lookups.start_ps).sum()),
        compiles=int(outer.sum()),
        compile_ps=int((compiles.end_ps - compiles.start_ps)[outer].sum()),
        outside_ps=int(events.duration_ps[of_event < 0].sum()),
    )


def _regions(host: Host) -> Spans:
    """The calls of regions; autograd's functions only where regions have no numbers."""
    found = spans(host, _numbered)
    if any("/" in name for name in found.names):
        return found
    return spans(host, lambda text: text if UNNUMBERED.fullmatch(text) else None)


def _numbered(text: str) -> str | None:
    """A region's name; backward's has none, and runs on a thread of its own."""
    region = REGION.match(text)
    if region:
        return region[1]
    return text if UNNUMBERED.fullmatch(text) and _BACKWARD in text else None


def _entries(host: Host, label: Callable[[str], str | None]) -> tuple[I64, tuple[str, ...]]:
    """Per row of ``Space.event_metadata`` the number of its label, -1 for none; the labels."""
    metadata = host.space.event_metadata
    index: dict[str, int] = {}
    codes = []
    for shown, name in zip(metadata.display_name, metadata.name, strict=True):
        text = label(shown) if shown else None
        text = label(name) if text is None else text
        codes.append(-1 if text is None else index.setdefault(text, len(index)))
    return np.asarray(codes, np.int64), tuple(index)


def spans(host: Host, label: Callable[[str], str | None]) -> Spans:
    """The events with a label, on threads and among Python's calls."""
    space = host.space
    codes, labels = _entries(host, label)
    rows = timed_rows(host, codes >= 0)
    rows = rows[np.isin(space.lines_of(rows), threads(host))]
    thread = np.asarray([one.id for one in space.lines] or [0], np.int64)[space.lines_of(rows)]
    order = np.lexsort((space.events.start_ps[rows], thread))
    rows, thread = rows[order], thread[order]
    start, length = space.events.start_ps[rows], space.length_ps[rows]
    begins = np.append(np.flatnonzero(np.append(True, thread[1:] != thread[:-1])), len(rows))
    nesting = nest(start, length, begins.astype(np.int64))
    name = codes[space.events.metadata[rows]]
    is_outer = nesting.parent < 0
    return Spans(name, labels, thread, start, start + length, nesting.self_ps, is_outer)


def _region_of_each(host: Host, regions: Spans) -> I64:
    """The call of a region around the launch of each device event, -1 for none."""
    launches = launched(host)
    found = np.full(len(launches.call), -1, np.int64)
    for thread in np.unique(regions.thread).tolist():
        mine = np.flatnonzero(launches.thread == thread)
        own = np.flatnonzero(regions.thread == thread)
        at = innermost(regions.start_ps[own], regions.end_ps[own], launches.start_ps[mine])
        found[mine] = np.append(own, -1)[at]
    return found


def _compiled_next(compiles: Spans, regions: Spans) -> I64:
    """The region that each outer compilation was for, by name: what runs next on its thread."""
    found = np.full(len(compiles.name), -1, np.int64)
    for thread in np.unique(compiles.thread).tolist():
        own = np.flatnonzero(regions.thread == thread)
        mine = np.flatnonzero(compiles.is_outer & (compiles.thread == thread))
        at = np.searchsorted(regions.start_ps[own], compiles.end_ps[mine])
        found[mine] = np.append(regions.name[own], -1)[at]
    return found


def _by_name(regions: Spans, of_event: I64, duration: I64, compiles: Spans) -> tuple[Region, ...]:
    size, inside, made = len(regions.names), of_event >= 0, _compiled_next(compiles, regions)
    of_name, known = regions.name[of_event[inside]], made >= 0
    sums = (
        np.bincount(regions.name, minlength=size),
        sum_by_key(regions.name, regions.end_ps - regions.start_ps, size),
        sum_by_key(regions.name, regions.self_ps, size),
        sum_by_key(of_name, duration[inside], size),
        np.bincount(of_name, minlength=size),
        np.bincount(made[known], minlength=size),
        sum_by_key(made[known], (compiles.end_ps - compiles.start_ps)[known], size),
    )
    columns = zip(regions.names, *(one.tolist() for one in sums), strict=True)
    return tuple(Region(*row) for row in columns if row[1])


def _breaks(host: Host) -> tuple[GraphBreak, ...]:
    found = spans(host, lambda text: text if _RESUMED.match(text) else None)
    breaks = []
    length = found.end_ps - found.start_ps
    for row, resumed in enumerate(map(_RESUMED.match, found.names)):
        mine = found.name == row
        if resumed is not None and mine.any():
            file, function, line = resumed.groups()
            time = int(length[mine].sum())
            breaks.append(GraphBreak(function, file, int(line), int(mine.sum()), time))
    return tuple(breaks)
