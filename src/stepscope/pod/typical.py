"""How long each stretch of own work typically takes: on peers, which do the same in a step.

Peers are the units of the same stage whose steps have the same sequence of collectives (kind and
size): the last stage of a pipeline is compared with last stages. The typical stretch is the lower
median over the peers of each one's median over steps, so that of two units the faster is typical,
and a unit that is slow in every step, or all units in one step, are not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from stepscope.columns.space import I64
from stepscope.pod.meetings import Meetings


@dataclass(frozen=True, eq=False, slots=True)
class Typical:
    """What is typical, by row or meeting of ``Meetings``.

    Attributes:
        role: By unit: which units are its peers.
        stretch_ps: By row; the row's own where it has no peers.
        transfer_ps: By meeting: the median of its class: kind, size, how often its communicator
            meets in a step, and the how-manieth time this is.
    """

    role: I64
    stretch_ps: I64
    transfer_ps: I64


def typical_of(found: Meetings, stage: I64) -> Typical:
    """Compare every stretch with those of peers, every transfer with those of its class.

    Args:
        found: The meetings.
        stage: By unit, its stage in a pipeline (-1: none).
    """
    rows = pl.DataFrame(
        {
            "unit": found.unit,
            "step": found.step,
            "what": _what(found, stage),
            "stretch": found.stretch_ps,
            "start": found.start_ps,
        }
    ).with_row_index("row")
    rows = rows.with_columns(
        (pl.col("start").rank("ordinal") - 1).over("unit", "step").alias("nth")
    )
    sequence = pl.struct("nth", "what").hash(seed=7).sum()
    of_step = rows.group_by("unit", "step").agg(sequence.alias("sequence"))
    usual = of_step.group_by("unit", "sequence").len().sort("unit", "len", "sequence")
    usual = usual.group_by("unit").last().select("unit", pl.col("sequence").alias("role"))
    rows = rows.join(of_step, on=["unit", "step"], how="left").join(usual, on="unit", how="left")
    # Steps in which a unit did something else compare with nothing.
    like = rows.filter(pl.col("sequence") == pl.col("role"))
    by_unit = like.group_by("role", "nth", "unit").agg(pl.col("stretch").median())
    middle = by_unit.group_by("role", "nth").agg(
        pl.col("stretch").quantile(0.5, "lower").cast(pl.Int64).alias("typical")
    )
    is_like = pl.col("sequence") == pl.col("role")
    stretch = (
        rows.join(middle, on=["role", "nth"], how="left")
        .select("row", pl.when(is_like).then("typical").otherwise("stretch").alias("typical"))
        .sort("row")["typical"]
        .fill_null(strategy="zero")
        .to_numpy()
    )
    role = np.full(len(stage), -1, dtype=np.int64)
    place = usual["role"].rank("dense").to_numpy().astype(np.int64) - 1
    role[usual["unit"].to_numpy()] = place
    return Typical(role, stretch, _transfers(found))


def _what(found: Meetings, stage: I64) -> I64:
    """What a row does: kind of collective, number of members, and the stage it is on."""
    kinds = np.unique(np.asarray(found.kinds or [""]), return_inverse=True)[1]
    if not len(found):
        return np.zeros(0, dtype=np.int64)
    what: I64 = (kinds[found.communicator] << 40) + (found.size[found.node] << 16)
    what += stage[found.unit] + 1
    return what


def _transfers(found: Meetings) -> I64:
    """By meeting, the median transfer of its class."""
    if not len(found):
        return found.transfer_ps
    rows = pl.DataFrame(
        {
            "node": found.node,
            "communicator": found.communicator,
            "step": found.step,
            "start": found.start_ps,
        }
    )
    table = rows.group_by("node").first().sort("node")
    table = table.with_columns(
        pl.Series("kind", np.asarray(found.kinds)).gather(table["communicator"]).alias("kind"),
        pl.Series("size", found.size),
        pl.Series("transfer", found.transfer_ps),
    )
    meets = ["communicator", "step"]
    # Meetings are numbered by communicator, step and number: their order is that of numbers.
    table = table.with_columns(
        pl.col("node").rank("ordinal").over(meets).alias("nth"), pl.len().over(meets).alias("often")
    )
    middle = pl.col("transfer").quantile(0.5, "lower").over("kind", "size", "often", "nth")
    usual: I64 = table.select(middle.cast(pl.Int64))["transfer"].to_numpy()
    return usual
