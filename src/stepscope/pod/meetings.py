"""The collectives of all recordings, joined by identity: who met whom, when, and who came last.

A meeting is one collective: (communicator, sequence number). It ends on all of its members
together, so the member that spends the least time in it came last, that time is the transfer, and
what the others spend beyond it is waiting. No clock is needed for that.

There is a row per device and collective, so what is kept of each decides how large a pod fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import I32, I64, Bool
from stepscope.pod.identity import Identified, identified
from stepscope.pod.intake import Gathered, MeetingGroup
from stepscope.pod.order import renumbered
from stepscope.pod.rows import by_index, pieces, runs, whole_units
from stepscope.records import dataclass
from stepscope.summary.summary import Who
from stepscope.tables.collectives.identity import SYMMETRIC

F64 = NDArray[np.float64]
Columns = dict[str, Any]
#: A step counts if at least this share of the units recorded it.
QUORUM: Final = 0.95
# A collective of which less is exposed runs beside other work.
_BACKGROUND: Final = 0.1
_MAX_KEY: Final = 1 << 62


@dataclass(frozen=True, eq=False, slots=True)
class Units:
    """What computes and waits: a device of a process of a host.

    Attributes:
        recording: Of which summary each is.
        device: Its place among the devices of that.
        host, name: "node17", "GPU:3".
        rank: Of its process; -1 if unknown.
        local: The how-manieth of its host, by rank or name.
    """

    recording: I64
    device: I64
    host: tuple[str, ...]
    name: tuple[str, ...]
    rank: I64
    local: I64

    def __len__(self) -> int:
        return len(self.host)


@dataclass(frozen=True, eq=False, slots=True)
class Meetings:
    """One row per unit and collective that it shares with another, by unit, then time.

    Attributes:
        unit: Place in ``Units``.
        node: Which meeting.
        step: Place in ``steps``; -1 outside of all.
        start_ps, duration_ps: On the recording's own clock.
        stood_ps: Time in which the unit waited for the last member and did nothing else.
        before: Row of the last collective that the unit stood for and that ended before this
            began; -1 for none.
        begin_ps: By unit, where its first step begins.
        communicator: By meeting: place in ``communicators``.
        transfer_ps: By meeting.
        tells: By meeting: whether durations tell who came last.
        size: By meeting: how many members are here.
        exposed_ps: By row of meetings whose durations do not tell, what nothing computes beside.
        met: By meeting: whether arrivals tell who came last (``pod/analyse.py``).
        by_clock_ps: By row, the waits of these; None where there are none.
        communicators: By key.
        steps: Numbers of the steps that count.
        left_out: What does not count, and why.
    """

    unit: I32
    node: I32
    step: NDArray[np.signedinteger[Any]]
    start_ps: I64
    duration_ps: I64
    stood_ps: I64
    before: I32
    begin_ps: I64
    communicator: I32
    transfer_ps: I64
    tells: Bool
    size: I32
    communicators: tuple[MeetingGroup, ...]
    steps: I64
    left_out: tuple[str, ...]
    exposed_ps: I64
    met: Bool
    by_clock_ps: I64 | None = None

    def __len__(self) -> int:
        return len(self.unit)

    def stretch_ps(self, rows: I32 | I64 | slice) -> I64:
        """The unit's own time since ``before`` ended, or its first step began."""
        last, start = self.before[rows], self.start_ps[rows]
        since = self.start_ps[last] + self.duration_ps[last]
        first = np.flatnonzero(last < 0)
        since[first] = np.minimum(self.begin_ps[self.unit[rows][first]], start[first])
        return start - since

    def own_ps(self, rows: slice) -> I64:
        """The unit's own time up to each row, none of it twice: they sum to its own work.

        Collectives in the background begin within one stretch of work, and each has all of it
        before it in ``stretch_ps``.
        """
        own = self.stretch_ps(rows)
        low = max(rows.start, 1)
        here, one_before = slice(low, rows.stop), slice(low - 1, rows.stop - 1)
        again = (self.unit[here] == self.unit[one_before]) & (
            self.before[here] == self.before[one_before]
        )
        apart = self.start_ps[here] - self.start_ps[one_before]
        later = own[low - rows.start :]
        later[again] = np.minimum(later[again], apart[again])
        return own

    def wait_ps(self, rows: I32 | I64 | slice) -> I64:
        """How long rows wait until the last member comes; 0 where that is unknown."""
        node = self.node[rows]
        waits = self.duration_ps[rows] - self.transfer_ps[node]
        otherwise = 0 if self.by_clock_ps is None else self.by_clock_ps[rows]
        return np.where(self.tells[node], waits, otherwise)

    def pieces(self) -> Iterator[slice]:
        """All rows, some at a time."""
        return pieces(len(self))

    def of_node(self, values: NDArray[Any]) -> NDArray[Any]:
        """By row, a value of its meeting."""
        return by_index(values, self.node)

    def of_unit(self, values: NDArray[Any]) -> NDArray[Any]:
        """By row, a value of its unit."""
        return by_index(values, self.unit)

    def by_unit(self, units: int, values: Callable[[slice], NDArray[Any]]) -> F64:
        """Sums over the rows of each unit."""
        total = np.zeros(units)
        for piece in self.pieces():
            unit = self.unit[piece]
            found = np.bincount(unit - unit[0], values(piece))
            total[unit[0] : unit[0] + len(found)] += found
        return total

    def by_step(self, units: int, values: Callable[[slice], NDArray[Any]]) -> F64:
        """Sums by unit and step, what is outside of steps in the first: float64[units, steps]."""
        size = max(len(self.steps), 1)
        total = np.zeros(units * size)
        for piece in self.pieces():
            unit = self.unit[piece]
            place = (unit - unit[0]).astype(np.int64) * size + np.maximum(self.step[piece], 0)
            found = np.bincount(place, values(piece))
            first = int(unit[0]) * size
            total[first : first + len(found)] += found
        return total.reshape(units, size)

    def memberships(self) -> tuple[I64, I64]:
        """Every pair (unit, communicator) that there is, by unit."""
        count = max(len(self.communicators), 1)
        found = [
            np.unique(
                self.unit[piece].astype(np.int64) * count + self.communicator[self.node[piece]]
            )
            for piece in self.pieces()
        ]
        key = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *found]))
        return key // count, key % count


def units_of(who: Sequence[Who]) -> Units:
    """The units of all recordings, in order of recordings and devices."""
    recording = [place for place, one in enumerate(who) for _ in one.devices]
    device = [place for one in who for place in range(len(one.devices))]
    rank = np.asarray([one.rank for one in who], dtype=np.int64)[recording]
    hosts = [who[place].machine for place in recording]
    count: dict[str, int] = {}
    local = []
    for host in hosts:
        local.append(count.get(host, 0))
        count[host] = local[-1] + 1
    names = [who[place].devices[at] for place, at in zip(recording, device, strict=True)]
    return Units(
        recording=np.asarray(recording, dtype=np.int64),
        device=np.asarray(device, dtype=np.int64),
        host=tuple(hosts),
        name=tuple(names),
        rank=rank,
        local=np.asarray(local, dtype=np.int64),
    )


def join(gathered: Gathered) -> Meetings:
    """Join the collectives of recordings of one job, and leave ``gathered`` without them."""
    rows = gathered.rows
    steps, left_out = _counted_steps(gathered)
    kept = renumbered(rows)
    if kept is not None:
        _keep(rows, kept)
    if len(steps):
        _keep(rows, _place(steps, rows["step"]) >= 0)
    found = identified(rows)
    _keep(rows, found.kept)
    if found.twice:
        note = f"{found.twice:,} collectives whose number occurs twice on a device"
        left_out = (*left_out, note)
    return _measured(rows, found, gathered, steps, left_out)


def _keep(rows: Columns, kept: Bool) -> None:
    """Leave the other rows out, a column at a time."""
    if not kept.all():
        for name in rows:
            rows[name] = rows[name][kept]


def _counted_steps(gathered: Gathered) -> tuple[I64, tuple[str, ...]]:
    """The steps that nearly all units recorded, and which others there are."""
    steps = gathered.steps
    if not len(steps):
        return steps, ()
    is_common = gathered.recorded >= QUORUM * gathered.stepping
    if not is_common.any():
        note = "No step was recorded by 95 % of the devices; all steps of each count."
        return steps, (note,)
    gone, notes = int((~is_common).sum()), []
    if gone:
        notes.append(
            f"{gone:,} of {len(steps):,} steps were recorded by less than 95 % of the devices"
        )
    if gathered.left_out:
        many = "1 step" if gathered.left_out == 1 else f"{gathered.left_out:,} steps"
        notes.append(f"{many} at the edges of the recording, or warming up")
    return steps[is_common], tuple(notes)


def _measured(
    rows: Columns,
    found: Identified,
    gathered: Gathered,
    steps: I64,
    left_out: tuple[str, ...],
) -> Meetings:
    node, size, communicator = found.node, found.size, found.communicator
    unit, start, duration = rows.pop("unit"), rows.pop("start_ps"), rows.pop("duration_ps")
    exposed, step = rows.pop("exposed_ps"), _place(steps, rows.pop("step"))
    _untied(unit, start, node, step, duration, exposed)
    transfer = np.full(len(size), np.iinfo(np.int64).max)
    for piece in pieces(len(node)):
        np.minimum.at(transfer, node[piece], duration[piece])
    kinds = [one.kind for one in gathered.communicators]
    is_symmetric = np.asarray([kind in SYMMETRIC for kind in kinds] or [False])
    is_pair = np.asarray([kind == "send_recv" for kind in kinds] or [False])
    # A message that both sides wait for ends on both; one of many to many need not.
    tells = is_symmetric[communicator] | (is_pair[communicator] & (size == 2))
    stood = np.empty(len(node), dtype=np.bool_)
    untold: list[I64] = []
    for piece in pieces(len(node)):
        # What runs in the background is not what the unit comes from, nor what takes no time.
        stood[piece] = exposed[piece] >= np.maximum(_BACKGROUND * duration[piece], 1)
        at = node[piece]
        untold.append(exposed[piece][~tells[at]])
        waits = np.where(tells[at], duration[piece] - transfer[at], 0)
        exposed[piece] = np.minimum(waits, exposed[piece])
    before = latest_before(unit, start, duration, stood)
    return Meetings(
        unit=unit,
        node=node,
        step=step,
        start_ps=start,
        duration_ps=duration,
        stood_ps=exposed,
        before=before,
        begin_ps=gathered.begin_ps,
        communicator=communicator,
        transfer_ps=transfer,
        tells=tells,
        size=size,
        communicators=gathered.communicators,
        steps=steps,
        left_out=left_out,
        exposed_ps=np.concatenate([np.zeros(0, dtype=np.int64), *untold]),
        met=np.zeros(len(size), dtype=np.bool_),
    )


def _untied(unit: I32, start: I64, node: I32, *others: NDArray[Any]) -> None:
    """Put rows of a unit that begin together in the order of their meetings, everywhere."""
    tied = np.zeros(len(unit), dtype=np.bool_)
    same = (unit[1:] == unit[:-1]) & (start[1:] == start[:-1])
    tied[1:] |= same
    tied[:-1] |= same
    rows = np.flatnonzero(tied)
    order = rows[np.lexsort((node[rows], start[rows], unit[rows]))]
    for column in (node, *others):
        column[rows] = column[order]


def latest_before(unit: I32, start_ps: I64, duration_ps: I64, stood: Bool) -> I32:
    """By row, the row of its unit that ended last before it began; -1 for none.

    Args:
        unit: Ascending.
        start_ps: Of the rows, ascending within a unit.
        duration_ps: Of the rows.
        stood: Which rows can be what another came from; they take time.
    """
    found = np.full(len(unit), -1, dtype=np.int32)
    stack = list(whole_units(unit))
    while stack:
        at = stack.pop()
        begin = runs(unit[at])
        place = np.repeat(np.arange(len(begin)), np.diff(np.append(begin, at.stop - at.start)))
        start = start_ps[at] - start_ps[at][begin][place]
        end = start + duration_ps[at]
        span = int(max(end.max(), start.max())) + 1
        if span * len(begin) >= _MAX_KEY and len(begin) > 1:
            middle = at.start + int(begin[len(begin) // 2])
            stack += [slice(at.start, middle), slice(middle, at.stop)]
            continue
        # One axis for all: each unit has a stretch of it.
        rows = np.flatnonzero(stood[at])
        if not len(rows):
            continue
        key = place * span
        ends = (key + end)[rows]
        order = np.argsort(ends, kind="stable")
        last = np.searchsorted(ends[order], key + start, side="right") - 1
        source = rows[order][np.maximum(last, 0)]
        found[at] = np.where((last >= 0) & (place[source] == place), source + at.start, -1)
    return found


def _place(steps: I64, step: NDArray[Any]) -> NDArray[np.signedinteger[Any]]:
    """Places of these numbers among the steps that count; -1 for others."""
    found: NDArray[np.signedinteger[Any]] = np.full(len(step), -1, dtype=np.int32)
    if len(steps) <= np.iinfo(np.int16).max:
        found = found.astype(np.int16)
    for piece in pieces(len(step) if len(steps) else 0):
        place = np.minimum(np.searchsorted(steps, step[piece]), len(steps) - 1)
        found[piece] = np.where(steps[place] == step[piece], place, -1)
    return found
