"""The collectives of all recordings, joined by identity: who met whom, when, and who came last.

A meeting is one collective: (communicator, sequence number). It ends on all of its members
together, so the member that spends the least time in it came last, that time is the transfer, and
what the others spend beyond it is waiting. No clock is needed for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stepscope.columns.space import I64, Bool
from stepscope.pod.order import renumbered
from stepscope.summary.summary import Summary
from stepscope.tables.collectives.identity import SYMMETRIC

F64 = NDArray[np.float64]
#: A step counts if at least this share of the units recorded it.
QUORUM: Final = 0.95
# A collective of which less is exposed runs beside other work.
_BACKGROUND: Final = 0.1
# Numbers in this place are of recorders, and unique without the step.
_NO_STEP: Final = -1


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
        communicator: Place in ``keys``, by row.
        step: Place in ``steps``; -1 outside of all.
        start_ps, duration_ps: On the recording's own clock.
        wait_ps: Until the last member came; 0 where durations do not tell.
        stood_ps: Of that, time in which the unit did nothing else.
        before: Row of the last collective that the unit stood for and that ended before this
            began; -1 for none.
        stretch_ps: Its own time since then (since its first step began, where there is none).
        transfer_ps: By meeting.
        tells: By meeting: whether durations tell who came last.
        size: By meeting: how many members are here.
        kinds, keys, labels: By communicator.
        steps: Numbers of the steps that count.
        left_out: What does not count, and why.
    """

    unit: I64
    node: I64
    communicator: I64
    step: I64
    start_ps: I64
    duration_ps: I64
    wait_ps: I64
    stood_ps: I64
    before: I64
    stretch_ps: I64
    transfer_ps: I64
    tells: Bool
    size: I64
    kinds: tuple[str, ...]
    keys: tuple[str, ...]
    labels: tuple[str, ...]
    steps: I64
    left_out: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.unit)


def units_of(summaries: Sequence[Summary]) -> Units:
    """The units of all recordings, in order of recordings and devices."""
    recording = [place for place, one in enumerate(summaries) for _ in one.who.devices]
    device = [place for one in summaries for place in range(len(one.who.devices))]
    rank = np.asarray([one.who.rank for one in summaries], dtype=np.int64)[recording]
    hosts = [summaries[place].who.machine for place in recording]
    count: dict[str, int] = {}
    local = []
    for host in hosts:
        local.append(count.get(host, 0))
        count[host] = local[-1] + 1
    names = [summaries[place].who.devices[at] for place, at in zip(recording, device, strict=True)]
    return Units(
        recording=np.asarray(recording, dtype=np.int64),
        device=np.asarray(device, dtype=np.int64),
        host=tuple(hosts),
        name=tuple(names),
        rank=rank,
        local=np.asarray(local, dtype=np.int64),
    )


def join(summaries: Sequence[Summary]) -> Meetings:
    """Join the collectives of recordings of one job."""
    steps, left_out = _counted_steps(summaries)
    rows, communicators = _rows(summaries, steps)
    numbered = rows.with_columns(
        pl.when(pl.col("numbered")).then(_NO_STEP).otherwise(pl.col("step")).alias("in_step")
    )
    key = ["communicator", "in_step", "number"]
    joined = numbered.with_columns(
        pl.len().over(key).alias("members"),
        pl.struct(*key, "unit").is_duplicated().alias("twice"),
    )
    twice = int(joined["twice"].sum())
    if twice:
        left_out = (*left_out, f"{twice:,} collectives whose number occurs twice on a device")
    joined = joined.filter(~pl.col("twice") & (pl.col("members") > 1))
    joined = joined.with_columns((pl.struct(*key).rank("dense") - 1).alias("node"))
    joined = joined.sort("unit", "start_ps", "node")
    return _measured(joined, summaries, communicators, steps, left_out)


def _counted_steps(summaries: Sequence[Summary]) -> tuple[I64, tuple[str, ...]]:
    """The steps that nearly all units recorded, and which others there are."""
    parts = [one.steps.select("device", "step").unique() for one in summaries]
    count = pl.concat(parts).group_by("step").len().sort("step") if parts else pl.DataFrame()
    if count.is_empty():
        return np.zeros(0, dtype=np.int64), ()
    units = sum(len(one.who.devices) for one in summaries if one.steps.height)
    is_common = count["len"].to_numpy() >= QUORUM * units
    common: I64 = count["step"].to_numpy()[is_common]
    if not is_common.any():
        note = "No step was recorded by 95 % of the devices; all steps of each count."
        return count["step"].to_numpy(), (note,)
    gone = int((~is_common).sum())
    note = f"{gone:,} of {count.height:,} steps were recorded by less than 95 % of the devices"
    return common, ((note,) if gone else ())


def _rows(summaries: Sequence[Summary], steps: I64) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The collectives of all in one table, with units and communicators of the pod."""
    names = (
        pl.concat([one.communicators for one in summaries])
        .unique("key", keep="first", maintain_order=True)
        .sort("key")
        .with_row_index("communicator")
    )
    place = dict(zip(names["key"].to_list(), range(names.height), strict=True))
    parts, first = [], 0
    for one in summaries:
        keys = [place[key] for key in one.communicators["key"].to_list()]
        table = one.meetings
        parts.append(
            table.select(
                (pl.col("device").cast(pl.Int64) + first).alias("unit"),
                pl.Series("communicator", keys, pl.Int64)
                .gather(table["communicator"])
                .alias("communicator"),
                "number",
                one.communicators["numbered"].gather(table["communicator"]).alias("numbered"),
                "step",
                "start_ps",
                "duration_ps",
                "exposed_ps",
            )
        )
        first += len(one.who.devices)
    rows = renumbered(pl.concat(parts))
    if len(steps):
        rows = rows.filter(pl.col("step").is_in(steps))
    return rows, names


def _measured(
    rows: pl.DataFrame,
    summaries: Sequence[Summary],
    communicators: pl.DataFrame,
    steps: I64,
    left_out: tuple[str, ...],
) -> Meetings:
    node, duration = rows["node"].to_numpy().astype(np.int64), rows["duration_ps"].to_numpy()
    size = np.bincount(node) if len(node) else np.zeros(0, dtype=np.int64)
    transfer = np.full(len(size), np.iinfo(np.int64).max)
    np.minimum.at(transfer, node, duration)
    communicator = rows["communicator"].to_numpy()
    kinds = communicators["kind"].to_list()
    of_kind = np.asarray([kind in SYMMETRIC for kind in kinds] or [False])
    is_pair = np.asarray([kind == "send_recv" for kind in kinds] or [False])
    tells = np.zeros(len(size), dtype=np.bool_)
    # A message that both sides wait for ends on both; one of many to many need not.
    tells[node] = of_kind[communicator] | (is_pair[communicator] & (size[node] == 2))
    wait = np.where(tells[node], duration - transfer[node], 0) if len(node) else duration
    unit, start = rows["unit"].to_numpy(), rows["start_ps"].to_numpy()
    exposed = rows["exposed_ps"].to_numpy()
    # What runs in the background is not what the unit comes from.
    stood = exposed >= _BACKGROUND * duration
    before, stretch = _stretches(unit, start, start + duration, stood, _first_begin(summaries))
    return Meetings(
        unit=unit,
        node=node,
        communicator=communicator,
        step=_place(steps, rows["step"].to_numpy()),
        start_ps=start,
        duration_ps=duration,
        wait_ps=wait,
        stood_ps=np.minimum(wait, exposed),
        before=before,
        stretch_ps=stretch,
        transfer_ps=transfer,
        tells=tells,
        size=size,
        kinds=tuple(kinds),
        keys=tuple(communicators["key"].to_list()),
        labels=tuple(communicators["label"].to_list()),
        steps=steps,
        left_out=left_out,
    )


def _place(steps: I64, step: I64) -> I64:
    if not len(steps):
        return np.full(len(step), -1, dtype=np.int64)
    place = np.minimum(np.searchsorted(steps, step), len(steps) - 1)
    found: I64 = np.where(steps[place] == step, place, -1)
    return found


def _first_begin(summaries: Sequence[Summary]) -> I64:
    """By unit, where its first step begins; 0 without steps."""
    found = []
    for one in summaries:
        first = dict(one.steps.group_by("device").agg(pl.col("begin_ps").min()).iter_rows())
        found += [first.get(place, 0) for place in range(len(one.who.devices))]
    return np.asarray(found, dtype=np.int64)


def _stretches(unit: I64, start: I64, end: I64, stood: Bool, begin: I64) -> tuple[I64, I64]:
    """The row that ended last before each row began on its unit, and the time since then."""
    before = np.full(len(unit), -1, dtype=np.int64)
    if not len(unit):
        return before, before
    # Collectives of several streams overlap: what counts is the latest end so far.
    order = np.lexsort((end, unit))
    order = order[stood[order]]
    ends, owner = end[order], unit[order]
    used = np.unique(unit)
    row_at = np.searchsorted(unit, [*used, used[-1] + 1])
    end_at = np.searchsorted(owner, [*used, used[-1] + 1])
    for place in range(len(used)):
        mine, known = slice(*row_at[place : place + 2]), slice(*end_at[place : place + 2])
        last = np.searchsorted(ends[known], start[mine], side="right") - 1
        if known.start < known.stop:
            source = order[known][np.maximum(last, 0)]
            before[mine] = np.where(last >= 0, source, -1)
    since = np.where(before >= 0, end[before], np.minimum(begin[unit], start))
    return before, start - since
