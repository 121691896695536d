"""Planes of one name as one plane, lines of one thread as one line.

A recording that was written in chunks, or from two frameworks at once, has several planes of one
name, each with ids of its own. Nothing is lost in merging but the second of equal entries.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import accumulate
from typing import Any, Final

import numpy as np

from stepscope.columns.space import (
    I64,
    KIND_REF,
    EventMetadata,
    Events,
    Line,
    Plane,
    Space,
    StatMetadata,
    Stats,
    UnknownFields,
)
from stepscope.records import dataclass, replace

_MOST: Final = (1 << 63) - 1


def merged(space: Space) -> Space:
    """The space with each plane name once; the very same space where that is so already."""
    names = [plane.name for plane in space.planes]
    if len(set(names)) == len(names):
        return space
    home = list(dict.fromkeys(names))
    place_of = {name: place for place, name in enumerate(home)}
    plane_of = np.asarray([place_of[name] for name in names], np.int64)
    stat_rows = _stat_entries(space, plane_of)
    event_rows = _event_entries(space, plane_of)
    groups = _line_groups(space, plane_of)
    order = _event_order(space, groups)
    stats_of_events = _ranges(space.events.stat_begin[:-1], space.events.stat_begin[1:], order)
    plane_stats, plane_stat_begin = _plane_stats(space, plane_of, len(home), stat_rows)
    metadata_stats, metadata_stat_begin = _metadata_stats(space, event_rows)
    lines, planes = _lines_and_planes(space, groups, plane_of, home, plane_stat_begin)
    place = _inverse(order, len(order))
    return replace(
        space,
        planes=planes,
        lines=lines,
        events=_events(space, order, place, event_rows),
        event_stats=_renamed(space.event_stats, stats_of_events, stat_rows),
        plane_stats=_renamed(space.plane_stats, plane_stats, stat_rows),
        event_metadata=_event_metadata(space, event_rows, plane_of, metadata_stat_begin),
        metadata_stats=_renamed(space.metadata_stats, metadata_stats, stat_rows),
        stat_metadata=_stat_metadata(space, stat_rows, plane_of),
        hostnames=tuple(dict.fromkeys(space.hostnames)),
        unknown=_unknown(
            space,
            {
                "plane": plane_of,
                "line": _line_rows(space, groups),
                "event": place,
                "event_stat": _inverse(stats_of_events, len(space.event_stats)),
                "plane_stat": _inverse(plane_stats, len(space.plane_stats)),
                "metadata_stat": _inverse(metadata_stats, len(space.metadata_stats)),
                "event_metadata": event_rows.row,
                "stat_metadata": stat_rows.row,
            },
        ),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Entries:
    """Where metadata entries went.

    Attributes:
        kept: Old rows that stay, in their new order.
        row: New row of each old one.
        id: Id of each kept one.
    """

    kept: I64
    row: I64
    id: I64


def _numbered(planes: list[int], ids: list[int], first: list[int]) -> _Entries:
    """Entries with ids that are unique in their plane, kept where that can be.

    Args:
        planes: New plane of each old entry.
        ids: Id of each.
        first: Row of the entry that each is equal to (its own row when it is the first).
    """
    kept = sorted((row for row in range(len(ids)) if first[row] == row), key=planes.__getitem__)
    given = {(planes[row], ids[row]) for row in kept}
    highest: dict[int, int] = defaultdict(int)
    for plane, number in given:
        highest[plane] = max(highest[plane], number)
    # Above the highest id, or in the gaps from 1 on where there is no room above it.
    last = {plane: top if top + len(kept) <= _MOST else 0 for plane, top in highest.items()}
    taken: set[tuple[int, int]] = set()
    new_id = []
    for row in kept:
        plane, number = planes[row], ids[row]
        if (plane, number) in taken:
            number = last[plane] + 1
            while (plane, number) in given:
                number += 1
            last[plane] = number
        taken.add((plane, number))
        new_id.append(number)
    at = {row: place for place, row in enumerate(kept)}
    rows = np.asarray([at[row] for row in first], np.int64)
    return _Entries(np.asarray(kept, np.int64), rows, np.asarray(new_id, np.int64))


def _stat_entries(space: Space, plane_of: I64) -> _Entries:
    table = space.stat_metadata
    planes = plane_of[table.plane].tolist()
    known: dict[object, int] = {}
    first = [
        # What an id without an entry means is not known: it equals nothing but itself.
        known.setdefault((plane, name) if present else row, row)
        for row, (plane, name, present) in enumerate(
            zip(planes, table.name, table.present.tolist(), strict=True)
        )
    ]
    return _numbered(planes, table.id.tolist(), first)


def _event_entries(space: Space, plane_of: I64) -> _Entries:
    table = space.event_metadata
    planes = plane_of[table.plane].tolist()
    ids = table.id.tolist()
    has_stats = (np.diff(table.stat_begin) > 0).tolist()
    known: dict[object, int] = {}
    first = []
    for row, plane in enumerate(planes):
        more = has_stats[row] or row in table.metadata or row in table.child_id
        names = (plane, table.name[row], table.display_name[row])
        # Entries that say more are one only if they were numbered alike, as programs are.
        key: object = (*names, ids[row]) if more else names
        first.append(known.setdefault(key if table.present[row] else row, row))
    return _numbered(planes, ids, first)


def _line_groups(space: Space, plane_of: I64) -> list[list[int]]:
    """Rows of lines that become one line each, plane by plane."""
    found: dict[tuple[int, int, str, str], list[int]] = {}
    for row, line in enumerate(space.lines):
        key = (int(plane_of[line.plane]), line.id, line.name, line.display_name)
        found.setdefault(key, []).append(row)
    return [found[key] for key in sorted(found, key=lambda key: key[0])]


def _event_order(space: Space, groups: list[list[int]]) -> I64:
    """Old rows of events in their new order; those of a merged line by time."""
    start, duration = space.events.start_ps, space.events.duration_ps
    parts = [np.empty(0, np.int64)]
    for group in groups:
        rows = np.concatenate(
            [np.arange(space.lines[row].begin, space.lines[row].end) for row in group]
        )
        if len(group) > 1:
            rows = rows[np.lexsort((-duration[rows], start[rows]))]
        parts.append(rows)
    return np.concatenate(parts)


def _ranges(begin: I64, end: I64, rows: I64) -> I64:
    """The numbers of the ranges ``begin[row]:end[row]``, one after the other."""
    sizes = end[rows] - begin[rows]
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(begin[rows] - (ends - sizes), sizes) + np.arange(total)


def _events(space: Space, order: I64, place: I64, entries: _Entries) -> Events:
    events = space.events
    begin = np.zeros(len(order) + 1, np.int64)
    np.cumsum(np.diff(events.stat_begin)[order], out=begin[1:])
    return Events(
        metadata=entries.row[events.metadata[order]].astype(np.int32),
        start_ps=events.start_ps[order],
        duration_ps=events.duration_ps[order],
        data=events.data[order],
        stat_begin=begin,
        occurrences={int(place[row]): count for row, count in events.occurrences.items()},
    )


def _renamed(stats: Stats, rows: I64, entries: _Entries) -> Stats:
    """These stats, by the new rows of their names."""
    key, kind, value = stats.key[rows], stats.kind[rows], stats.value[rows]
    named = key >= 0
    key[named] = entries.row[key[named]]
    refers = kind == KIND_REF
    value[refers] = entries.row[value[refers].astype(np.int64)].astype(np.uint64)
    return Stats(key, kind, value)


def _plane_stats(
    space: Space, plane_of: I64, planes: int, entries: _Entries
) -> tuple[I64, list[int]]:
    """Old rows of the planes' own stats in new order, and where each plane's begin.

    Of several planes that have a name the last one's values stay, as of a protobuf field: all,
    since recorders write some once for each counter.
    """
    found: list[dict[int, list[int]]] = [{} for _ in range(planes)]
    for number, plane in enumerate(space.planes):
        own: dict[int, list[int]] = {}
        for row in range(plane.stat_begin, plane.stat_end):
            key = int(space.plane_stats.key[row])
            name = int(entries.row[key]) if key >= 0 else -1 - row
            own.setdefault(name, []).append(row)
        found[plane_of[number]] |= own
    rows = [[row for same in one.values() for row in same] for one in found]
    begin = [0, *accumulate(map(len, rows))]
    return np.asarray([row for one in rows for row in one], np.int64), begin


def _metadata_stats(space: Space, events: _Entries) -> tuple[I64, I64]:
    """Old rows of the stats of kept entries, and where each entry's begin."""
    old = space.event_metadata.stat_begin
    rows = _ranges(old[:-1], old[1:], events.kept)
    begin = np.zeros(len(events.kept) + 1, np.int64)
    np.cumsum(np.diff(old)[events.kept], out=begin[1:])
    return rows, begin


def _event_metadata(
    space: Space, entries: _Entries, plane_of: I64, stat_begin: I64
) -> EventMetadata:
    table = space.event_metadata
    kept = entries.kept.tolist()
    new_id = {
        (int(table.plane[row]), int(table.id[row])): int(entries.id[entries.row[row]])
        for row in range(len(table))
    }
    return EventMetadata(
        plane=plane_of[table.plane[entries.kept]].astype(np.int32),
        id=entries.id,
        name=[table.name[row] for row in kept],
        display_name=[table.display_name[row] for row in kept],
        stat_begin=stat_begin,
        metadata=_moved(table.metadata, kept),
        child_id={
            place: tuple(
                new_id.get((int(table.plane[row]), one), one) for one in table.child_id[row]
            )
            for place, row in enumerate(kept)
            if row in table.child_id
        },
        present=table.present[entries.kept],
        own_id=_moved(table.own_id, kept),
    )


def _stat_metadata(space: Space, entries: _Entries, plane_of: I64) -> StatMetadata:
    table = space.stat_metadata
    kept = entries.kept.tolist()
    return StatMetadata(
        plane=plane_of[table.plane[entries.kept]].astype(np.int32),
        id=entries.id,
        name=[table.name[row] for row in kept],
        description=[table.description[row] for row in kept],
        present=table.present[entries.kept],
        own_id=_moved(table.own_id, kept),
    )


def _moved(values: dict[int, Any], kept: list[int]) -> dict[int, Any]:
    return {place: values[row] for place, row in enumerate(kept) if row in values}


def _lines_and_planes(
    space: Space, groups: list[list[int]], plane_of: I64, home: list[str], stat_begin: list[int]
) -> tuple[tuple[Line, ...], tuple[Plane, ...]]:
    lines: list[Line] = []
    begin = 0
    counts = [0] * len(home)
    for group in groups:
        members = [space.lines[row] for row in group]
        head = min(members, key=lambda line: line.shift_ps)
        end = begin + sum(line.end - line.begin for line in members)
        plane = int(plane_of[head.plane])
        length = head.duration_ps if len(members) == 1 else 0
        lines.append(replace(head, plane=plane, begin=begin, end=end, duration_ps=length))
        counts[plane] += 1
        begin = end
    ends = np.cumsum(counts).tolist()
    ids = {plane.name: plane.id for plane in reversed(space.planes)}
    planes = tuple(
        Plane(ids[name], name, ends[row] - counts[row], ends[row], *stat_begin[row : row + 2])
        for row, name in enumerate(home)
    )
    return tuple(lines), planes


def _line_rows(space: Space, groups: list[list[int]]) -> I64:
    rows = np.empty(len(space.lines), np.int64)
    for new, group in enumerate(groups):
        rows[group] = new
    return rows


def _inverse(rows: I64, size: int) -> I64:
    """New row of each of ``size`` old ones, -1 for those that went."""
    place = np.full(size, -1, np.int64)
    place[rows] = np.arange(len(rows))
    return place


def _unknown(space: Space, moved: dict[str, I64]) -> tuple[UnknownFields, ...]:
    """Fields that are kept as they stood, at their new rows."""
    found = []
    for one in space.unknown:
        row = int(moved[one.level][one.row]) if one.level in moved else one.row
        if row >= 0:
            found.append(replace(one, row=row))
    return tuple(found)
