"""A timeline as Chrome's JSON trace format, with flows and counters."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from stepscope.tables.timeline import CATEGORIES, Timeline, Track
from stepscope.tables.timeline.threads import Thread, arrows_between, threads

_CHUNK: Final = 1 << 15


def chrome_trace(timeline: Timeline, begin_ps: int, end_ps: int) -> Iterator[bytes]:
    """The text of a trace with every event that touches a range, piece by piece.

    Times are in µs from the session's origin, to the picosecond.
    """
    yield b'{"displayTimeUnit":"ns","traceEvents":[\n'
    separator = b""
    for piece in _pieces(timeline, begin_ps, end_ps):
        yield separator + piece
        separator = b",\n"
    yield b"\n]}\n"


def _pieces(timeline: Timeline, begin_ps: int, end_ps: int) -> Iterator[bytes]:
    """Events joined by commas, many at a time."""
    names = [json.dumps(name) for name in timeline.names]
    found = list(threads(timeline, begin_ps, end_ps))
    yield _joined(_metadata(timeline, found))
    for number, thread in enumerate(found):
        head = f'"pid":{thread.track.section + 1},"tid":{number + 1}'
        for first in range(0, len(thread.event), _CHUNK):
            part = slice(first, first + _CHUNK)
            yield ",\n".join(_slices(thread, part, head, names)).encode("utf-8", "replace")
    arrows = list(_arrows(timeline, found))
    for first in range(0, len(arrows), _CHUNK):
        yield _joined(arrows[first : first + _CHUNK])
    for track in timeline.tracks:
        values = list(_values(timeline, track, begin_ps, end_ps))
        for first in range(0, len(values), _CHUNK):
            yield _joined(values[first : first + _CHUNK])


def _joined(events: list[dict[str, Any]]) -> bytes:
    return ",\n".join(json.dumps(event, allow_nan=False) for event in events).encode()


def _metadata(timeline: Timeline, found: list[Thread]) -> list[dict[str, Any]]:
    """Names and order of processes (sections) and threads (tracks, or lanes that do not nest)."""
    hosts, events = timeline.profile.hosts, []

    def say(kind: str, pid: int, tid: int, **values: Any) -> None:
        events.append({"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": values})

    for section in timeline.sections:
        name = f"{hosts[section.host].name} {section.name}" if len(hosts) > 1 else section.name
        say("process_name", section.id + 1, 0, name=name)
        say("process_sort_index", section.id + 1, 0, sort_index=section.id)
    for number, thread in enumerate(found):
        lane = "" if thread.lane < 0 else f" #{thread.lane + 1}"
        say("thread_name", thread.track.section + 1, number + 1, name=thread.track.name + lane)
        say("thread_sort_index", thread.track.section + 1, number + 1, sort_index=number)
    return events


def _slices(thread: Thread, part: slice, head: str, names: list[str]) -> Iterator[str]:
    begins = thread.begin_ps[part].tolist()
    lengths = (thread.end_ps[part] - thread.begin_ps[part]).tolist()
    columns = (begins, lengths, thread.name[part].tolist(), thread.category[part].tolist())
    for begin, length, name, category in zip(*columns, strict=True):
        what = f'"ph":"X","dur":{_us(length)}' if length else '"ph":"i","s":"t"'
        yield (
            f'{{{what},"ts":{_us(begin)},{head},"name":{names[name]},'
            f'"cat":"{CATEGORIES[category]}"}}'
        )


def _us(ps: int) -> str:
    """Picoseconds as µs, exactly."""
    sign, size = ("-", -ps) if ps < 0 else ("", ps)
    whole, rest = divmod(size, 10**6)
    return f"{sign}{whole}.{rest:06d}" if rest else f"{sign}{whole}"


def _arrows(timeline: Timeline, found: list[Thread]) -> Iterator[dict[str, Any]]:
    """Flow events at the begin of both ends."""
    event = np.concatenate([one.event for one in found] or [np.empty(0, np.int64)])
    begin = np.concatenate([one.begin_ps for one in found] or [np.empty(0, np.int64)])
    thread = np.repeat(np.arange(len(found)), [len(one.event) for one in found])
    order = np.argsort(event, kind="stable")
    event = event[order]
    arrows, rows = arrows_between(timeline, event)
    for phase, ends in (("s", arrows.source[rows]), ("f", arrows.target[rows])):
        at = order[np.searchsorted(event, ends)]
        for row, place, time in zip(
            rows.tolist(), thread[at].tolist(), begin[at].tolist(), strict=True
        ):
            yield {
                "ph": phase,
                "bp": "e",
                "id": row + 1,
                "name": "flow",
                "cat": "flow",
                "ts": time / 1e6,
                "pid": found[place].track.section + 1,
                "tid": place + 1,
            }


def _values(
    timeline: Timeline, track: Track, begin_ps: int, end_ps: int
) -> Iterator[dict[str, Any]]:
    """Counter events of a range, with the value that held when it began."""
    if track.counter is None:
        return
    time = track.counter.time_ps + timeline.axis.shift_ps[track.host]
    low, high = np.searchsorted(time, [begin_ps, end_ps]).tolist()
    low = max(low - 1, 0)
    times = np.maximum(time[low:high], begin_ps).tolist()
    for at, value in zip(times, track.counter.value[low:high].tolist(), strict=True):
        if np.isfinite(value):
            yield {
                "ph": "C",
                "ts": at / 1e6,
                "pid": track.section + 1,
                "tid": 0,
                "name": track.name,
                "args": {track.counter.unit or "value": value},
            }
