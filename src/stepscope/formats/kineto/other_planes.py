"""What has no place elsewhere and is shown anyway: unknown categories, marks, counters."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stepscope.formats.kineto.reading.trace import Trace
from stepscope.formats.kineto.slices import Slices
from stepscope.formats.xspace.plane_writer import PlaneWriter, Stat
from stepscope.schema import names


def other_planes(trace: Trace, slices: Slices) -> Iterator[PlaneWriter]:
    """A plane of events without a known meaning, and one of counters; none where there are none."""
    rows = _rows(slices)
    if len(rows):
        yield _events(trace, slices, rows)
    if trace.counters:
        yield _counters(trace)


def _rows(slices: Slices) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Events of no known kind, and waits that are on no stream."""
    other = slices.rows("other")
    waits = slices.rows("sync", "record")
    streams = np.unique(slices.place[slices.rows("kernel", "copy", "set", "scope")])
    return np.sort(np.concatenate([other, waits[~np.isin(slices.place[waits], streams)]]))


def _events(
    trace: Trace, slices: Slices, rows: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> PlaneWriter:
    """A line for each category on each thread."""
    plane = PlaneWriter(names.OTHER_EVENTS_PLANE)
    metadata = slices.name_ids(plane, rows, str)
    said = slices.text_ids(plane, slices.args.chain, rows, slices.args.json)
    category = trace.slices["category"]
    pair = category[rows].astype(np.int64) * (len(slices.places) + 1) + slices.place[rows]
    for number, one in enumerate(np.unique(pair).tolist()):
        mine = rows[pair == one]
        code, place = divmod(one, len(slices.places) + 1)
        kind = trace.category_names[code] or "marks"
        plane.line(
            number + 1,
            f"{kind} {_where(trace, slices, place)}".strip(),
            metadata=metadata.of(mine),
            start_ns=slices.start_ns[mine],
            duration_ns=slices.duration_ns[mine],
            stats=said.stat(names.ARGUMENTS, mine) + slices.other_numbers(mine),
        )
    return plane


def _where(trace: Trace, slices: Slices, place: int) -> str:
    """A thread or stream in words."""
    pid, tid = slices.places[place]
    if place in slices.place[slices.rows("kernel", "copy", "set", "scope")]:
        return f"GPU {pid} stream {tid}"
    return trace.thread_names.get((pid, tid), str(tid)).strip()


def _counters(trace: Trace) -> PlaneWriter:
    """A line for each series of each counter."""
    plane = PlaneWriter(names.TELEMETRY_PLANE)
    found = trace.counters
    labels = sorted(set(found["label"].tolist()))
    for number, label in enumerate(labels):
        mine = np.flatnonzero(found["label"] == label)
        count = len(mine)
        plane.line(
            number + 1,
            names.COUNTER_LINE,
            metadata=np.full(count, plane.name(label)),
            start_ns=found["start_ns"][mine],
            stats=[Stat(names.COUNTER_VALUE, found["value"][mine])],
        )
    return plane
