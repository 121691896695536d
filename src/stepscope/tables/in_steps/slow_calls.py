"""Calls into a device's driver that take far longer than calls usually do, while devices idle.

The first call of a process makes the device's context, the first launch of a kernel loads it: that
takes milliseconds to minutes where later calls take microseconds, and does not come again.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from stepscope.columns import distinct, median, union_spans
from stepscope.columns.space import I64
from stepscope.records import dataclass
from stepscope.tables.core.presence import entries_shaped
from stepscope.tables.core.profile import Host, Profile, derived
from stepscope.tables.core.time_spans import covered
from stepscope.tables.core.waits import is_wait_for_device
from stepscope.tables.device.events import device_events
from stepscope.tables.host.events import timed_rows
from stepscope.tables.steps.session import aligned_steps

# CUDA's and HIP's, of the runtime and of the driver.
_DRIVER: Final = re.compile(r"^(?:cuda|hip|cu|hsa_)[A-Z]|^hsa_")
# What runs between these on a thread is noted for a graph, and not on a device.
_BEGINS_CAPTURE: Final = re.compile(r"^(?:cuda|hip|cu)StreamBeginCapture")
_ENDS_CAPTURE: Final = re.compile(r"^(?:cuda|hip|cu)StreamEndCapture")
#: What the first call of a process is called, where it is one that makes the device's context.
FIRST: Final = "{}, the first call"
_CONTEXT_PS: Final = 50_000_000_000
#: What captures of graphs are called among slow calls.
CAPTURE: Final = "capture of a graph"
# Copies from memory that the device cannot read by itself take as long as what was queued before.
_COPIES: Final = re.compile(r"Memcpy|Memset|MemPrefetch")
# A call is slow from this time on, if it takes so many times as long as calls usually do, and no
# device works for nearly all of it: else it may only wait for a place in a full queue.
_LEAST_PS: Final = 1_000_000_000
_TIMES: Final = 50
_IDLE_FRAC: Final = 0.9
# How long calls usually take is known from this many of them on; of fewer, one that takes longer
# than this is not usual.
_ENOUGH: Final = 50
_USUAL_PS: Final = 20_000_000


@dataclass(frozen=True, slots=True)
class SlowCalls:
    """Slow calls of one name in counted steps.

    Attributes:
        name: As recorded.
        occurrences: How many.
        total_ps: Their time.
        longest_ps: The longest of them.
        steps: Into how many of the counted steps they fall.
    """

    name: str
    occurrences: int
    total_ps: int
    longest_ps: int
    steps: int


@derived
def session_slow_calls(profile: Profile) -> tuple[SlowCalls, ...]:
    """The slow calls of all hosts that take part in the steps, the longest total first."""
    aligned = aligned_steps(profile)
    kept = np.all([one.steps.kept[one.rows] for one in aligned], axis=0) if aligned else None
    found: dict[str, list[tuple[I64, I64]]] = {}
    for one in aligned:
        host, chosen = profile.hosts[one.host], one.rows[kept]
        start, end = one.steps.start_ps[chosen], one.steps.end_ps[chosen]
        rows, step = _slow(host, start, end)
        captured, step_of = _captures(host, start, end)
        if len(captured):
            found.setdefault(CAPTURE, []).append((captured, step_of))
        meta = host.space.events.metadata[rows]
        makes_context = rows == _first_long_call(host)
        for entry in distinct(meta).tolist():
            name = host.space.event_metadata.name[entry]
            for text, own in ((name, ~makes_context), (FIRST.format(name), makes_context)):
                mine = own & (meta == entry)
                if mine.any():
                    calls_of = found.setdefault(text, [])
                    calls_of.append((host.space.length_ps[rows[mine]], step[mine]))
    listed = []
    for name, calls in found.items():
        length, step = (np.concatenate(each) for each in zip(*calls, strict=True))
        total, longest = int(length.sum()), int(length.max())
        listed.append(SlowCalls(name, len(length), total, longest, len(distinct(step))))
    return tuple(sorted(listed, key=lambda call: (-call.total_ps, call.name)))


def _slow(host: Host, start: I64, end: I64) -> tuple[I64, I64]:
    """Rows of slow calls that begin in one of these disjoint ascending intervals, and in which."""
    nothing = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    if not len(host.space.events) or not len(start):
        return nothing
    rows = timed_rows(host, entries_shaped(host, _is_call))
    if not len(rows):
        return nothing
    length, begin = host.space.length_ps[rows], host.space.events.start_ps[rows]
    place = np.maximum(np.searchsorted(start, begin, side="right") - 1, 0)
    usual = median(length) if len(length) >= _ENOUGH else min(median(length), _USUAL_PS)
    slow = (length >= max(_LEAST_PS, _TIMES * usual)) & (begin >= start[place])
    slow &= begin < end[place]
    rows, begin, length, place = rows[slow], begin[slow], length[slow], place[slow]
    devices = device_events(host)
    busy = covered(*union_spans(devices.start_ps, devices.end_ps), begin, begin + length)
    alone = busy <= (1 - _IDLE_FRAC) * length
    return rows[alone], place[alone].astype(np.int64)


def _first_long_call(host: Host) -> int:
    """The row of the first call into the driver that takes long, if none of the others does.

    Whatever it is for, it makes the device's context. -1 where there is none.
    """
    calls = timed_rows(host, entries_shaped(host, _is_call))
    if not len(calls):
        return -1
    calls = calls[np.argsort(host.space.events.start_ps[calls], kind="stable")]
    long = calls[host.space.length_ps[calls] >= _LEAST_PS]
    return int(long[0]) if len(long) and host.space.length_ps[long[0]] >= _CONTEXT_PS else -1


def _captures(host: Host, start: I64, end: I64) -> tuple[I64, I64]:
    """How long graphs were captured in each of these disjoint ascending intervals, and in which."""
    space = host.space
    begins = timed_rows(host, entries_shaped(host, lambda name: bool(_BEGINS_CAPTURE.match(name))))
    ends = timed_rows(host, entries_shaped(host, lambda name: bool(_ENDS_CAPTURE.match(name))))
    spans: list[tuple[int, int]] = []
    for line in distinct(space.lines_of(begins)).tolist():
        began = np.sort(space.events.start_ps[begins[space.lines_of(begins) == line]])
        ended = np.sort(space.events.start_ps[ends[space.lines_of(ends) == line]])
        next_ = np.searchsorted(ended, began, side="left")
        spans += [
            (at, int(ended[place]))
            for at, place in zip(began.tolist(), next_.tolist(), strict=True)
            if place < len(ended)
        ]
    if not spans or not len(start):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    pairs = np.asarray(sorted(spans), dtype=np.int64)
    inside = covered(*union_spans(pairs[:, 0], pairs[:, 1]), start, end)
    step = np.flatnonzero(inside > 0).astype(np.int64)
    return inside[step], step


def _is_call(name: str) -> bool:
    """Whether a host event is a call into a driver that waits for no device."""
    is_call = _DRIVER.match(name) is not None and _COPIES.search(name) is None
    return is_call and not is_wait_for_device(name)
