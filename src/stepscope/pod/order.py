"""The numbers of collectives that no recorder numbered, where steps do not tell them.

Collectives are begun ahead of the step that waits for them, so recordings may cut their sequence at
different places, and the n-th of a step is not the n-th everywhere. Then the sequence of each unit
is laid against the shortest one: a collective ends everywhere at once, so where they belong the
ends keep one distance, whatever the clocks show.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import polars as pl

from stepscope.columns.space import I64, Bool

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
    keys = ("communicator", "step", "unit")
    unnumbered = pl.DataFrame({name: rows[name][place] for name in keys})
    units = unnumbered.group_by("communicator").agg(pl.col("unit").n_unique().alias("units"))
    uneven = (
        unnumbered.group_by(keys)
        .len()
        .group_by("communicator", "step")
        .agg(pl.len().alias("here"), pl.col("len").n_unique().alias("kinds"))
        .join(units, on="communicator")
        .filter((pl.col("here") < pl.col("units")) | (pl.col("kinds") > 1))["communicator"]
        .unique()
    )
    if uneven.is_empty():
        return None
    place = place[np.isin(rows["communicator"][place], uneven.to_numpy())]
    names = ("unit", "communicator", "start_ps", "duration_ps")
    wrong = pl.DataFrame({"row": place, **{name: rows[name][place] for name in names}})
    kept = np.ones(len(rows["unit"]), dtype=np.bool_)
    kept[place] = False
    for _, mine in wrong.group_by("communicator"):
        for laid in _laid(mine):
            row = laid["row"].to_numpy()
            kept[row] = rows["numbered"][row] = True
            rows["number"][row] = np.arange(len(row))
    return kept


def _laid(rows: pl.DataFrame) -> list[pl.DataFrame]:
    """By unit of one communicator, the rows that belong to those of the unit with the fewest."""
    by_unit = [
        part.sort("start_ps") for _, part in rows.sort("unit").group_by("unit", maintain_order=True)
    ]
    reference = _ends(min(by_unit, key=lambda part: part.height))
    found = []
    for part in by_unit:
        first = _first(_ends(part), reference)
        if first is not None:
            found.append(part.slice(first, len(reference)))
    return found


def _ends(rows: pl.DataFrame) -> I64:
    return (rows["start_ps"] + rows["duration_ps"]).to_numpy()


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
