"""Where in its step each collective of a unit is, told so that peers' steps can be compared.

Collectives of several communicators overlap, and come in one order here and in another there. So a
place is not the how-manieth collective of the step but which communicator's, and the how-manieth
of that: a step has the same places in whatever order it passes them. A communicator is known to
peers by what it is: its kind, how many are in it, how often it meets in a step and, of those alike
in this, which comes earlier.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import I32, I64, U64
from stepscope.pod.meetings import Meetings
from stepscope.pod.rows import runs
from stepscope.records import dataclass

# Odd numbers that spread what they multiply over all bits (Steele et al., SplitMix64).
_NTH: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX: Final = (
    (np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)),
    (np.uint64(27), np.uint64(0x94D049BB133111EB)),
)
#: What a stretch came from that is not known, or has no place.
NOWHERE: Final = -1


@dataclass(frozen=True, eq=False, slots=True)
class PlacedSteps:
    """The steps of some units, whole ones.

    Attributes:
        rows: Rows of ``Meetings`` by unit, step and place.
        place: Of each, its place in its step.
        begin: Where in ``rows`` each step begins.
        said: By step, a number that stands for all that is done in it, in any order.
    """

    rows: I64
    place: I64
    begin: I64
    said: U64


def steps_of(found: Meetings, piece: slice, what: I64) -> PlacedSteps:
    """The steps of the units of a piece.

    Args:
        found: The meetings.
        piece: All rows of some units.
        what: By communicator, its kind and size as one number.
    """
    unit, step = found.unit[piece], found.step[piece]
    node = found.node[piece]
    communicator = found.communicator[node]
    known_as = _known_as(unit, step, communicator, what)
    order = np.lexsort((node, known_as, step, unit))
    begin = runs(unit[order], step[order])
    place = _within(begin, len(order))
    told = what[communicator[order]] * 1009 + known_as[order]
    said = np.add.reduceat(_mixed(place, told), begin)
    return PlacedSteps(order + piece.start, place, begin, said)


def sources_of(found: Meetings, piece: slice, place: NDArray[Any]) -> I64:
    """What the stretch of each row began after, in the terms of places.

    Args:
        found: The meetings.
        piece: All rows of some units.
        place: Of these rows; negative where a row has none.

    Returns:
        The place of ``Meetings.before``; of an earlier step −2 minus that; or ``NOWHERE``.
    """
    before = found.before[piece].astype(np.int64) - piece.start
    at = np.maximum(before, 0)
    source = place[at].astype(np.int64)
    earlier = found.step[piece][at] != found.step[piece]
    is_known = (before >= 0) & (source >= 0)
    return np.where(is_known, np.where(earlier, -2 - source, source), NOWHERE)


def _known_as(unit: I32, step: NDArray[Any], communicator: NDArray[Any], what: I64) -> I64:
    """By row, the how-manieth communicator of its unit it is, counted as peers count theirs."""
    by_step = np.lexsort((step, unit))
    begin = runs(unit[by_step], step[by_step])
    nth = np.empty(len(unit), dtype=np.int64)
    nth[by_step] = _within(begin, len(unit))
    # In order of rows, so by unit.
    order = np.lexsort((communicator, unit))
    first = runs(unit[order], communicator[order])
    many = np.diff(np.append(first, len(order)))
    owner, which = unit[order[first]], communicator[order[first]]
    steps = np.bincount((unit[by_step[begin]] - unit[0]), minlength=int(unit[-1] - unit[0]) + 1)
    often = np.rint(many / steps[owner - unit[0]])
    when = np.add.reduceat(nth[order], first) / many
    ranked = np.lexsort((which, when, often, what[which], owner))
    known = np.empty(len(first), dtype=np.int64)
    known[ranked] = _within(runs(owner[ranked]), len(ranked))
    found = np.empty(len(unit), dtype=np.int64)
    found[order] = np.repeat(known, many)
    return found


def _within(begin: I64, count: int) -> I64:
    """The how-manieth of its run each of so many is."""
    found = np.arange(count)
    found -= np.repeat(begin, np.diff(np.append(begin, count)))
    return found


def _mixed(nth: I64, what: I64) -> U64:
    """A number that stands for "this as the n-th": sums of them tell sequences apart."""
    found: U64 = what.astype(np.uint64) + nth.astype(np.uint64) * _NTH
    for shift, factor in _MIX:
        found ^= found >> shift
        found *= factor
    return found ^ (found >> np.uint64(31))
