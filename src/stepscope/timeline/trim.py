"""A space with only some of its events; names, planes and lines stay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stepscope.columns.space import I64, Bool, Events, Space, Stats, UnknownFields
from stepscope.tables.core.profile import Host


def touching(host: Host, begin_ps: int, end_ps: int) -> Bool:
    """Mask over the host's events: those that run or start in a range of its own clock.

    Aggregated events, which have no place in time, are kept.
    """
    events = host.space.events
    start = events.start_ps
    stop = start + np.maximum(events.duration_ps, 0)
    inside = (start < end_ps) & ((stop > begin_ps) | (start >= begin_ps))
    if events.occurrences:
        inside[list(events.occurrences)] = True
    return inside


def trimmed(space: Space, keep: Bool) -> Space:
    """The space without the events that are not to be kept."""
    rows = np.flatnonzero(keep)
    events, stats = space.events, space.event_stats
    sizes = np.diff(events.stat_begin)[rows]
    stat_begin = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(sizes, out=stat_begin[1:])
    stat_rows = np.repeat(events.stat_begin[rows] - stat_begin[:-1], sizes) + np.arange(
        stat_begin[-1]
    )
    new_row: I64 = np.cumsum(keep) - 1
    lines = tuple(
        replace(
            line,
            begin=int(np.searchsorted(rows, line.begin)),
            end=int(np.searchsorted(rows, line.end)),
        )
        for line in space.lines
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
                int(new_row[row]): count for row, count in events.occurrences.items() if keep[row]
            },
        ),
        event_stats=Stats(stats.key[stat_rows], stats.kind[stat_rows], stats.value[stat_rows]),
        unknown=_renumbered(space, keep, new_row, stat_rows),
    )


def _renumbered(
    space: Space, keep: Bool, new_row: I64, stat_rows: I64
) -> tuple[UnknownFields, ...]:
    """The unknown fields that stay, at their new rows."""
    found = []
    for one in space.unknown:
        if one.level == "event":
            if keep[one.row]:
                found.append(replace(one, row=int(new_row[one.row])))
        elif one.level == "event_stat":
            at = int(np.searchsorted(stat_rows, one.row))
            if at < len(stat_rows) and stat_rows[at] == one.row:
                found.append(replace(one, row=at))
        else:
            found.append(one)
    return tuple(found)
