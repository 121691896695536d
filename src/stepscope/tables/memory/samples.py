"""Memory use as sampled counters say it, where no allocator reported its events."""

from __future__ import annotations

import re

import numpy as np

from stepscope.columns import distinct, stats_by_name
from stepscope.columns.space import I64, Bool
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.core.planes import LineKind, lines_of
from stepscope.tables.core.presence import any_stretch, entries_named, stat_rows
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.stats import metadata_texts

# Counters of bytes held: "Memory used", "rss_bytes", "HBM bytes in use", "gpu_memory" …
_MEMORY = re.compile(r"memory|hbm|rss|bytes_in_use|bytes in use|vram", re.IGNORECASE)
_UNITS = frozenset(("", "bytes", "B"))
_NOT_AN_AMOUNT = re.compile(r"bandwidth|util|percent|pct|clock|/s\b|per_second|rate", re.IGNORECASE)


@dataclass(frozen=True, eq=False, slots=True)
class MemorySamples:
    """One counter of bytes in use over time."""

    name: str
    time_ps: I64
    in_use_bytes: I64


@derived
def memory_samples(host: Host) -> tuple[MemorySamples, ...]:
    """The memory counters of a host, one per plane and counter name; NaN is not a sample."""
    space = host.space
    lines = lines_of(host, LineKind.COUNTERS)
    if not lines:
        return ()
    column = stats_by_name(space, (names.COUNTER_VALUE,))[names.COUNTER_VALUE]
    amounts, known = _amounts(host), ~np.isnan(column.floats)
    found = []
    for row in lines:
        line = space.lines[row]
        low, high = np.searchsorted(column.rows, [line.begin, line.end]).tolist()
        own = low + np.flatnonzero(known[low:high])
        rows, values = column.rows[own], column.ints[own]
        metadata = space.events.metadata[rows]
        for code in distinct(metadata).tolist():
            if amounts[code]:
                own = metadata == code
                time = space.events.start_ps[rows[own]]
                order = np.argsort(time, kind="stable")
                name = space.event_metadata.name[code]
                plane = space.planes[line.plane].name
                is_ours = plane == names.TELEMETRY_PLANE
                label = name if is_ours else f"{plane}: {name}"
                found.append(MemorySamples(label, time[order], values[own][order]))
    return tuple(found)


def has_memory_samples(host: Host) -> bool:
    """Whether ``memory_samples`` has any."""
    amounts = _amounts(host)
    if not amounts.any() or names.COUNTER_VALUE not in stat_rows(host):
        return False
    return any_stretch(
        host,
        lines_of(host, LineKind.COUNTERS),
        lambda one: bool((amounts[one.entry] & one.has_known(names.COUNTER_VALUE)).any()),
    )


def _amounts(host: Host) -> Bool:
    """Which rows of ``Space.event_metadata`` are counters of bytes held."""
    amounts = entries_named(host, _is_amount)
    for row, unit in metadata_texts(host, names.COUNTER_UNIT).items():
        amounts[row] &= unit in _UNITS
    return amounts


def _is_amount(name: str) -> bool:
    """Whether a counter of this name is one of bytes held."""
    return bool(_MEMORY.search(name)) and not _NOT_AN_AMOUNT.search(name)
