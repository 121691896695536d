"""Which event led to which: launch → kernel, producer → consumer, and recorded flows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from stepscope.columns import pivot
from stepscope.columns.space import I64, U8, Bool
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.core.planes import DEVICE_KINDS, LineKind, PlaneKind, planes
from stepscope.tables.core.processes import correlation_ids
from stepscope.tables.core.profile import Host, Profile, derived

#: What a flow is; the number in ``Flows.kind`` is the index here.
KINDS: Final = ("launch", "produce", "flow")
_LAUNCH, _PRODUCE, _FLOW = range(3)
_IN, _OUT = 1, 2
# Source rows, target rows, kind.
_Found = tuple[I64, I64, int]


@dataclass(frozen=True, eq=False, slots=True)
class Flows:
    """Arrows between events of a session, by source.

    Attributes:
        source, target: Event ids.
        kind: Index into ``KINDS``.
        by_target: Rows of the arrows, ordered by target.
    """

    source: I64
    target: I64
    kind: U8
    by_target: I64

    def __len__(self) -> int:
        return len(self.source)

    def out_of(self, event: int) -> list[int]:
        """Rows of the arrows that start at an event."""
        low, high = np.searchsorted(self.source, [event, event + 1]).tolist()
        return list(range(low, high))

    def into(self, event: int) -> list[int]:
        """Rows of the arrows that end at an event."""
        ends = self.target[self.by_target]
        low, high = np.searchsorted(ends, [event, event + 1]).tolist()
        rows: list[int] = self.by_target[low:high].tolist()
        return rows

    def around(self, event: int, depth: int) -> list[int]:
        """Rows of the arrows within ``depth`` steps forward or backward of an event."""
        found: dict[int, None] = {}
        for ahead in (True, False):
            front = {event}
            for _ in range(depth):
                ends = [self.out_of(at) if ahead else self.into(at) for at in front]
                new = [row for rows in ends for row in rows if row not in found]
                found |= dict.fromkeys(new)
                front = {int((self.target if ahead else self.source)[row]) for row in new}
        return list(found)


@derived
def flows(profile: Profile) -> Flows:
    """All arrows of a session. Ids count the events of the hosts in order."""
    return _gathered(profile, (_launches, _produced, _recorded))


@derived
def launches(profile: Profile) -> Flows:
    """The arrows from launch to kernel alone, which are quick to find."""
    return _gathered(profile, (_launches,))


def _gathered(profile: Profile, finders: Sequence[Callable[[Host], _Found]]) -> Flows:
    parts: list[_Found] = []
    first = 0
    for host in profile.hosts:
        found = [find(host) for find in finders]
        parts += [(source + first, target + first, kind) for source, target, kind in found]
        first += len(host.space.events)
    sources = np.concatenate([part[0] for part in parts] or [np.empty(0, np.int64)])
    targets = np.concatenate([part[1] for part in parts] or [np.empty(0, np.int64)])
    kinds = np.repeat([part[2] for part in parts], [len(part[0]) for part in parts])
    order = np.lexsort((targets, sources))
    targets = targets[order]
    by_target = np.argsort(targets, kind="stable")
    return Flows(sources[order], targets, kinds[order].astype(np.uint8), by_target)


def _launches(host: Host) -> _Found:
    """Host calls and the kernels or copies with the same correlation id."""
    ids = correlation_ids(host)
    rows, value = ids.rows[ids.values != 0], ids.values[ids.values != 0]
    on_host, on_stream = _sides(host, rows)
    caller, called = rows[on_host], rows[on_stream]
    order = np.argsort(value[on_host], kind="stable")
    known, wanted = value[on_host][order], value[on_stream]
    # Of several host events with one id (an API call inside a marker) the last written calls.
    at = np.searchsorted(known, wanted, side="right") - 1
    has = at >= 0
    has[has] = known[at[has]] == wanted[has]
    return caller[order][at[has]], called[has], _LAUNCH


def _sides(host: Host, rows: I64) -> tuple[Bool, Bool]:
    """Which events are on host planes, and which on lines that devices recorded."""
    space, table = host.space, planes(host)
    device_lines = (LineKind.STREAM, LineKind.OPS)
    kinds = [table.plane_kind[line.plane] for line in space.lines] or [PlaneKind.OTHER]
    is_host = np.asarray([kind is PlaneKind.HOST for kind in kinds])
    is_device = np.asarray(
        [
            kind in DEVICE_KINDS and table.line_kind[row] in device_lines
            for row, kind in enumerate(kinds)
        ]
        if space.lines
        else [False]
    )
    line = space.lines_of(rows)
    return is_host[line], is_device[line]


def _produced(host: Host) -> _Found:
    """Producers and consumers that recorded the same context."""
    found = pivot.stats_by_name(
        host.space,
        (names.PRODUCER_TYPE, names.PRODUCER_ID, names.CONSUMER_TYPE, names.CONSUMER_ID),
    )
    sides = []
    for type_name, id_name in (
        (names.PRODUCER_TYPE, names.PRODUCER_ID),
        (names.CONSUMER_TYPE, names.CONSUMER_ID),
    ):
        types, ids = found[type_name], found[id_name]
        at = np.searchsorted(ids.rows, types.rows)
        at[at == len(ids.rows)] = 0
        has = ids.rows[at] == types.rows if len(ids.rows) else np.zeros(len(at), dtype=bool)
        sides.append((types.rows[has], types.ints[has], ids.ints[at[has]]))
    return *_join(host, sides[0], sides[1]), _PRODUCE


def _recorded(host: Host) -> _Found:
    """Flows as recorded: one number that holds direction, id and category."""
    found = pivot.stats_by_name(host.space, (names.FLOW,))[names.FLOW]
    packed = found.uints
    direction = (packed & np.uint64(3)).astype(np.int64)
    ids = (packed >> np.uint64(2)).view(np.int64)
    none = np.zeros(len(ids), np.int64)
    out, into = (direction & _OUT) > 0, (direction & _IN) > 0
    return *_join(
        host, (found.rows[out], none[out], ids[out]), (found.rows[into], none[into], ids[into])
    ), _FLOW


def _join(
    host: Host, sources: tuple[I64, I64, I64], targets: tuple[I64, I64, I64]
) -> tuple[I64, I64]:
    """Each target with the latest source of its (type, id) that starts before it, else the first.

    Args:
        host: Whose events they are.
        sources: Event rows, types and ids.
        targets: The same of the events to join.
    """
    none = np.empty(0, np.int64)
    if not len(sources[0]) or not len(targets[0]):
        return none, none
    types, ids, rows = (np.concatenate([sources[i], targets[i]]) for i in (1, 2, 0))
    start = host.space.events.start_ps[rows]
    is_target = np.arange(len(rows)) >= len(sources[0])
    order = np.lexsort((is_target, start, ids, types))
    types, ids, rows, is_target = types[order], ids[order], rows[order], is_target[order]
    changes = (np.diff(types, prepend=types[0]) != 0) | (np.diff(ids, prepend=ids[0]) != 0)
    group = np.cumsum(changes)
    place = np.arange(len(rows))
    latest = np.maximum.accumulate(np.where(is_target, -1, place))
    # The first source at or after each place, for targets that start before any source.
    ahead = np.minimum.accumulate(np.where(is_target, len(rows), place)[::-1])[::-1]
    wanted = place[is_target]
    chosen = latest[wanted]
    miss = (chosen < 0) | (group[chosen] != group[wanted])
    chosen = np.where(miss, np.minimum(ahead[wanted], len(rows) - 1), chosen)
    good = (group[chosen] == group[wanted]) & ~is_target[chosen]
    source, target = rows[chosen[good]], rows[wanted[good]]
    other = source != target
    return source[other], target[other]
