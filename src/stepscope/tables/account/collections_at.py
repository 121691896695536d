"""What the loop's thread runs when Python begins to collect garbage.

A collection begins when enough new objects were made: it is the function that makes them which it
mostly interrupts.
"""

from __future__ import annotations

import numpy as np

from stepscope.schema import names
from stepscope.tables.account.account import account
from stepscope.tables.account.owners import CallSite, site_of
from stepscope.tables.core.presence import entries_named
from stepscope.tables.core.profile import Host


def collections_at(host: Host) -> tuple[CallSite, float] | None:
    """The program's function with most of that time, and its share of it; None where unknown."""
    found = account(host)
    if found is None or found.frames is None or found.line < 0:
        return None
    space, calls = host.space, found.frames
    wanted = entries_named(host, lambda name: name.startswith(names.COLLECTION))
    thread = space.lines[int(space.lines_of(calls.rows[:1])[0])].id
    rows = np.concatenate(
        [
            np.arange(one.begin, one.end, dtype=np.int64)
            for one in space.lines
            if one.id == thread and space.planes[one.plane].name == names.GARBAGE_PLANE
        ]
        or [np.zeros(0, dtype=np.int64)]
    )
    rows = rows[wanted[space.events.metadata[rows]]]
    start, length = space.events.start_ps[rows], space.length_ps[rows]
    steps = found.found
    inside = (start >= steps.start_ps[steps.kept][0]) & (start < steps.end_ps[steps.kept][-1])
    call = calls.moments.at((start + length // 2)[inside])
    own = np.where(call >= 0, calls.own[np.maximum(call, 0)], -1)
    time = length[inside].astype(np.float64)
    if not (own >= 0).any():
        return None
    functions = {row: (one.file, one.function) for row, one in calls.names.items()}
    spent: dict[tuple[str, str], float] = {}
    place: dict[tuple[str, str], int] = {}
    for at, within, much in zip(call.tolist(), own.tolist(), time.tolist(), strict=True):
        if within >= 0:
            key = functions[int(calls.name[within])]
            spent[key] = spent.get(key, 0.0) + much
            place.setdefault(key, int(calls.line[at]) if calls.line[at] >= 0 else within)
    most = max(spent, key=lambda key: spent[key])
    return site_of(calls, place[most]), spent[most] / float(time.sum())
