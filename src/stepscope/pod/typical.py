"""How long each stretch of own work typically takes: on peers, which do the same in a step.

Peers are the units of the same stage whose steps have the same sequence of collectives (kind and
size): the last stage of a pipeline is compared with last stages. The typical stretch is the lower
median over the peers of each one's median over steps, so that of two units the faster is typical,
and a unit that is slow in every step, or all units in one step, are not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import I32, I64, U64
from stepscope.pod.identity import packed
from stepscope.pod.meetings import Meetings
from stepscope.pod.rows import pieces, runs, whole_units

F64 = NDArray[np.float64]
# Odd numbers that spread what they multiply over all bits (Steele et al., SplitMix64).
_NTH: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX: Final = ((np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)),
               (np.uint64(27), np.uint64(0x94D049BB133111EB)))  # fmt: skip


@dataclass(frozen=True, eq=False, slots=True)
class Typical:
    """What is typical, by row or meeting of ``Meetings``.

    Attributes:
        found: The meetings.
        role: By unit: which units are its peers; -1 where it meets nobody.
        slot: By row, its place in ``usual_ps``; -1 where it has no peers, and is typical itself.
        usual_ps: What stretches at the same place of peers' steps typically take.
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
    # What a meeting is: the kind of collective, and how many are in it.
    what = (kind[found.communicator] << 40) + (found.size.astype(np.int64) << 16)
    sequence = np.zeros(len(stage), dtype=np.uint64)
    slot = np.full(len(found), -1, dtype=np.int32)
    over_steps: list[tuple[I64, I64, F64]] = []
    for piece in whole_units(found.unit):
        rows, nth, of_step = _by_step(found, piece)
        of_row = what[found.node[rows]] + stage[found.unit[rows]] + 1
        said = np.add.reduceat(_mixed(nth, of_row), of_step)
        unit = found.unit[rows[of_step]]
        used, usual = _most_frequent(unit, said)
        sequence[used] = usual
        # Steps in which a unit did something else compare with nothing.
        many = np.diff(np.append(of_step, len(rows)))
        like = np.repeat(said == sequence[unit], many)
        slot[rows[like]] = nth[like]
        over_steps.append(_medians(found, rows[like], nth[like]))
    role = np.full(len(stage), -1, dtype=np.int64)
    used = np.unique(found.unit)
    role[used] = np.unique(sequence[used], return_inverse=True)[1]
    first, usual_ps = _among_peers(role, over_steps)
    for piece in pieces(len(found)):
        place = slot[piece] + first[role[found.unit[piece]]]
        slot[piece] = np.where(slot[piece] >= 0, place, -1)
    return Typical(found, role, slot, usual_ps, *transfers)


def _by_step(found: Meetings, piece: slice) -> tuple[I64, I64, I64]:
    """Rows of some units by unit, step and time; the how-manieth of its step each is; steps."""
    unit, step = found.unit[piece], found.step[piece]
    order = np.arange(len(unit))
    if ((np.diff(step) < 0) & (np.diff(unit) == 0)).any():
        order = np.lexsort((step, unit))
    begin = runs(unit[order], step[order])
    nth = np.arange(len(order))
    nth -= np.repeat(begin, np.diff(np.append(begin, len(order))))
    return order + piece.start, nth, begin


def _mixed(nth: I64, what: I64) -> U64:
    """A number that stands for "this as the n-th": sums of them tell sequences apart."""
    found: U64 = what.astype(np.uint64) + nth.astype(np.uint64) * _NTH
    for shift, factor in _MIX:
        found ^= found >> shift
        found *= factor
    return found ^ (found >> np.uint64(31))


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


def _medians(found: Meetings, rows: I64, nth: I64) -> tuple[I64, I64, F64]:
    """By unit and place in a step, the median stretch over steps."""
    unit, stretch = found.unit[rows].astype(np.int64), found.stretch_ps(rows)
    order = np.lexsort((stretch, nth, unit))
    unit, nth, stretch = unit[order], nth[order], stretch[order]
    begin = runs(unit, nth)
    size = np.diff(np.append(begin, len(unit)))
    middle = (stretch[begin + (size - 1) // 2] + stretch[begin + size // 2]) / 2
    return unit[begin], nth[begin], middle


def _among_peers(role: I64, over_steps: list[tuple[I64, I64, F64]]) -> tuple[I64, I64]:
    """By role, where its places begin in the lower medians over peers, and these."""
    unit, nth, middle = map(np.concatenate, zip(*over_steps, strict=True))
    mine = role[unit]
    order = np.lexsort((middle, nth, mine))
    mine, nth, middle = mine[order], nth[order], middle[order]
    begin = runs(mine, nth)
    size = np.diff(np.append(begin, len(mine)))
    usual: I64 = middle[begin + (size - 1) // 2].astype(np.int64)
    # Steps of one role have the same number of places, so these are the slots one after another.
    return runs(mine[begin]), usual


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
