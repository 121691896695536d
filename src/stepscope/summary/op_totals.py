"""How often and how long each op of a host ran.

Names go to totals, not to events: a worker holds the columns of its recording, and little else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from stepscope.columns.space import I32, I64
from stepscope.summary.summary import OPS, Columns, columns_of
from stepscope.tables.collectives.dcn_ops import dcn_ops, entry_mask
from stepscope.tables.core.profile import Host
from stepscope.tables.device.events import device_events
from stepscope.tables.host.events import Work, host_thread_rows, timed_events

#: Ops with totals; the others take next to no time.
_MOST_OPS: Final = 3000
# Events that are looked at at once.
_PIECE: Final = 1 << 18
_NOTHING: Final = np.zeros(0, dtype=np.int64)


def op_totals(host: Host, planes: list[int]) -> Columns:
    """Totals by device and op (``OPS``).

    Args:
        host: Its decoded recording.
        planes: Rows in ``Space.planes`` of what ran; −1 is the host itself.
    """
    parts = [_summed(*piece) for piece in _ran(host, planes)]
    device, entry, count, total, low, high = (
        np.concatenate([np.zeros(0, np.int64), *column])
        for column in zip(*(parts or [(_NOTHING,) * 6]), strict=True)
    )
    table = host.space.event_metadata.name
    used, place = np.unique(entry, return_inverse=True)
    said = [table[one] for one in used.tolist()]
    names = sorted(set(said))
    codes = {name: code for code, name in enumerate(names)}
    op = np.asarray([codes[name] for name in said], dtype=np.int64)[place]
    of_op = np.zeros(len(names), dtype=np.int64)
    np.add.at(of_op, op, total)
    is_kept = np.zeros(len(names), dtype=np.bool_)
    is_kept[np.argsort(-of_op, kind="stable")[:_MOST_OPS]] = True
    order = np.lexsort((op, device))
    order = order[is_kept[op[order]]]
    device, op = device[order], op[order]
    begin = _runs(device, op)
    return columns_of(
        OPS,
        {
            "device": device[begin],
            "op": [names[code] for code in op[begin].tolist()],
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
    )


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


def _runs(device: I32 | I64, op: I32 | I64) -> I64:
    """Where runs of equal device and op begin."""
    differ = (device[1:] != device[:-1]) | (op[1:] != op[:-1])
    return np.flatnonzero(np.append(len(device) > 0, differ)[: max(len(device), 1)])
