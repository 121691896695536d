"""The numbers of collectives that no recorder numbered, where steps do not tell them.

Collectives are begun ahead of the step that waits for them, so recordings may cut their sequence at
different places, and the n-th of a step is not the n-th everywhere. Then the sequence of each unit
is laid against the shortest one: a collective ends everywhere at once, so where they belong the
ends keep one distance, whatever the clocks show.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from stepscope.columns.space import I64, Bool
from stepscope.pod.rows import runs

# How many more collectives one unit may have recorded than another.
_MOST_EXTRA: Final = 200
# Distances that differ by less are one.
_TICK_PS: Final = 10_000_000


def renumbered(rows: dict[str, Any]) -> Bool | None:
    """Give the rows of some communicators better numbers; rows that have a counterpart.

    Communicators whose units all have equally many in each step stay as they are; others are
    numbered throughout.

    Args:
        rows: "unit", "communicator", "step", "number", "numbered", "start_ps", "duration_ps".
    """
    place = np.flatnonzero(~rows["numbered"])
    if not len(place):
        return None
    communicator, step, unit = (rows[name][place] for name in ("communicator", "step", "unit"))
    uneven = _uneven(communicator, step, unit)
    if not len(uneven):
        return None
    kept = np.ones(len(rows["unit"]), dtype=np.bool_)
    place = place[np.isin(communicator, uneven)]
    kept[place] = False
    names = ("communicator", "unit", "start_ps")
    communicator, unit, start = (rows[name][place] for name in names)
    order = np.lexsort((start, unit, communicator))
    row, communicator, unit = place[order], communicator[order], unit[order]
    end = rows["start_ps"][row] + rows["duration_ps"][row]
    for low, high in _stretches(communicator):
        by_unit = [slice(low + first, low + last) for first, last in _stretches(unit[low:high])]
        reference = end[min(by_unit, key=lambda at: at.stop - at.start)]
        for at in by_unit:
            first = _first(end[at], reference)
            if first is not None:
                mine = row[at][first : first + len(reference)]
                kept[mine] = rows["numbered"][mine] = True
                rows["number"][mine] = np.arange(len(mine))
    return kept


def _uneven(communicator: I64, step: I64, unit: I64) -> I64:
    """The communicators whose units do not all have equally many collectives in each step."""
    order = np.lexsort((unit, communicator))
    of_unit = order[runs(communicator[order], unit[order])]
    known, units = np.unique(communicator[of_unit], return_counts=True)
    order = np.lexsort((unit, step, communicator))
    communicator, step, unit = communicator[order], step[order], unit[order]
    begin = runs(communicator, step, unit)
    many = np.diff(np.append(begin, len(unit)))
    communicator, step = communicator[begin], step[begin]
    of_step = runs(communicator, step)
    here = np.diff(np.append(of_step, len(step)))
    communicator = communicator[of_step]
    differ = np.minimum.reduceat(many, of_step) != np.maximum.reduceat(many, of_step)
    uneven: I64 = np.unique(
        communicator[differ | (here < units[np.searchsorted(known, communicator)])]
    )
    return uneven


def _stretches(values: I64) -> list[tuple[int, int]]:
    """Return begin and end of each run of equal values."""
    begin = runs(values).tolist()
    return list(zip(begin, [*begin[1:], len(values)], strict=True))


def _first(ends: I64, reference: I64) -> int | None:
    """Where in these ends those of the reference begin; None if nowhere for sure."""
    size = len(reference)
    best, closest = None, (np.inf, np.inf)
    for first in range(min(len(ends) - size, _MOST_EXTRA) + 1):
        distance = ends[first : first + size] - reference
        middle = float(np.median(distance))
        around = float(np.median(np.abs(distance - middle)))
        if (key := (around // _TICK_PS, abs(middle))) < closest:
            best, closest = first, key
    if len(ends) == size or size < 2:
        return best
    usual = float(np.median(np.diff(np.sort(reference))))
    return best if closest[0] * _TICK_PS < usual / 2 else None
