"""How often and how long each op of a host ran, and histograms of those that took most.

Names go to totals, not to events: a worker holds the columns of its recording, and little else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import polars as pl

from stepscope.columns.space import I32, I64
from stepscope.summary import histogram
from stepscope.summary.summary import HISTOGRAMS, OPS
from stepscope.tables.collectives.dcn_ops import dcn_ops, entry_mask
from stepscope.tables.core.profile import Host
from stepscope.tables.device.events import device_events
from stepscope.tables.host.events import Work, host_thread_rows, timed_events

#: Ops with totals, and of these those with histograms; the others take next to no time.
_MOST_OPS: Final = 3000
_MOST_HISTOGRAMS: Final = 250
# Events that are looked at at once.
_PIECE: Final = 1 << 18
_NOTHING: Final = np.zeros(0, dtype=np.int64)


def op_totals(host: Host, planes: list[int]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Totals by device and op (``OPS``), and histograms by op (``HISTOGRAMS``).

    Args:
        host: Its decoded recording.
        planes: Rows in ``Space.planes`` of what ran; −1 is the host itself.
    """
    parts = [_summed(*piece) for piece in _ran(host, planes)]
    device, entry, count, total, low, high = (
        np.concatenate([np.zeros(0, np.int64), *column])
        for column in zip(*(parts or [(_NOTHING,) * 6]), strict=True)
    )
    op_of, names = _ops(host, entry)
    op = op_of[entry]
    order = np.lexsort((op, device))
    device, op = device[order], op[order]
    begin = _runs(device, op)
    totals = pl.DataFrame(
        {
            "device": device[begin],
            "op": names.gather(op[begin]),
            **{
                name: add.reduceat(values[order], begin) if len(begin) else values
                for name, add, values in (
                    ("count", np.add, count),
                    ("total_ps", np.add, total),
                    ("min_ps", np.minimum, low),
                    ("max_ps", np.maximum, high),
                )
            },
        },
        schema=OPS,
    )
    by_op = totals.group_by("op").agg(pl.col("total_ps").sum())
    largest = by_op.sort("total_ps", "op", descending=[True, False])["op"].head(_MOST_OPS)
    kept = totals.filter(pl.col("op").is_in(largest.implode())).sort("device", "op")
    rank = np.full(len(names) + 1, -1, dtype=np.int32)
    place = dict(zip(names.to_list(), range(len(names)), strict=True))
    shown = [place[name] for name in largest.head(_MOST_HISTOGRAMS).to_list()]
    rank[shown] = np.arange(len(shown))
    return kept, _histograms(rank[op_of], _ran(host, planes), names.gather(shown))


def _histograms(rank: I32, ran: Iterator[tuple[I32, I32, I64]], names: pl.Series) -> pl.DataFrame:
    """Histograms of the ops that have a rank, by event metadata; names by rank."""
    size = int(histogram.bucket_of(np.asarray([np.iinfo(np.int64).max]))[0]) + 1
    counts = np.zeros(len(names) * size, dtype=np.int64)
    for _, entry, duration_ps in ran:
        mine = rank[entry]
        is_shown = mine >= 0
        bucket = histogram.bucket_of(duration_ps[is_shown])
        counts += np.bincount(mine[is_shown] * size + bucket, minlength=len(counts))
    key = np.flatnonzero(counts)
    found = {"op": names.gather(key // size), "bucket": key % size, "count": counts[key]}
    return pl.DataFrame(found, schema=HISTOGRAMS).sort("op", "bucket")


def _ran(host: Host, planes: list[int]) -> Iterator[tuple[I32, I32, I64]]:
    """By event, its place in planes, its metadata and its duration; some events at a time."""
    space = host.space
    if planes == [-1]:
        row = np.flatnonzero(timed_events(host) & space.on_lines(host_thread_rows(host).tolist()))
        length_ps = space.length_ps
        for low in range(0, len(row), _PIECE):
            some = row[low : low + _PIECE]
            device = np.zeros(len(some), dtype=np.int32)
            yield device, space.events.metadata[some], length_ps[some]
        return
    found = device_events(host)
    place = np.full(len(space.planes), -1, dtype=np.int32)
    place[planes] = np.arange(len(planes))
    # Waiting for another slice is not work; it is among the collectives.
    is_work = ~entry_mask(host, dcn_ops(host))
    for low in range(0, len(found.rows), _PIECE):
        at = slice(low, low + _PIECE)
        device, entry = place[found.device[at]], space.events.metadata[found.rows[at]]
        kept = ~found.is_container[at] & (found.work[at] != Work.COLLECTIVE) & (device >= 0)
        kept &= is_work[entry]
        yield device[kept], entry[kept], found.self_ps[at][kept]


def _summed(device: I32, entry: I32, duration_ps: I64) -> tuple[I64, ...]:
    """Device, metadata, count, total, least and most of each pair of the first two."""
    order = np.lexsort((entry, device))
    device, entry, duration_ps = device[order], entry[order], duration_ps[order]
    begin = _runs(device, entry)
    if not len(begin):
        return (_NOTHING,) * 6
    return (
        device[begin].astype(np.int64),
        entry[begin].astype(np.int64),
        np.diff(np.append(begin, len(order))),
        *(add.reduceat(duration_ps, begin) for add in (np.add, np.minimum, np.maximum)),
    )


def _ops(host: Host, entry: I64) -> tuple[I32, pl.Series]:
    """The op by event metadata, -1 for those not asked for; and the names of ops."""
    table = host.space.event_metadata.name
    codes: dict[str, int] = {}
    op_of = np.full(len(table), -1, dtype=np.int32)
    used = np.unique(entry)
    op_of[used] = [codes.setdefault(table[one], len(codes)) for one in used.tolist()]
    return op_of, pl.Series("op", list(codes), dtype=pl.String)


def _runs(device: I32 | I64, op: I32 | I64) -> I64:
    """Where runs of equal device and op begin."""
    differ = (device[1:] != device[:-1]) | (op[1:] != op[:-1])
    return np.flatnonzero(np.append(len(device) > 0, differ)[: max(len(device), 1)])
