"""A snapshot as a ``Space``: allocations of each GPU over time, by line of the program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from stepscope.columns.space import Space
from stepscope.errors import FormatError
from stepscope.formats.format import Input
from stepscope.formats.pickled import loaded
from stepscope.formats.torch_memory.held import Held, State, held, states
from stepscope.formats.torch_memory.trace import ACTIONS, I64, MemoryTrace
from stepscope.formats.xspace.line_parts import LineParts, stat_of
from stepscope.formats.xspace.plane_writer import PlaneWriter, Stat
from stepscope.formats.xspace.written import space_of
from stepscope.schema import names

TITLE: Final = "a PyTorch memory snapshot"
#: The op of what was taken before the ring of events begins, and whose line is not known.
BEFORE: Final = "Allocated before the recording"
_LACKS: Final = (
    "Imported from a memory snapshot of PyTorch. Such files hold what the allocator did and "
    "nothing that ran: no kernels, ops, steps and times of them."
)
_OOM, _SNAPSHOT = ACTIONS.index("oom"), ACTIONS.index("snapshot")
_REACH_US: Final = 1 << 41  # 25 days


def open_snapshot(pieces: Input, *, file: str) -> Space:
    """The recording in a snapshot.

    Args:
        pieces: The file.
        file: Name for reports.

    Raises:
        FormatError: It is not a snapshot, holds more than plain values, or nothing at all.
    """
    trace = MemoryTrace()
    value = loaded(pieces, title=TITLE, file=file, replace=trace.take)
    segments, rings = _parts(value)
    if segments is None:
        raise FormatError(TITLE, "it has neither segments nor device_traces", file=file)
    columns = trace.columns()
    unknown = int((columns["action"] < 0).sum())
    is_timed = _set_times(columns)
    ends = states(segments, trace)
    plane = PlaneWriter(names.HOST_PLANE)
    plane.stat(names.IMPORTED, f"{_LACKS} {' '.join(_sentences(ends))}".strip())
    devices = sorted({*ends, *(number for number, rows in enumerate(rings) if len(rows))})
    for device in devices:
        rows = rings[device] if device < len(rings) else np.zeros(0, np.int64)
        events = {name: column[rows] for name, column in columns.items()}
        _write(plane, device, events, ends.get(device, State()), trace)
    if not plane.events:
        raise FormatError(
            TITLE,
            "it has no memory in use and no history",
            file=file,
            hint="Call torch.cuda.memory._record_memory_history() before the part of interest, and "
            "_dump_snapshot() after it.",
        )
    return space_of([plane], warnings=list(_warnings(is_timed, unknown)))


def _parts(value: Any) -> tuple[Any, list[I64]]:
    """Segments, and the rows of each device's events; segments are None where it is not one."""
    if isinstance(value, list):  # before PyTorch 2.0
        return value, []
    if not isinstance(value, dict) or not {"segments", "device_traces"} & set(value):
        return None, []
    rings = value.get("device_traces")
    found = [
        np.asarray([row for row in ring if type(row) is int], np.int64)
        for ring in (rings if isinstance(rings, list) else ())
        if isinstance(ring, list)
    ]
    return value.get("segments") or [], found


def _set_times(columns: dict[str, I64]) -> bool:
    """Add ``time_ns``; False where the events have no time and their order stands for it."""
    time_us = columns["time_us"]
    is_timed = bool(len(time_us)) and bool((time_us > 0).all())
    if not is_timed:
        time_us = np.arange(len(time_us))
    middle = int(np.sort(time_us)[len(time_us) // 2]) if len(time_us) else 0
    columns["time_ns"] = np.clip(time_us, middle - _REACH_US, middle + _REACH_US) * 1000
    return is_timed


def _write(
    plane: PlaneWriter, device: int, events: dict[str, I64], state: State, trace: MemoryTrace
) -> None:
    """The line of one device: allocations and deallocations, and where memory ran out."""
    line = LineParts()
    found = held(events, state)
    if len(found.size_bytes):
        taken, given_back = plane.names(names.MEMORY_EVENTS).tolist()
        kind = np.where(found.size_bytes >= 0, taken, given_back)
        zero = np.zeros(len(kind), np.int64)
        line.add(kind, found.time_ns, zero, list(_stats(plane, device, found, state, trace)))
    for action, name in ((_OOM, "Out of memory"), (_SNAPSHOT, "Memory snapshot")):
        rows = np.flatnonzero(events["action"] == action)
        if len(rows):
            size, free = events["size"][rows], events["device_free"][rows]
            code = np.full(len(rows), plane.name(name))
            stats = [
                *stat_of(names.REQUESTED_BYTES, size, size >= 0),
                *stat_of("device_free_bytes", free, free >= 0),
            ]
            line.add(code, events["time_ns"][rows], np.zeros(len(rows), np.int64), stats)
    if len(found.size_bytes) or len(events["action"]):
        line.write(plane, device + 1, f"{names.MEMORY_LINE}{device}")


def _stats(
    plane: PlaneWriter, device: int, found: Held, state: State, trace: MemoryTrace
) -> Iterator[Stat]:
    """What the memory page reads of each allocation."""
    size = np.abs(found.size_bytes)
    count = len(size)
    yield Stat(
        names.ALLOCATOR_NAME, np.full(count, plane.text(f"torch_gpu_{device}")), is_text=True
    )
    for name, values in (
        (names.REQUESTED_BYTES, size),
        (names.ALLOCATION_BYTES, size),
        (names.ADDRESS, found.address),
        (names.BYTES_ALLOCATED, found.allocated_bytes),
        (names.BYTES_AVAILABLE, np.maximum(found.reserved_bytes - found.allocated_bytes, 0)),
        (names.PEAK_BYTES_IN_USE, np.maximum.accumulate(found.allocated_bytes)),
    ):
        yield Stat(name, values)
    line = _texts(plane, trace, found.line)
    line[: found.before][line[: found.before] == 0] = plane.text(BEFORE)
    for name, ids in (
        (names.TF_OP, line),
        (names.SOURCE_STACK, _texts(plane, trace, found.stack)),
        (names.REGION_TYPE, _texts(plane, trace, found.kind)),
    ):
        yield from stat_of(name, ids, ids > 0, is_text=True)
    if state.free_bytes:
        # Free pieces are known at the snapshot alone.
        yield Stat(names.FRAGMENTATION, np.asarray([state.fragmentation]), np.asarray([count - 1]))


def _texts(plane: PlaneWriter, trace: MemoryTrace, codes: I64) -> I64:
    """Ids on the plane of texts by code; 0 for none."""
    used, inverse = np.unique(codes, return_inverse=True)
    ids = [plane.text(trace.texts[one]) if one > 0 else 0 for one in used.tolist()]
    return np.asarray(ids or [0], np.int64)[inverse] if len(codes) else inverse


def _sentences(ends: dict[int, State]) -> Iterator[str]:
    """What each device had at the snapshot, in words."""
    for device, one in sorted(ends.items()):
        text = (
            f"At the snapshot GPU {device} had {one.reserved_bytes:,} bytes reserved in "
            f"{one.segments:,} segments, {one.allocated_bytes:,} of them in use"
        )
        if one.free_bytes:
            text += (
                f" and {one.free_bytes:,} free, of which the largest piece is "
                f"{one.largest_free_bytes:,} (fragmentation {one.fragmentation:.0%})"
            )
        yield f"{text}."


def _warnings(is_timed: bool, unknown: int) -> Iterator[str]:
    if not is_timed:
        yield "The events have no time: their order stands for it, a microsecond each."
    if unknown:
        yield f"{unknown:,} events of kinds that are not known are left out."
