"""A recording repeated in time: the same events again and again, each copy after the last.

What ties events together stays tied within a copy and only there: step numbers go on counting,
and ids that link producers to consumers or launches to kernels are made distinct per copy.

    python -m bench.repeat SOURCE TARGET TIMES
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import Events, Line, Space, Stats, Unknown, decode
from stepscope.columns.encode import encode
from stepscope.columns.space import DATA_OCCURRENCES, KIND_INT64, KIND_UINT64

I64 = NDArray[np.int64]

# Stats that must differ between copies; those of one group name the same ids.
_LINKS: Final = (
    ("step_num",),
    ("group_id",),
    ("run_id",),
    ("element_id",),
    ("correlation_id",),
    ("_p", "_c"),
)
_GAP_PS: Final = 1_000_000
_COUNTER_LIMIT: Final = 1 << 40  # ids below are counters and go on; others are hashes and are mixed


def repeat_in_time(data: bytes, times: int) -> bytes:
    """The XSpace with every line's events ``times`` times, one copy after the other.

    Holds about 60 bytes per event made; 100 million events need some 10 GB.
    """
    space = decode(data, strict=True)
    source, copy = _gather(space.lines, times)
    events, stats, stat_copy = _repeat_events(space, source, copy)
    stats = _relink(space, stats, stat_copy)
    lines, begin = [], 0
    for line in space.lines:
        end = begin + (line.end - line.begin) * times
        lines.append(replace(line, begin=begin, end=end))
        begin = end
    repeated = replace(
        space,
        lines=tuple(lines),
        events=events,
        event_stats=stats,
        unknown=tuple(_repeat_unknown(space, source)),
    )
    return encode(repeated)


def _gather(lines: tuple[Line, ...], times: int) -> tuple[I64, I64]:
    """Which old event each new event is, and of which copy."""
    rows, copies = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for line in lines:
        count = line.end - line.begin
        rows.append(np.tile(np.arange(line.begin, line.end), times))
        copies.append(np.repeat(np.arange(times), count))
    return np.concatenate(rows), np.concatenate(copies)


def _repeat_events(space: Space, source: I64, copy: I64) -> tuple[Events, Stats, I64]:
    """Events and their stats, gathered and moved in time; and the copy of each stat."""
    old = space.events
    timed = old.data != DATA_OCCURRENCES
    starts, ends = old.start_ps[timed], (old.start_ps + old.duration_ps)[timed]
    period_ps = int(ends.max() - starts.min()) + _GAP_PS if timed.any() else 0
    stat_count = np.diff(old.stat_begin)[source]
    stat_begin = np.concatenate([[0], np.cumsum(stat_count)])
    first = np.repeat(old.stat_begin[source] - stat_begin[:-1], stat_count)
    stat_source = first + np.arange(stat_begin[-1])
    events = Events(
        metadata=old.metadata[source],
        start_ps=old.start_ps[source] + np.where(timed[source], copy * period_ps, 0),
        duration_ps=old.duration_ps[source],
        data=old.data[source],
        stat_begin=stat_begin,
        occurrences={
            int(row): count
            for old_row, count in old.occurrences.items()
            for row in np.flatnonzero(source == old_row)
        },
    )
    kept = space.event_stats
    stats = Stats(kept.key[stat_source], kept.kind[stat_source], kept.value[stat_source])
    return events, stats, np.repeat(copy, stat_count)


def _relink(space: Space, stats: Stats, copy: I64) -> Stats:
    """The stats with every linking id made distinct per copy."""
    value = stats.value.copy()
    integer = (stats.kind == KIND_INT64) | (stats.kind == KIND_UINT64)
    names = np.asarray(space.stat_metadata.name, dtype=object)
    for group in _LINKS:
        keys = np.flatnonzero(np.isin(names, group))
        rows = np.flatnonzero(integer & np.isin(stats.key, keys))
        if not len(rows):
            continue
        largest = int(value[rows].max())
        if largest < _COUNTER_LIMIT:
            value[rows] += copy[rows].astype(np.uint64) * np.uint64(largest + 1)
        else:
            # Bits in the middle: neither the sign nor the size of the number changes.
            value[rows] ^= copy[rows].astype(np.uint64) << np.uint64(40)
    return replace(stats, value=value)


def _repeat_unknown(space: Space, source: I64) -> list[Unknown]:
    """Unknown fields, those of events following their events; those of event stats are refused."""
    kept = []
    for unknown in space.unknown:
        if unknown.level == "event_stat":
            raise ValueError("unknown fields inside event stats cannot be repeated")
        if unknown.level == "event":
            rows = np.flatnonzero(source == unknown.row)
            kept += [replace(unknown, row=int(row)) for row in rows]
        else:
            kept.append(unknown)
    return kept


def main() -> None:
    """Repeat a file from the command line."""
    source, target, times = sys.argv[1:]
    Path(target).write_bytes(repeat_in_time(Path(source).read_bytes(), int(times)))


if __name__ == "__main__":
    main()
