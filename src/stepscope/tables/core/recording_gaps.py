"""When a recorder wrote a chunk to disk and so recorded nothing of the program."""

from __future__ import annotations

import numpy as np

from stepscope.columns import among, distinct, rows_of, union_spans
from stepscope.columns.space import I64, Bool
from stepscope.schema import names
from stepscope.tables.core.planes import LineKind, planes
from stepscope.tables.core.processes import processes
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.stats import event_stats

# Recorders of what a program's threads run; what the others miss are no events of these threads.
_OF_FRAMEWORKS = ("tensorflow", "jax", "torch")
# Handing over takes a moment even where nothing is missed; shorter gaps lie between two ops.
_SHORTEST_PS = 1_000_000_000


@derived
def recording_gaps(host: Host) -> tuple[I64, I64]:
    """Starts and ends of the times in which no framework was recorded; disjoint, ascending.

    The recording says so itself. The framework that computes is the one that counts: another
    that is only loaded hands over in no time.
    """
    rows = _gap_rows(host)
    start = host.space.events.start_ps[rows]
    return union_spans(start, start + host.space.length_ps[rows])


@derived
def gaps_at_steps(host: Host) -> I64:
    """Starts of the gaps that began as the mark of the loop's next step was reached; ascending."""
    rows, told = _gap_rows(host), event_stats(host).ints(names.GAP_AT_STEP)
    at_step = host.space.events.start_ps[rows[told.at(rows, 0) > 0]]
    begin = recording_gaps(host)[0]
    return begin[among(distinct(at_step), begin)]


@derived
def reads_of_results(host: Host) -> I64:
    """When the line of the loop that reads results had its result; ascending."""
    space = host.space
    of_reads = [
        row
        for row, line in enumerate(space.lines)
        if line.name == names.READS_LINE and line.plane in recorder_planes(host)
    ]
    found: I64 = (
        space.events.start_ps[space.on_lines(of_reads)] if of_reads else np.zeros(0, np.int64)
    )
    return np.sort(found)


@derived
def recorder_planes(host: Host) -> tuple[int, ...]:
    """The planes in which the recorder tells of itself: those of the process that has the loop.

    That is the parent, unless only its children have events of threads: then the one with most.
    """
    space, of = host.space, processes(host)
    kinds = planes(host).line_kind
    events = np.zeros(len(of.suffix), dtype=np.int64)
    for row, line in enumerate(space.lines):
        if kinds[row] is LineKind.THREAD:
            events[of.of_line[row]] += line.end - line.begin
    process = 0 if events[0] else int(events.argmax())
    wanted = names.RECORDING_PLANE + of.suffix[process]
    return tuple(row for row, one in enumerate(space.planes) if one.name == wanted)


def _gap_rows(host: Host) -> I64:
    """Event rows of the gaps, one for each recorder of a framework that has it."""
    space, planes_of = host.space, recorder_planes(host)
    if not planes_of:
        return np.zeros(0, dtype=np.int64)
    metadata = space.event_metadata
    wanted = np.isin(metadata.plane, planes_of) & np.asarray(
        [name.startswith(_OF_FRAMEWORKS) for name in metadata.name], dtype=bool
    )
    rows = rows_of(space.events.metadata, wanted)
    return rows[space.length_ps[rows] >= _SHORTEST_PS]


def crosses_gap(host: Host, start: I64, end: I64) -> Bool:
    """Whether a gap of the recording lies in each interval, wholly or in part."""
    begin, finish = recording_gaps(host)
    if len(begin) == 0:
        return np.zeros(len(start), dtype=bool)
    first = np.searchsorted(finish, start, side="right")
    inside: Bool = (first < len(begin)) & (begin[np.minimum(first, len(begin) - 1)] < end)
    return inside


def next_gap(host: Host, at: I64) -> I64:
    """The start of the first gap that ends after each moment; the largest integer without one."""
    begin, finish = recording_gaps(host)
    never = np.iinfo(np.int64).max
    first = np.searchsorted(finish, at, side="right")
    return np.concatenate([begin, [never]])[first]
