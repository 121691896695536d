"""A table of a job's operations: one row each, with its step, replica, stage, type and times.

Such tables are what recorders inside of training frameworks write. What a table lacks and the
rest implies is filled in; steps that lack operations which the others have are left out, and
reported.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from stepscope.columns.space import I64
from stepscope.errors import StepscopeError
from stepscope.pod.what_if.replay import F64
from stepscope.records import dataclass

_NEEDED: Final = ("optype", "start_ts", "duration")
_WHOLE: Final = ("step", "dp_rank", "stage", "rank", "seq_id", "mc", "gmc")
_HINT: Final = (
    "Give a table with one row per operation and the columns optype, start_ts and duration "
    "(seconds), and step, dp_rank, stage, rank, seq_id, mc and gmc where the job has them."
)
_KEY: Final = ("optype", "seq_id", "stage")


@dataclass(frozen=True, eq=False, slots=True)
class Operations:
    """The operations of complete steps, as arrays over one schedule.

    Attributes:
        kind: By operation: its type, such as "forward-compute".
        seq: By operation: the how-manieth of its type on its stage in a step.
        stage: By operation: place of its stage in ``stages``.
        chunk: By operation: which of its stage's parts of the model it works on.
        model_chunk: By operation: which part of the whole model that is; -1 where not said.
        start_s, end_s: float64[operations, steps, replicas], from the step's begin.
        steps, replicas, stages: Their numbers in the table.
        ranks: int64[stages, replicas]; -1 where not said.
        left_out: What of the table is not here, and why.
    """

    kind: tuple[str, ...]
    seq: I64
    stage: I64
    chunk: I64
    model_chunk: I64
    start_s: F64
    end_s: F64
    steps: I64
    replicas: I64
    stages: I64
    ranks: I64
    left_out: tuple[str, ...]


def read_operations(table: pl.DataFrame, known: frozenset[str], where: str = "") -> Operations:
    """The complete steps of a table.

    Args:
        table: One row per operation; times in seconds.
        known: Types of operations that a schedule has a place for.
        where: Where the table is from, for errors.

    Raises:
        StepscopeError: It is no such table, or no step in it is complete.
    """
    left_out: list[str] = []
    rows = _typed(table, where)
    foreign = rows.filter(~pl.col("optype").is_in(list(known)))
    if foreign.height:
        kinds = ", ".join(sorted(foreign["optype"].unique().to_list())[:8])
        left_out.append(f"{foreign.height:,} operations of unknown types: {kinds}")
        rows = rows.filter(pl.col("optype").is_in(list(known)))
    if rows.is_empty():
        raise _refused("This table has no operation of a known type.", where)
    rows = _one_rank(rows, left_out)
    rows = _numbered(rows, where)
    rows = _complete(rows, left_out, where)
    return _to_arrays(rows, tuple(left_out))


def _refused(what: str, where: str, why: str = "") -> StepscopeError:
    return StepscopeError(what, where=where, why=why, hint=_HINT, slug="no-operations")


def _typed(table: pl.DataFrame, where: str) -> pl.DataFrame:
    """The columns in one type each; those that may be absent with what their absence means."""
    absent = [name for name in _NEEDED if name not in table.columns]
    if absent:
        raise _refused(
            "This is not a table of operations.", where, f"It lacks {', '.join(absent)}."
        )
    if table.is_empty():
        raise _refused("This table of operations is empty.", where)
    try:
        rows = table.select(
            pl.col("optype").cast(pl.String),
            pl.col("start_ts", "duration").cast(pl.Float64),
            *(pl.col(name).cast(pl.Int64) for name in _WHOLE if name in table.columns),
        )
    except pl.exceptions.PolarsError as error:
        first = str(error).splitlines()[0]
        raise _refused("A column of this table has an unusable type.", where, first) from error
    times = rows.select(
        (
            pl.col("start_ts").is_finite()
            & (pl.col("duration") >= 0)
            & pl.col("duration").is_finite()
        )
        .fill_null(False)
        .all()
    ).item()
    if not times:
        raise _refused("This table has operations without a begin or a duration.", where)
    needed = [name for name in ("optype", "step", "dp_rank", "stage") if name in rows.columns]
    empty = [name for name in needed if rows[name].null_count()]
    if empty:
        raise _refused("This table has operations without a place.", where, f"Empty: {empty[0]}.")
    return _placed(rows)


def _placed(rows: pl.DataFrame) -> pl.DataFrame:
    """Every coordinate, whether the table has it or not."""
    for name in ("step", "stage"):
        if name not in rows.columns:
            rows = rows.with_columns(pl.lit(0, pl.Int64).alias(name))
    if "dp_rank" not in rows.columns:
        replica = pl.lit(0)
        if "rank" in rows.columns:
            replica = pl.col("rank").rank("dense").over("stage") - 1
        rows = rows.with_columns(replica.cast(pl.Int64).alias("dp_rank"))
    fill = {"rank": -1, "mc": 0, "gmc": -1}
    return rows.with_columns(
        pl.col(name).fill_null(value)
        if name in rows.columns
        else pl.lit(value, pl.Int64).alias(name)
        for name, value in fill.items()
    )


def _one_rank(rows: pl.DataFrame, left_out: list[str]) -> pl.DataFrame:
    """One rank of each stage and replica: tensor-parallel ranks run in step."""
    first = pl.col("rank").min().over("dp_rank", "stage")
    kept = rows.filter(pl.col("rank") == first)
    if kept.height < rows.height:
        gone = rows["rank"].n_unique() - kept["rank"].n_unique()
        left_out.append(f"{gone:,} ranks that share stage and replica with another")
    return kept


def _numbered(rows: pl.DataFrame, where: str) -> pl.DataFrame:
    lane = ["step", "dp_rank", "stage", "optype"]
    if "seq_id" not in rows.columns or rows["seq_id"].null_count():
        order = pl.col("start_ts").rank("ordinal").over(lane) - 1
        rows = rows.with_columns(order.cast(pl.Int64).alias("seq_id"))
    if rows.select(pl.struct(*lane, "seq_id").is_duplicated().any()).item():
        why = "Two rows have the same step, replica, stage, type and number."
        raise _refused("This table has an operation twice.", where, why)
    return rows


def _complete(rows: pl.DataFrame, left_out: list[str], where: str) -> pl.DataFrame:
    """The steps in which all replicas do what most of them do; others are left out, and said."""
    lanes = rows.group_by("step", "dp_rank").agg(
        pl.len().alias("size"), pl.struct(*_KEY).hash(seed=1).sum().alias("content")
    )
    # Of as frequent ones the largest: what lacks something is the exception.
    usual = lanes.group_by("size", "content").len().sort("len", "size", "content", descending=True)
    lanes = lanes.with_columns(
        is_usual=(pl.col("size") == usual["size"][0]) & (pl.col("content") == usual["content"][0])
    )
    # A replica that is hardly ever complete would take all steps with it.
    by_replica = lanes.group_by("dp_rank").agg(pl.col("is_usual").sum())
    most = by_replica["is_usual"].max()
    replicas = by_replica.filter(pl.col("is_usual") * 2 >= most)["dp_rank"]
    gone = sorted(set(rows["dp_rank"].unique().to_list()) - set(replicas.to_list()))
    if gone:
        left_out.append(f"replicas that lack operations: {', '.join(map(str, gone[:8]))}")
    usable = lanes.filter(pl.col("is_usual") & pl.col("dp_rank").is_in(replicas.implode()))
    counted = usable.group_by("step").len().filter(pl.col("len") == len(replicas))
    all_steps = rows["step"].n_unique()
    if counted.is_empty():
        why = f"In none of its {all_steps:,} steps all replicas did the same operations."
        raise _refused("This table has no complete step.", where, why)
    if counted.height < all_steps:
        left_out.append(f"{all_steps - counted.height:,} of {all_steps:,} steps lack operations")
    return rows.filter(
        pl.col("step").is_in(counted["step"].implode())
        & pl.col("dp_rank").is_in(replicas.implode())
    )


def _to_arrays(rows: pl.DataFrame, left_out: tuple[str, ...]) -> Operations:
    origin = pl.col("start_ts").min().over("step")
    rows = rows.with_columns(start=pl.col("start_ts") - origin).sort(*_KEY, "step", "dp_rank")
    steps, replicas = (np.sort(rows[name].unique().to_numpy()) for name in ("step", "dp_rank"))
    shape = (-1, len(steps), len(replicas))
    start = rows["start"].to_numpy().reshape(shape)
    duration = rows["duration"].to_numpy().reshape(shape)
    first = rows[:: len(steps) * len(replicas)]
    stages, stage = np.unique(first["stage"].to_numpy(), return_inverse=True)
    ranks = np.full((len(stages), len(replicas)), -1, dtype=np.int64)
    known = rows.select("stage", "dp_rank", "rank").unique(["stage", "dp_rank"], keep="first")
    at = np.searchsorted(stages, known["stage"]), np.searchsorted(replicas, known["dp_rank"])
    ranks[at] = known["rank"].to_numpy()
    return Operations(
        kind=tuple(first["optype"].to_list()),
        seq=first["seq_id"].to_numpy(),
        stage=stage.astype(np.int64),
        chunk=first["mc"].to_numpy(),
        model_chunk=first["gmc"].to_numpy(),
        start_s=start,
        end_s=start + duration,
        steps=steps,
        replicas=replicas,
        stages=stages,
        ranks=ranks,
        left_out=left_out,
    )
