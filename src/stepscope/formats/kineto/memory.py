"""Allocations: what was taken or given back, by which op, and what the allocator then held."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from stepscope.columns import by_place
from stepscope.formats.kineto.links import around
from stepscope.formats.kineto.names import op_name
from stepscope.formats.kineto.reading.args import NONE
from stepscope.formats.kineto.reading.texts import whole
from stepscope.formats.kineto.reading.trace import Trace
from stepscope.formats.kineto.slices import Slices
from stepscope.formats.xspace.event_bytes import I64
from stepscope.formats.xspace.line_parts import LineParts, stat_of
from stepscope.formats.xspace.plane_writer import PlaneWriter, Stat
from stepscope.schema import names

_CPU: Final = 0  # c10::DeviceType


def add_instants(
    trace: Trace,
    slices: Slices,
    plane: PlaneWriter,
    line_of: Callable[[int], LineParts],
) -> None:
    """Put the allocations on the lines of their threads.

    Args:
        trace: The recording.
        slices: Its slices: an allocation is for the innermost op around it.
        plane: The host's.
        line_of: The line of a place.
    """
    found = trace.memory
    size, place, start = found["bytes"], found["place"], found["start_ns"]
    if not len(size):
        return
    code = np.where(size >= 0, *plane.names(names.MEMORY_EVENTS))
    allocator, label = _allocators(found["device"], found["device_type"], plane)
    allocated = found["allocated"]
    peak = _peaks(allocator, start, allocated)
    free = _free(trace.head, found["device"], found["device_type"], allocated)
    op = _op_texts(slices, plane, place, start)
    for where, mine in by_place(place, np.arange(len(size))):
        every = np.ones(len(mine), bool)
        stats = [Stat(names.ALLOCATOR_NAME, label[mine], is_text=True)]
        stats += stat_of(names.REQUESTED_BYTES, np.abs(size[mine]), every)
        stats += stat_of(names.ALLOCATION_BYTES, np.abs(size[mine]), every)
        stats += stat_of(names.ADDRESS, found["address"][mine], found["address"][mine] != NONE)
        stats += stat_of(names.BYTES_ALLOCATED, allocated[mine], allocated[mine] >= 0)
        stats += stat_of(names.PEAK_BYTES_IN_USE, peak[mine], allocated[mine] >= 0)
        stats += stat_of(names.BYTES_AVAILABLE, free[mine], free[mine] >= 0)
        stats += stat_of(names.TF_OP, op[mine], op[mine] > 0, is_text=True)
        line_of(where).add(code[mine], start[mine], np.zeros(len(mine), np.int64), stats)


def _allocators(device: I64, kind: I64, plane: PlaneWriter) -> tuple[I64, I64]:
    """The memory of each event: a number, and the text that names it."""
    is_cpu = kind == _CPU
    distinct, number = np.unique(np.where(is_cpu, NONE, device), return_inverse=True)
    text = [f"torch_gpu_{one}" if one >= 0 else "torch_cpu" for one in distinct.tolist()]
    return number, plane.texts(text)[number]


def _free(head: Mapping[str, Any], device: I64, kind: I64, allocated: I64) -> I64:
    """What each event leaves of its device's memory; -1 where that is not known.

    What the caching allocator has reserved so far does not limit it: it asks for more.
    """
    listed = head.get("deviceProperties")
    free = np.full(len(device), NONE, np.int64)
    for one in listed if isinstance(listed, list) else ():
        if not isinstance(one, dict):
            continue
        number, size = whole(one.get("id"), NONE), whole(one.get("totalGlobalMem"), 0)
        mine = (device == number) & (kind != _CPU) & (allocated >= 0) & (allocated <= size)
        free[mine] = size - allocated[mine]
    return free


def _peaks(allocator: I64, start: I64, allocated: I64) -> I64:
    """The most bytes each allocator held up to each event."""
    peak = np.zeros(len(start), np.int64)
    for number in np.unique(allocator).tolist():
        own = np.flatnonzero(allocator == number)
        own = own[np.argsort(start[own], kind="stable")]
        peak[own] = np.maximum.accumulate(allocated[own])
    return peak


def _op_texts(slices: Slices, plane: PlaneWriter, place: I64, start: I64) -> I64:
    """Per allocation the innermost op around it (0: none)."""
    found = np.zeros(len(start), np.int64)
    op = around(slices, slices.rows("op"), place, start)
    has = np.flatnonzero(op >= 0)
    used, inverse = np.unique(slices.name[op[has]], return_inverse=True)
    if len(used):
        texts = plane.texts(op_name(slices.names[code]) for code in used.tolist())
        found[has] = texts[inverse]
    return found
