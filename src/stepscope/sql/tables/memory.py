"""``memory``: how much of each memory is in use over time."""

from __future__ import annotations

from typing import Any

import numpy as np

from stepscope.sql.tables.table import HOST, QueryColumn, QueryTable, axis_time_us, dictionary
from stepscope.tables.core.profile import Profile
from stepscope.tables.memory.allocations import UNKNOWN, allocations
from stepscope.tables.memory.samples import memory_samples


def _rows(profile: Profile, number: int) -> dict[str, Any] | None:
    """Events of allocators where they were recorded, else the samples of counters."""
    host = profile.hosts[number]
    found = allocations(host)
    if found is not None:
        sign = np.where(found.is_allocation, 1, -1)
        known = found.allocated_bytes != UNKNOWN
        sizes = zip((sign * found.allocated_bytes).tolist(), known.tolist(), strict=True)
        return {
            "memory": dictionary(found.memories, found.memory),
            "time_us": axis_time_us(profile, number, found.time_ps),
            "in_use_bytes": found.in_use_bytes,
            "change_bytes": [size if one else None for size, one in sizes],
            "op": dictionary(found.op.texts, found.op.codes),
        }
    samples = memory_samples(host)
    if not samples:
        return None
    counts = [len(one.time_ps) for one in samples]
    times = np.concatenate([one.time_ps for one in samples])
    return {
        "memory": dictionary([one.name for one in samples], np.repeat(range(len(counts)), counts)),
        "time_us": axis_time_us(profile, number, times),
        "in_use_bytes": np.concatenate([one.in_use_bytes for one in samples]),
        "change_bytes": [None] * len(times),
        "op": [""] * len(times),
    }


TABLE = QueryTable(
    "memory",
    "Every event of an allocator, or else every sample of a memory counter.",
    (
        HOST,
        QueryColumn("memory", "text", "Allocator, device or counter."),
        QueryColumn("time_us", "number", "Time on the timeline's axis."),
        QueryColumn("in_use_bytes", "integer", "Memory in use after the event."),
        QueryColumn(
            "change_bytes", "integer", "Allocated bytes; negative if freed, empty for a sample."
        ),
        QueryColumn("op", "text", "Framework op that allocated, if known."),
    ),
    _rows,
)
