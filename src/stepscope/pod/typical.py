"""How long each stretch of own work typically takes: on peers, which do the same in a step.

Peers are the units of the same stage whose steps have the same collectives (kind and size), in
whatever order: the last stage of a pipeline is compared with last stages. A stretch goes from one
place of a step to another (``pod/sequence.py``), and is compared with those of peers that come to
its place from where most of them come from. The typical one is the lower median over the peers of
each one's median over steps, so that of two units the faster is typical, and a unit that is slow
in every step, or all units in one step, are not. What came to its place from elsewhere, because
collectives overlapped in another order, has typically what lies between the two places on the way
that peers go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stepscope.columns.space import I32, I64, U64
from stepscope.pod.identity import packed
from stepscope.pod.meetings import Meetings
from stepscope.pod.rows import pieces, runs, whole_units
from stepscope.pod.sequence import NOWHERE, sources_of, steps_of

F64 = NDArray[np.float64]
# Rows of units and ways that are looked at together.
_MOST_ROWS: Final = 1 << 20


@dataclass(frozen=True, eq=False, slots=True)
class Typical:
    """What is typical, by row or meeting of ``Meetings``.

    Attributes:
        found: The meetings.
        role: By unit: which units are its peers; -1 where it meets nobody.
        slot: By row, its place in ``usual_ps``; -1 where it has no peers, and is typical itself.
        usual_ps: What stretches between the same places of peers' steps typically take.
        transfer_class: By meeting, its class: kind, size, how often its communicator meets in a
            step, and the how-manieth time this is; a place in ``transfers_ps``.
        transfers_ps: Median transfers.
    """

    found: Meetings
    role: I64
    slot: I32
    usual_ps: I64
    transfer_class: I32
    transfers_ps: I64

    def transfer_ps(self, nodes: NDArray[Any] | slice = slice(None)) -> I64:
        """What the transfers of these meetings typically take."""
        return self.transfers_ps[self.transfer_class[nodes]]

    def stretch_ps(self, rows: NDArray[Any] | slice) -> I64:
        """What the stretches of these rows typically take."""
        slot = self.slot[rows]
        alone = np.flatnonzero(slot < 0)
        if not len(alone):
            return self.usual_ps[slot]
        usual = np.zeros(len(slot), dtype=np.int64)
        usual[slot >= 0] = self.usual_ps[slot[slot >= 0]]
        row = np.arange(rows.start, rows.stop)[alone] if isinstance(rows, slice) else rows[alone]
        usual[alone] = self.found.stretch_ps(row)
        return usual


def typical_of(found: Meetings, stage: I64) -> Typical:
    """Compare every stretch with those of peers, every transfer with those of its class.

    Args:
        found: The meetings.
        stage: By unit, its stage in a pipeline (-1: none).
    """
    if not len(found):
        nobody = np.full(len(stage), -1, dtype=np.int64)
        return Typical(found, nobody, found.unit, found.transfer_ps, found.node, found.transfer_ps)
    kinds = [one.kind for one in found.communicators]
    kind = np.unique(np.asarray(kinds or [""]), return_inverse=True)[1]
    transfers = _transfers(found, kind.astype(np.int32))  # first: it needs most memory
    # What a communicator is: the kind of collective, and how many are in it.
    many = np.zeros(len(found.communicators), dtype=np.int64)
    np.maximum.at(many, found.communicator, found.size)
    many = np.maximum(many, [one.size for one in found.communicators])
    what = (kind.astype(np.int64) << 40) + (many << 16)
    sequence = np.zeros(len(stage), dtype=np.uint64)
    slot = np.full(len(found), -1, dtype=np.int32)
    over_steps = []
    for piece in whole_units(found.unit):
        steps = steps_of(found, piece, what)
        unit = found.unit[steps.rows[steps.begin]]
        used, usual = _most_frequent(unit, steps.said)
        sequence[used] = usual
        # Steps in which a unit did something else compare with nothing.
        size = np.diff(np.append(steps.begin, len(steps.rows)))
        like = np.repeat(steps.said == sequence[unit], size)
        slot[steps.rows[like]] = steps.place[like]
        over_steps.append(_medians(found, piece, slot[piece]))
    role = np.full(len(stage), -1, dtype=np.int64)
    used = found.unit[runs(found.unit)]
    # Peers are of one stage.
    both = np.stack([sequence[used], (stage[used] + 1).astype(np.uint64)])
    role[used] = np.unique(both, axis=1, return_inverse=True)[1].ravel()
    ways = _peer_medians(role, over_steps)
    for piece in whole_units(found.unit):
        source = sources_of(found, piece, slot[piece])
        slot[piece] = ways.slots(role[found.unit[piece]], slot[piece], source)
    return Typical(found, role, slot, ways.usual_ps, *transfers)


def _most_frequent(unit: I32, sequence: U64) -> tuple[I32, U64]:
    """Units, ascending, and the sequence that most of each one's steps have."""
    order = np.lexsort((sequence, unit))
    unit, sequence = unit[order], sequence[order]
    begin = runs(unit, sequence)
    often = np.diff(np.append(begin, len(unit)))
    unit, sequence = unit[begin], sequence[begin]
    order = np.lexsort((sequence, often, unit))
    last = np.append(runs(unit[order])[1:], len(order)) - 1
    return unit[order][last], sequence[order][last]


def _medians(found: Meetings, piece: slice, place: I32) -> pl.DataFrame:
    """By unit, place and what stretches came from: how many there are, and their median."""
    rows = np.flatnonzero(place >= 0)
    columns = {
        "unit": found.unit[piece][rows],
        "place": place[rows],
        "source": sources_of(found, piece, place)[rows].astype(np.int32),
        "stretch": found.stretch_ps(piece)[rows],
    }
    amounts = pl.len().alias("many"), pl.col("stretch").median()
    return pl.DataFrame(columns).group_by("unit", "place", "source").agg(*amounts)


@dataclass(frozen=True, eq=False, slots=True)
class _Ways:
    """From where to where the stretches of each role lead, and what they typically take.

    Attributes:
        first: By role, the first of its places in ``source`` and ``usual_ps``.
        source: By role and place, what most stretches come from.
        other: Role and place, and source, of stretches that come from elsewhere, as one number;
            ascending.
        usual_ps: By role and place; then by ``other``.
    """

    first: I64
    source: I64
    other: I64
    usual_ps: I64

    def slots(self, role: I64, place: I32, source: I64) -> I32:
        """Where in ``usual_ps`` these stretches are; -1 without a place."""
        found = np.where(place >= 0, self.first[role] + place, -1).astype(np.int32)
        elsewhere = (place >= 0) & (source != NOWHERE) & (source != self.source[found])
        key = _key(found[elsewhere], source[elsewhere])
        found[elsewhere] = len(self.source) + np.searchsorted(self.other, key)
        return found


def _key(slot: NDArray[Any], source: NDArray[Any]) -> I64:
    found: I64 = (slot.astype(np.int64) << 32) + source.astype(np.int64) + (1 << 31)
    return found


def _peer_medians(role: I64, over_steps: list[pl.DataFrame]) -> _Ways:
    """What is typical of each role: the lower medians over peers."""
    # Steps of one role have the same places.
    places = pl.concat([_places(role, one) for one in over_steps]).unique().sort("role", "place")
    first = np.searchsorted(places["role"].to_numpy(), np.arange(int(role.max(initial=-1)) + 1))
    for at, one in enumerate(over_steps):
        slot = first[role[one["unit"].to_numpy()]] + one["place"].to_numpy()
        slots = pl.Series("slot", slot.astype(np.int32))
        over_steps[at] = one.select(slots, "source", "many", "stretch")
    # Medians need all rows of a slot, not all slots.
    parts = max(-(-sum(one.height for one in over_steps) // _MOST_ROWS), 1)
    by_way = pl.concat([_medians_by_way(over_steps, part, parts) for part in range(parts)]).sort(
        "slot", pl.col("source") == NOWHERE, -pl.col("many").cast(pl.Int64), "source"
    )
    usual = by_way.unique("slot", keep="first", maintain_order=True)
    source, stretch = usual["source"].to_numpy().astype(np.int64), usual["stretch"].to_numpy()
    other = by_way.join(usual, on=["slot", "source"], how="anti")
    other = other.filter(pl.col("source") != NOWHERE).sort("slot", "source")
    slot, came = (other[name].to_numpy().astype(np.int64) for name in ("slot", "source"))
    between = _between(first, source, stretch, slot, came, other["stretch"].to_numpy())
    return _Ways(
        first=first,
        source=source,
        other=_key(slot, came),
        usual_ps=np.concatenate([stretch, between]).astype(np.int64),
    )


def _places(role: I64, one: pl.DataFrame) -> pl.DataFrame:
    roles = pl.Series("role", role[one["unit"].to_numpy()])
    return one.select(roles, "place").unique()


def _medians_by_way(over_steps: list[pl.DataFrame], part: int, parts: int) -> pl.DataFrame:
    """Of some slots, by source: how many stretches there are, and the lower median over peers."""
    mine = pl.concat([one.filter(pl.col("slot") % parts == part) for one in over_steps])
    typical = pl.col("stretch").quantile(0.5, "lower")
    return mine.group_by("slot", "source").agg(pl.col("many").sum(), typical)


def _between(first: I64, source: I64, usual: F64, slot: I64, came: I64, taken: F64) -> F64:
    """What lies between places that stretches do not usually lead between.

    Args:
        first: By role, its first slot.
        source: By slot, what its stretches usually come from.
        usual: By slot, what they take.
        slot: Of the unusual stretches.
        came: What they come from.
        taken: What they take; typical of itself where nothing says more.
    """
    role_first = np.repeat(first, np.diff(np.append(first, len(source))))
    since = _since_begin(role_first, source, usual)
    # Where in its step the work ends that the next one's first place comes from.
    is_first = source < NOWHERE
    ends = np.where(is_first, since[role_first + np.maximum(-2 - source, 0)], 0)
    end = np.zeros(len(source))
    np.maximum.at(end, role_first[is_first], ends[is_first])
    earlier = came < NOWHERE
    place = np.where(earlier, -2 - came, came)
    mine = role_first[slot]
    low = since[mine + place] - np.where(earlier, end[mine], 0)
    found = np.maximum(since[slot] - low, 0)
    return np.where(np.isfinite(found), found, taken)


def _since_begin(role_first: I64, source: I64, usual: F64) -> F64:
    """By slot, the typical work of a step up to it; infinite where places lead in a circle."""
    total = usual.copy()
    before = np.where(source >= 0, role_first + np.maximum(source, 0), -1)
    for _ in range(len(source).bit_length()):
        on = np.flatnonzero(before >= 0)
        if not len(on):
            return total
        total[on] += total[before[on]]
        before[on] = before[before[on]]
    total[before >= 0] = np.inf
    return total


def _transfers(found: Meetings, kind: I32) -> tuple[I32, I64]:
    """By meeting, its class; by class, the median transfer."""
    count = len(found.size)
    step = np.empty(count, dtype=np.int32)
    for piece in reversed(list(pieces(len(found)))):  # that of the first member stays
        step[found.node[piece][::-1]] = found.step[piece][::-1]
    # Meetings are numbered by communicator, step and number: their order is that of numbers.
    order = np.lexsort((step, found.communicator)).astype(np.int32)
    communicator = found.communicator[order]
    begin = runs(communicator, step[order])
    many = np.diff(np.append(begin, count))
    place = packed(kind[communicator], found.size[order])
    del communicator
    place = packed(place, np.repeat(many.astype(np.int32), many))
    nth = np.arange(count, dtype=np.int32)
    nth -= np.repeat(begin.astype(np.int32), many)
    place = packed(place, nth)
    del nth
    by_class = np.lexsort((found.transfer_ps[order], place)).astype(np.int32)
    begin = runs(place[by_class])
    del place
    many = np.diff(np.append(begin, count))
    order = order[by_class]
    del by_class
    of_node = np.empty(count, dtype=np.int32)
    of_node[order] = np.repeat(np.arange(len(begin), dtype=np.int32), many)
    return of_node, found.transfer_ps[order[begin + (many - 1) // 2]]
