"""A space with only some of its events, or what they did in a range; planes and lines stay."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from stepscope.columns.pivot import StatColumn
from stepscope.columns.space import (
    BLOCK,
    I64,
    KIND_INT64,
    Bool,
    Events,
    Space,
    Stats,
    UnknownFields,
)
from stepscope.schema import names


def touching(space: Space, begin_ps: int, end_ps: int) -> Bool:
    """Mask over events: those that run or start in a range of the space's own clock.

    Aggregated events, which have no place in time, are kept.
    """
    inside = _inside(space, begin_ps, end_ps)
    if space.events.occurrences:
        inside[list(space.events.occurrences)] = True
    return inside


def _inside(space: Space, begin_ps: int, end_ps: int) -> Bool:
    start = space.events.start_ps
    stop = start + space.length_ps
    inside: Bool = (start < end_ps) & ((stop > begin_ps) | (start >= begin_ps))
    return inside


def _rows_inside(space: Space, begin_ps: int, end_ps: int) -> I64:
    """Rows of ``_inside``, found without a look at most others; none in a range of no length."""
    if begin_ps >= end_ps:
        return np.zeros(0, np.int64)
    first, last = space.block_spans
    blocks = np.flatnonzero((first < end_ps) & (last >= begin_ps))
    rows = (blocks[:, None] * BLOCK + np.arange(BLOCK)).ravel()
    rows = rows[: np.searchsorted(rows, len(space.events))]
    start = space.events.start_ps[rows]
    stop = start + space.length_ps[rows]
    found: I64 = rows[(start < end_ps) & ((stop > begin_ps) | (start >= begin_ps))]
    return found


def trimmed(space: Space, keep: Bool) -> Space:
    """The space without the events that are not to be kept."""
    return _chosen(space, np.flatnonzero(keep))


def clipped(space: Space, begin_ps: int, end_ps: int, facts: Iterable[int]) -> Space:
    """The space with only what happened in a range, as if it had been recorded then.

    An event that crosses an edge stays one event, with the time that it has in the range, also on
    its device's own clock. Aggregated events have no place in time and are left out.

    Args:
        space: The columns.
        begin_ps: On the space's own clock.
        end_ps: End of the range; an event that begins there is not in it. A range without length
            has no event.
        facts: Rows of lines whose events are facts of the recording; they are kept as they are.
    """
    events = space.events
    rows = _rows_inside(space, begin_ps, end_ps)
    if events.occurrences:
        rows = rows[~np.isin(rows, list(events.occurrences))]
    lines = [space.lines[row] for row in facts]
    known = [np.arange(line.begin, line.end) for line in lines if line.end > line.begin]
    if known:
        rows = np.unique(np.concatenate([rows, *known]))
    cut = np.ones(len(rows), dtype=bool)
    for each in known:
        cut[slice(*np.searchsorted(rows, [each[0], each[-1] + 1]))] = False
    # Events that began before the range begin together in it: only their order shows which contains
    # which, so the outer ones come first.
    is_early = (events.start_ps[rows] < begin_ps) & cut
    early = rows[is_early]
    start = events.start_ps[early]
    stop = start + space.length_ps[early]
    rows[is_early] = early[np.lexsort((-stop, start, space.lines_of(early)))]
    start = events.start_ps[rows]
    stop = start + space.length_ps[rows]
    lead_ps = np.where(cut, np.maximum(begin_ps - start, 0), 0)
    tail_ps = np.where(cut, np.maximum(stop - end_ps, 0), 0)
    found = _chosen(space, rows)
    times = replace(
        found.events,
        start_ps=found.events.start_ps + lead_ps,
        duration_ps=found.events.duration_ps - lead_ps - tail_ps,
    )
    return _restore_device_clock(replace(found, events=times), lead_ps, tail_ps)


def _restore_device_clock(space: Space, lead_ps: I64, tail_ps: I64) -> Space:
    """The space whose events have on their device's clock the times that they have on the host's.

    Args:
        space: The columns.
        lead_ps: What was cut off the begin of each event.
        tail_ps: What was cut off its end.
    """
    changes = {names.DEVICE_OFFSET_PS: lead_ps, names.DEVICE_DURATION_PS: -lead_ps - tail_ps}
    keys = [
        (row, changes[name]) for row, name in enumerate(space.stat_metadata.name) if name in changes
    ]
    events = np.flatnonzero(lead_ps + tail_ps)
    if not keys or len(events) == 0:
        return space
    stats, begin = space.event_stats, space.events.stat_begin
    rows = np.concatenate([np.arange(begin[row], begin[row + 1]) for row in events.tolist()])
    owner = np.searchsorted(begin, rows, side="right") - 1
    kind, value = stats.kind.copy(), stats.value.copy()
    for key, change in keys:
        own = stats.key[rows] == key
        at, event = rows[own], owner[own]
        recorded = StatColumn(event, stats.kind[at], stats.value[at], space).ints
        value[at] = np.maximum(recorded + change[event], 0).view(np.uint64)
        kind[at] = KIND_INT64
    return replace(space, event_stats=Stats(stats.key, kind, value))


def _chosen(space: Space, rows: I64) -> Space:
    """The space with these events, line by line."""
    events, stats = space.events, space.event_stats
    sizes = events.stat_begin[rows + 1] - events.stat_begin[rows]
    stat_begin = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(sizes, out=stat_begin[1:])
    stat_rows = np.repeat(events.stat_begin[rows] - stat_begin[:-1], sizes) + np.arange(
        stat_begin[-1]
    )
    new_row = np.zeros(0, np.int64)
    if events.occurrences or space.unknown:
        new_row = np.full(len(events), -1, np.int64)
        new_row[rows] = np.arange(len(rows))
    ends = np.cumsum(np.bincount(space.lines_of(rows), minlength=len(space.lines)))
    lines = tuple(
        replace(line, begin=begin, end=end)
        for line, begin, end in zip(space.lines, [0, *ends.tolist()], ends.tolist(), strict=False)
    )
    return replace(
        space,
        lines=lines,
        events=Events(
            metadata=events.metadata[rows],
            start_ps=events.start_ps[rows],
            duration_ps=events.duration_ps[rows],
            data=events.data[rows],
            stat_begin=stat_begin,
            occurrences={
                int(new_row[row]): count
                for row, count in events.occurrences.items()
                if new_row[row] >= 0
            },
        ),
        event_stats=Stats(stats.key[stat_rows], stats.kind[stat_rows], stats.value[stat_rows]),
        unknown=_renumbered(space, new_row, stat_rows),
    )


def _renumbered(space: Space, new_row: I64, stat_rows: I64) -> tuple[UnknownFields, ...]:
    """The unknown fields that stay, at their new rows."""
    if not space.unknown:
        return ()
    new_stat = np.full(len(space.event_stats), -1, np.int64)
    new_stat[stat_rows] = np.arange(len(stat_rows))
    new = {"event": new_row, "event_stat": new_stat}
    found = []
    for field in space.unknown:
        row = int(new[field.level][field.row]) if field.level in new else field.row
        if row >= 0:
            found.append(replace(field, row=row))
    return tuple(found)
