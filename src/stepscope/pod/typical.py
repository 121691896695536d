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

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import I32, I64, U64
from stepscope.pod.identity import packed
from stepscope.pod.meetings import Meetings
from stepscope.pod.rows import pieces, runs, whole_units
from stepscope.pod.sequence import NOWHERE, sources_of, steps_of
from stepscope.records import dataclass, replace

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


@dataclass(frozen=True, eq=False, slots=True)
class _Stretches:
    """Stretches by where they end and what they come from.

    Attributes:
        where: By group: a unit and a place, or a slot.
        source: What they come from.
        many: How many there are.
        median_ps: What they typically take.
    """

    where: tuple[I32, ...]
    source: I32
    many: I64
    median_ps: F64


def _grouped(where: tuple[I32, ...], source: I32, taken: NDArray[Any]) -> tuple[I64, I64]:
    """Rows by ``where``, source and time, and where groups of the first two begin."""
    order = np.lexsort((taken, source, *where[::-1]))
    return order, runs(*(one[order] for one in (*where, source)))


def _medians(found: Meetings, piece: slice, place: I32) -> _Stretches:
    """By unit, place and what stretches came from: how many there are, and their median."""
    rows = np.flatnonzero(place >= 0)
    where = found.unit[piece][rows], place[rows]
    source = sources_of(found, piece, place)[rows].astype(np.int32)
    taken = found.stretch_ps(piece)[rows]
    order, begin = _grouped(where, source, taken)
    many, taken = np.diff(np.append(begin, len(order))), taken[order]
    median = (taken[begin + (many - 1) // 2] + taken[begin + many // 2]) / 2
    first = order[begin]
    return _Stretches((where[0][first], where[1][first]), source[first], many, median)


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


def _peer_medians(role: I64, over_steps: list[_Stretches]) -> _Ways:
    """What is typical of each role: the lower medians over peers."""
    # Steps of one role have the same places.
    places = [(role[one.where[0]] << 32) + one.where[1] for one in over_steps]
    known = np.unique(np.concatenate([np.unique(one) for one in places])) >> 32
    first = np.searchsorted(known, np.arange(int(role.max(initial=-1)) + 1))
    for at, one in enumerate(over_steps):
        unit, place = one.where
        over_steps[at] = replace(one, where=((first[role[unit]] + place).astype(np.int32),))
    # Medians need all rows of a slot, not all slots.
    parts = max(-(-sum(len(one.many) for one in over_steps) // _MOST_ROWS), 1)
    ways = [_medians_by_way(over_steps, part, parts) for part in range(parts)]
    slot, source, many, taken = (np.concatenate(column) for column in zip(*ways, strict=True))
    order = np.lexsort((source, -many, source == NOWHERE, slot))
    slot, source, taken = slot[order].astype(np.int64), source[order].astype(np.int64), taken[order]
    is_usual = np.zeros(len(order), dtype=np.bool_)
    is_usual[runs(slot)] = True
    other = np.flatnonzero(~is_usual & (source != NOWHERE))
    other = other[np.lexsort((source[other], slot[other]))]
    usual = source[is_usual], taken[is_usual]
    between = _between(first, *usual, slot[other], source[other], taken[other])
    return _Ways(
        first=first,
        source=usual[0],
        other=_key(slot[other], source[other]),
        usual_ps=np.concatenate([usual[1], between]).astype(np.int64),
    )


def _medians_by_way(
    over_steps: list[_Stretches], part: int, parts: int
) -> tuple[I32, I32, I64, F64]:
    """Of some slots, by source: how many stretches there are, and the lower median over peers."""
    mine = [np.flatnonzero(one.where[0] % parts == part) for one in over_steps]
    slot, source, many, taken = (
        np.concatenate([column[rows] for column, rows in zip(columns, mine, strict=True)])
        for columns in zip(
            *((one.where[0], one.source, one.many, one.median_ps) for one in over_steps),
            strict=True,
        )
    )
    order, begin = _grouped((slot,), source, taken)
    peers = np.diff(np.append(begin, len(order)))
    middle = order[begin + (peers - 1) // 2]
    total = np.add.reduceat(many[order], begin) if len(begin) else many
    return slot[middle], source[middle], total, taken[middle]


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
