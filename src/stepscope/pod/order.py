"""The numbers of collectives that no recorder numbered, where steps do not tell them.

Collectives are begun ahead of the step that waits for them, so recordings may cut their sequence at
different places, and the n-th of a step is not the n-th everywhere. Then the sequence of each unit
is laid against the shortest one: a collective ends everywhere at once, so where they belong the
ends keep one distance, whatever the clocks show.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from stepscope.columns.space import I64

# How many more collectives one unit may have recorded than another.
_MOST_EXTRA: Final = 200
# Distances that differ by less are one.
_TICK_PS: Final = 10_000_000


def renumbered(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows (unit, communicator, step, number, numbered, start_ps, duration_ps) with better numbers.

    Communicators whose units all have equally many in each step stay as they are; others are
    numbered throughout, and what has no counterpart is left out.
    """
    unnumbered = rows.filter(~pl.col("numbered"))
    if unnumbered.is_empty():
        return rows
    units = unnumbered.group_by("communicator").agg(pl.col("unit").n_unique().alias("units"))
    count = unnumbered.group_by("communicator", "step", "unit").len()
    uneven = (
        count.group_by("communicator", "step")
        .agg(pl.len().alias("here"), pl.col("len").n_unique().alias("kinds"))
        .join(units, on="communicator")
        .filter((pl.col("here") < pl.col("units")) | (pl.col("kinds") > 1))["communicator"]
        .unique()
    )
    if uneven.is_empty():
        return rows
    wrong = pl.col("communicator").is_in(uneven.implode()) & ~pl.col("numbered")
    parts = [rows.filter(~wrong)]
    for _, mine in rows.filter(wrong).group_by("communicator", maintain_order=True):
        parts.append(_laid(mine))
    return pl.concat(parts)


def _laid(rows: pl.DataFrame) -> pl.DataFrame:
    """One communicator's rows, numbered like those of the unit with the fewest."""
    by_unit = [part.sort("start_ps") for _, part in rows.group_by("unit", maintain_order=True)]
    shortest = min(by_unit, key=lambda part: part.height)
    reference = _ends(shortest)
    found = []
    for part in by_unit:
        first = _first(_ends(part), reference)
        if first is not None:
            number = pl.Series("number", np.arange(len(reference)))
            found.append(
                part.slice(first, len(reference)).with_columns(
                    number.cast(rows.schema["number"]), pl.lit(True).alias("numbered")
                )
            )
    return pl.concat(found)


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
