"""A snapshot as a ``Space``: allocations of each GPU over time, by line of the program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import I32, Space
from stepscope.errors import FormatError
from stepscope.formats.format import Input
from stepscope.formats.packed import narrow
from stepscope.formats.pickled import loaded, named_rows
from stepscope.formats.torch_memory.held import Held, State, held, states
from stepscope.formats.torch_memory.trace import ACTIONS, I64, MemoryTrace
from stepscope.formats.xspace.line_parts import LineParts, stat_of
from stepscope.formats.xspace.plane_writer import PlaneWriter, Stat
from stepscope.formats.xspace.written import space_of
from stepscope.kernels.memory import give_back
from stepscope.quantities import share_words
from stepscope.schema import names

TITLE: Final = "a PyTorch memory snapshot"
_LACKS: Final = (
    "Imported from a memory snapshot of PyTorch. Such files hold what the allocator did and "
    "nothing that ran: no kernels, ops, steps and times of them."
)
_OOM, _SNAPSHOT = ACTIONS.index("oom"), ACTIONS.index("snapshot")
_REACH_US: Final = 1 << 41  # 25 days
_MAX_DEVICES: Final = 128  # PyTorch numbers the devices of a process with 7 bits (DeviceIndex)


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
    columns = trace.columns()
    segments, rings = _parts(value)
    if segments is None:
        raise FormatError(TITLE, "it has neither segments nor device_traces", file=file)
    rings, strange = _rows(rings, len(columns["action"]))
    del value
    unknown = int((columns["action"] < 0).sum())
    is_timed = _set_times(columns)
    ends = states(segments, trace)
    devices = sorted({*ends, *(number for number, rows in enumerate(rings) if len(rows))})
    if devices and devices[-1] >= _MAX_DEVICES:
        raise FormatError(
            TITLE,
            f"it names GPU {devices[-1]:,}, and a process of PyTorch has at most {_MAX_DEVICES}",
            file=file,
        )
    plane = PlaneWriter(names.HOST_PLANE)
    ran_out = columns["size"][columns["action"] == _OOM]
    plane.stat(names.IMPORTED, f"{_LACKS} {' '.join(_sentences(ends, ran_out))}".strip())
    plane.stat(names.WRITTEN_BY, "PyTorch")
    _write_all(plane, columns, devices, rings, ends, trace)
    give_back()  # the recording needs the room
    if not plane.events:
        raise FormatError(
            TITLE,
            "it has no memory in use and no history",
            file=file,
            hint="Call torch.cuda.memory._record_memory_history() before the part of interest, and "
            "_dump_snapshot() after it.",
        )
    return space_of([plane], warnings=list(_warnings(is_timed, unknown, strange)))


def _write_all(
    plane: PlaneWriter,
    columns: dict[str, NDArray[Any]],
    devices: list[int],
    rings: list[I64],
    ends: dict[int, State],
    trace: MemoryTrace,
) -> None:
    """The line of each device; the columns go on the way, being as large as what is written."""
    count = len(columns["action"])
    nothing = {name: np.zeros(0, one.dtype) for name, one in columns.items()}
    for device in devices:
        rows = rings[device] if device < len(rings) else np.zeros(0, np.int64)
        is_all = len(rows) == count and bool((rows[1:] > rows[:-1]).all())
        events = columns if is_all else {name: one[rows] for name, one in columns.items()}
        _write(plane, device, events, rows, ends.get(device, State()), trace)
        if is_all:  # no other device has any
            columns = dict(nothing)


def _parts(value: Any) -> tuple[Any, list[Any]]:
    """Segments, and the history of each device; segments are None where it is not a snapshot."""
    if isinstance(value, list):  # before PyTorch 2.0
        return value, []
    if not isinstance(value, dict) or not {"segments", "device_traces"} & set(value):
        return None, []
    rings = value.get("device_traces")
    return value.get("segments") or [], rings if isinstance(rings, list) else []


def _rows(rings: list[Any], count: int) -> tuple[list[I64], int]:
    """The rows of each device's events, and how many entries and events those leave out.

    An event's row stands for it in its list, where a broken file may have numbers of its own: each
    row counts once.
    """
    is_taken = np.zeros(count, bool)
    found, strange = [], 0
    for ring in rings:
        entries = ring if isinstance(ring, list) else []
        listed, others = named_rows(entries, count)
        if (listed[1:] > listed[:-1]).all():
            rows = listed
        else:
            rows = listed[np.sort(np.unique(listed, return_index=True)[1])]
        rows = rows[~is_taken[rows]]
        is_taken[rows] = True
        strange += len(listed) - len(rows) + others + (ring is not entries)
        found.append(rows)
    return found, strange + int((~is_taken).sum())


def _set_times(columns: dict[str, NDArray[Any]]) -> bool:
    """``time_ns`` for ``time_us``; False where the events have no time, but their order."""
    time_us = columns.pop("time_us")
    is_timed = bool(len(time_us)) and bool((time_us > 0).all())
    if not is_timed:
        time_us = np.arange(len(time_us))
    middle = int(np.sort(time_us)[len(time_us) // 2]) if len(time_us) else 0
    columns["time_ns"] = np.clip(time_us, middle - _REACH_US, middle + _REACH_US) * 1000
    return is_timed


def _write(
    plane: PlaneWriter,
    device: int,
    events: dict[str, NDArray[Any]],
    row_of: I64,
    state: State,
    trace: MemoryTrace,
) -> None:
    """The line of one device: allocations and deallocations, and where memory ran out."""
    line = LineParts()
    said = list(_said(events, row_of, trace))
    count = len(events["action"])
    found = held(events, state)
    if len(found.size_bytes):
        taken, given_back = plane.names(names.MEMORY_EVENTS).tolist()
        kind = np.where(found.size_bytes >= 0, taken, given_back).astype(np.int32)
        zero = np.zeros(len(kind), np.int8)
        line.add(kind, found.time_ns, zero, list(_stats(plane, device, found, state, trace)))
    for name, time_ns, stats in said:
        code = np.full(len(time_ns), plane.name(name), np.int32)
        line.add(code, time_ns, np.zeros(len(time_ns), np.int8), stats)
    is_any = bool(len(found.size_bytes) or count)
    del found
    if is_any:
        line.write(plane, device + 1, f"{names.MEMORY_LINE}{device}")


def _said(
    events: dict[str, NDArray[Any]], row_of: I64, trace: MemoryTrace
) -> Iterator[tuple[str, I64, list[Stat]]]:
    """Where memory ran out and where the snapshot is: name, times and stats."""
    for action, name in ((_OOM, "Out of memory"), (_SNAPSHOT, "Memory snapshot")):
        rows = np.flatnonzero(events["action"] == action)
        if len(rows):
            size = events["size"][rows]
            free = np.asarray([trace.device_free.get(one, -1) for one in row_of[rows].tolist()])
            stats = [
                *stat_of(names.REQUESTED_BYTES, size, size >= 0),
                *stat_of("device_free_bytes", free, free >= 0),
            ]
            yield name, events["time_ns"][rows], stats


def _stats(
    plane: PlaneWriter, device: int, found: Held, state: State, trace: MemoryTrace
) -> Iterator[Stat]:
    """What the memory page reads of each allocation."""
    size = narrow(np.abs(found.size_bytes))
    count = len(size)
    allocator = np.broadcast_to(np.int32(plane.text(f"torch_gpu_{device}")), count)
    yield Stat(names.ALLOCATOR_NAME, allocator, is_text=True)
    for name, values in (
        (names.REQUESTED_BYTES, size),
        (names.ALLOCATION_BYTES, size),
        (names.ADDRESS, found.address),
        (names.BYTES_ALLOCATED, narrow(found.allocated_bytes)),
        (
            names.BYTES_AVAILABLE,
            narrow(np.maximum(found.reserved_bytes - found.allocated_bytes, 0)),
        ),
        (names.PEAK_BYTES_IN_USE, narrow(np.maximum.accumulate(found.allocated_bytes))),
    ):
        yield Stat(name, values)
    line = _texts(plane, trace, found.line)
    line[: found.before][line[: found.before] == 0] = plane.text(names.ALLOCATED_BEFORE)
    for name, ids in (
        (names.TF_OP, line),
        (names.SOURCE_STACK, _texts(plane, trace, found.stack)),
        (names.REGION_TYPE, _texts(plane, trace, found.kind)),
    ):
        yield from stat_of(name, ids, ids > 0, is_text=True)
    if state.free_bytes:
        # Free pieces are known at the snapshot alone.
        yield Stat(names.FRAGMENTATION, np.asarray([state.fragmentation]), np.asarray([count - 1]))


def _texts(plane: PlaneWriter, trace: MemoryTrace, codes: I32) -> I32:
    """Ids on the plane of texts by code; 0 for none."""
    used, inverse = np.unique(codes, return_inverse=True)
    ids = [plane.text(trace.texts[one]) if one > 0 else 0 for one in used.tolist()]
    return np.asarray(ids or [0], np.int32)[inverse] if len(codes) else inverse.astype(np.int32)


def _sentences(ends: dict[int, State], ran_out_bytes: I64) -> Iterator[str]:
    """Whether memory ran out, and what each device had at the snapshot, in words."""
    if len(ran_out_bytes):
        often = "once" if len(ran_out_bytes) == 1 else f"{len(ran_out_bytes):,} times"
        last = int(ran_out_bytes[-1])
        yield f"Memory ran out {often}: {last:,} bytes were asked for the last time."
    for device, one in sorted(ends.items()):
        text = (
            f"At the snapshot GPU {device} had {one.reserved_bytes:,} bytes reserved in "
            f"{one.segments:,} segments, {one.allocated_bytes:,} of them in use"
        )
        if one.free_bytes:
            text += (
                f" and {one.free_bytes:,} free, of which the largest piece is "
                f"{one.largest_free_bytes:,} (fragmentation {share_words(one.fragmentation)})"
            )
        yield f"{text}."


def _warnings(is_timed: bool, unknown: int, strange: int) -> Iterator[str]:
    if not is_timed:
        yield "The events have no time: their order stands for it, a microsecond each."
    if unknown:
        yield f"{unknown:,} events of kinds that are not known are left out."
    if strange:
        yield f"{strange:,} entries of the history are not events of a device and are left out."
