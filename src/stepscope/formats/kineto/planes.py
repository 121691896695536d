"""A Kineto trace as planes: the host's threads, GPUs with their streams, Python's calls.

What every tool needs is written in the words it knows: ops in the grammar of op names, steps with
``step_num``, kernels with ``kernel_details`` and ``correlation_id``, allocations with the state
they left, forward ops as producers of what their backward ops consume.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from stepscope.columns import by_place
from stepscope.formats.kineto.device_planes import device_planes
from stepscope.formats.kineto.host_plane import host_plane
from stepscope.formats.kineto.kinds_by_name import tell_kinds
from stepscope.formats.kineto.links import links
from stepscope.formats.kineto.names import frame_name
from stepscope.formats.kineto.reading.trace import Trace
from stepscope.formats.kineto.session_timeline import OF_ONE_RUN
from stepscope.formats.kineto.slices import Slices, row_numbers
from stepscope.formats.kineto.steps import StepCount, StepMark
from stepscope.formats.kineto.viewer_planes import is_from_viewer, viewer_planes
from stepscope.formats.xspace.plane_writer import PlaneWriter, Stat
from stepscope.kernels.memory import give_back
from stepscope.schema import names

_SAID_ELSEWHERE: Final = frozenset({"Python parent id", "finished"})


def to_xspace(
    trace: Trace,
    *,
    ops: bool = True,
    count: StepCount | None = None,
    marks: Sequence[StepMark] = (),
    clock_rate_khz: Mapping[int, int] | None = None,
) -> tuple[bytes, int]:
    """The trace as an XSpace, and the number of events in it; arguments as of ``planes_of``."""
    planes = planes_of(trace, ops=ops, count=count, marks=marks, clock_rate_khz=clock_rate_khz)
    return b"".join(plane.xspace() for plane in planes), sum(plane.events for plane in planes)


def planes_of(
    trace: Trace,
    *,
    ops: bool = True,
    count: StepCount | None = None,
    marks: Sequence[StepMark] = (),
    clock_rate_khz: Mapping[int, int] | None = None,
) -> list[PlaneWriter]:
    """The trace as planes.

    Args:
        trace: The recording.
        ops: Whether ops are kept (else only annotations and what ran on devices).
        count: Steps of the chunks before: the optimizer's steps become marked steps where nothing
            else is. None: they do not.
        marks: Steps that the program's loop reported.
        clock_rate_khz: Highest clock of each GPU, where the caller knows it.
    """
    slices = Slices(trace)
    if is_from_viewer(trace):
        return list(viewer_planes(trace, slices))
    note = tell_kinds(trace, slices)
    host = host_plane(trace, slices, ops=ops, count=count, marks=marks)
    host.stat(names.NAMED_OPS, 1)
    if note:
        host.stat(names.IMPORTED, note)
        host.stat(names.PROGRAM_RANGES, 1)
    give_back()
    found = links(slices, of_ops=note == OF_ONE_RUN)
    give_back()
    devices = device_planes(trace, slices, found, clock_rate_khz or {})
    return [host, *devices, *_python(slices), *_other_planes(trace, slices)]


def _python(slices: Slices) -> Iterator[PlaneWriter]:
    """Python's calls on a plane of their own, a line for each thread that made them."""
    rows = slices.rows("python")
    if not len(rows):
        return
    plane = PlaneWriter(names.PYTHON_CALLS_PLANE)
    metadata = slices.name_ids(plane, rows, frame_name)
    args = slices.args
    own = row_numbers(*args.rows("Python id"))
    parent = row_numbers(*args.rows("Python parent id"))
    said = slices.text_ids(plane, args.chain, rows, lambda one: args.json(one, _SAID_ELSEWHERE))
    for place, mine in by_place(slices.place, rows):
        # Some versions lose the thread of Python's calls: it is then (0, 0).
        lost = slices.process and slices.places[place] == (0, 0)
        number, name = (slices.process, "python") if lost else slices.thread(place)
        plane.line(
            number,
            name,
            metadata=metadata.of(mine),
            start_ns=slices.start_ns[mine],
            duration_ns=slices.duration_ns[mine],
            stats=[
                *own.stat(names.PYTHON_ID, mine),
                *parent.stat(names.PYTHON_PARENT_ID, mine),
                *said.stat(names.ARGUMENTS, mine),
            ],
        )
    yield plane


def _other_planes(trace: Trace, slices: Slices) -> Iterator[PlaneWriter]:
    """A plane of events and marks of unknown categories, and one of counters, if there are any."""
    rows = _untold_rows(slices)
    if len(rows):
        yield _event_lines(trace, slices, rows)
    if trace.counters:
        yield _counters(trace)


def _untold_rows(slices: Slices) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Events of no known kind, and waits that are on no stream."""
    other = slices.rows("other")
    waits = slices.rows("sync", "record")
    streams = np.unique(slices.place[slices.rows("kernel", "copy", "set", "scope")])
    return np.sort(np.concatenate([other, waits[~np.isin(slices.place[waits], streams)]]))


def _event_lines(
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
            f"{kind} {_thread_label(trace, slices, place)}".strip(),
            metadata=metadata.of(mine),
            start_ns=slices.start_ns[mine],
            duration_ns=slices.duration_ns[mine],
            stats=said.stat(names.ARGUMENTS, mine) + slices.other_numbers(mine),
        )
    return plane


def _thread_label(trace: Trace, slices: Slices, place: int) -> str:
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
