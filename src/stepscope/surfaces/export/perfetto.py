"""A timeline as a Perfetto trace (protobuf), with stats, flows and counters.

Packets are written array-wise: numbers that vary from event to event are varints padded to a
fixed width, which every protobuf parser reads, so that all packets of one shape have one length.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import I64, U8
from stepscope.surfaces.export.padded import constant, padded, scatter
from stepscope.surfaces.export.perfetto_stats import DebugAnnotations, StatWriter
from stepscope.timeline import CATEGORIES, Timeline
from stepscope.timeline.model import CounterTrack
from stepscope.timeline.threads import Thread, arrows_between, threads
from stepscope.wire import write as wire

# Field numbers of perfetto.protos: Trace, TracePacket, TrackDescriptor, TrackEvent, InternedData.
_TRACE_PACKET: Final = 1
_TIMESTAMP, _SEQUENCE, _EVENT, _INTERNED, _FLAGS, _DESCRIPTOR = 8, 10, 11, 12, 13, 60
_UUID, _NAME, _PROCESS, _PARENT, _COUNTER, _CHILD_ORDER, _RANK = 1, 2, 3, 5, 8, 11, 12
_CATEGORY, _TYPE, _NAME_ID, _TRACK, _DOUBLE, _FLOW, _FLOW_END = 3, 9, 10, 11, 44, 47, 48
_BEGIN, _END, _INSTANT, _VALUE = 1, 2, 3, 4
_CLEARED, _NEEDS_STATE, _EXPLICIT_ORDER = 1, 2, 3
_SEQUENCE_ID: Final = 1
_CHUNK: Final = 1 << 17

# Widths of padded numbers: 63 bits of time, 35 of a track or a name, 28 of a length.
_TIME_BYTES, _ID_BYTES, _LENGTH_BYTES = 9, 5, 4


def perfetto_trace(timeline: Timeline, begin_ps: int, end_ps: int) -> Iterator[bytes]:
    """The bytes of a trace with every event that touches a range, piece by piece."""
    found = list(threads(timeline, begin_ps, end_ps))
    exported = np.sort(np.concatenate([one.event for one in found] or [np.empty(0, np.int64)]))
    arrows, rows = arrows_between(timeline, exported)
    ends = _ids_by_event(arrows.source[rows], rows), _ids_by_event(arrows.target[rows], rows)
    stats = StatWriter(timeline)
    yield _preamble(timeline)
    yield _more_interned(stats.names())
    yield b"".join(_sections(timeline))
    origin = timeline.axis.origin_ns
    uuid = len(timeline.sections) + 1
    for thread in found:
        # Lanes of one track have its name: viewers put tracks of one name together again.
        yield _descriptor(uuid, thread.track.name, thread.track.section + 1, rank=thread.track.id)
        yield from _events(thread, uuid, origin, ends, stats)
        uuid += 1
    for track in timeline.tracks:
        if track.counter is not None:
            yield _descriptor(
                uuid, track.name, track.section + 1, rank=track.id, counter=track.counter.unit
            )
            shift = timeline.axis.shift_ps[track.host]
            yield _values(track.counter, uuid, origin, shift, begin_ps, end_ps)
            uuid += 1


def _packet(body: bytes) -> bytes:
    return wire.blob(_TRACE_PACKET, body + wire.number(_SEQUENCE, _SEQUENCE_ID))


def _preamble(timeline: Timeline) -> bytes:
    """The names and categories that events refer to by number (from 1)."""
    categories = b"".join(_interned(1, i + 1, name) for i, name in enumerate(CATEGORIES))
    parts = [_packet(wire.blob(_INTERNED, categories) + wire.number(_FLAGS, _CLEARED))]
    for first in range(0, len(timeline.names), 1000):
        names = timeline.names[first : first + 1000]
        body = b"".join(_interned(2, first + i + 1, name) for i, name in enumerate(names))
        parts.append(_packet(wire.blob(_INTERNED, body) + wire.number(_FLAGS, _NEEDS_STATE)))
    return b"".join(parts)


def _interned(field: int, number: int, name: str) -> bytes:
    text = name.encode("utf-8", "replace").decode()
    return wire.blob(field, wire.number(1, number) + wire.text(2, text))


def _more_interned(body: bytes) -> bytes:
    """More of what events refer to by number."""
    if not body:
        return b""
    return _packet(wire.blob(_INTERNED, body) + wire.number(_FLAGS, _NEEDS_STATE))


def _sections(timeline: Timeline) -> Iterator[bytes]:
    """Sections as processes."""
    hosts = timeline.profile.hosts
    for section in timeline.sections:
        name = f"{hosts[section.host].name} {section.name}" if len(hosts) > 1 else section.name
        process = wire.number(1, section.id + 1) + wire.text(6, name)
        yield _packet(
            wire.blob(
                _DESCRIPTOR,
                wire.number(_UUID, section.id + 1)
                + wire.blob(_PROCESS, process)
                + wire.number(_CHILD_ORDER, _EXPLICIT_ORDER)
                + wire.number(_RANK, section.id),
            )
        )


def _descriptor(
    uuid: int, name: str, parent: int, *, rank: int, counter: str | None = None
) -> bytes:
    body = (
        wire.number(_UUID, uuid)
        + wire.text(_NAME, name)
        + wire.number(_PARENT, parent)
        + wire.number(_RANK, rank)
    )
    if counter is not None:
        body += wire.blob(_COUNTER, wire.text(6, counter), always=True)
    return _packet(wire.blob(_DESCRIPTOR, body))


def _ids_by_event(events: I64, rows: I64) -> tuple[I64, I64]:
    """Events sorted, and the flow id (row + 1) of each."""
    order = np.argsort(events, kind="stable")
    return events[order], rows[order] + 1


def _events(
    thread: Thread,
    uuid: int,
    origin_ns: int,
    ends: tuple[tuple[I64, I64], tuple[I64, I64]],
    stats: StatWriter,
) -> Iterator[bytes]:
    """Begin and end packets in an order in which they nest at every instant."""
    long = np.flatnonzero(thread.end_ps > thread.begin_ps)
    every = np.arange(len(thread.event))
    time = np.concatenate([thread.begin_ps, thread.end_ps[long]])
    of = np.concatenate([every, long])
    opens = np.arange(len(of)) < len(every)
    depth = thread.depth[of]
    # At one instant: what is over closes, innermost first; then what is new opens, outermost first.
    order = np.lexsort((np.where(opens, depth, -depth), opens, time))
    for first in range(0, len(order), _CHUNK):
        part = order[first : first + _CHUNK]
        begun = thread.event[of[part][opens[part]]]
        told = stats.annotations(thread.track, begun - thread.track.first_event)
        yield _more_interned(told.interned)
        time_ns = time[part] // 1000 + origin_ns
        yield _chunk(thread, uuid, time_ns, of[part], opens[part], ends, told)


def _chunk(
    thread: Thread,
    uuid: int,
    time_ns: I64,
    of: I64,
    opens: NDArray[np.bool_],
    ends: tuple[tuple[I64, I64], tuple[I64, I64]],
    stats: DebugAnnotations,
) -> bytes:
    event = thread.event[of]
    spans = [np.searchsorted(one[0], [event, event + 1]) for one in ends]
    many = [np.where(opens, high - low, 0) for low, high in spans]
    named = np.flatnonzero(opens)
    extra = 10 * (many[0] + many[1])
    extra[named] += stats.size
    tail = np.where(opens, _NAMED, 0)
    inner = _EVENT_HEAD + tail + extra
    outer = _PACKET_HEAD + inner
    size = 1 + _LENGTH_BYTES + outer
    offset = np.cumsum(size) - size
    out = np.zeros(int(size.sum()), np.uint8)
    instant = thread.end_ps[of] == thread.begin_ps[of]
    kind = np.where(opens, np.where(instant, _INSTANT, _BEGIN), _END)
    head = [
        constant(len(of), wire.prefix(_TRACE_PACKET, 0)[:1]),
        padded(outer, _LENGTH_BYTES),
        constant(len(of), wire.varint(_TIMESTAMP << 3)),
        padded(time_ns, _TIME_BYTES),
        constant(
            len(of),
            wire.number(_SEQUENCE, _SEQUENCE_ID)
            + wire.number(_FLAGS, _NEEDS_STATE)
            + wire.prefix(_EVENT, 0)[:1],
        ),
        padded(inner, _LENGTH_BYTES),
        constant(len(of), wire.varint(_TYPE << 3)),
        kind.astype(np.uint8)[:, None],
        constant(len(of), wire.varint(_TRACK << 3)),
        padded(np.full(len(of), uuid), _ID_BYTES),
    ]
    scatter(out, offset, np.hstack(head))
    body = [
        constant(len(named), wire.varint(_NAME_ID << 3)),
        padded(thread.name[of[named]].astype(np.int64) + 1, _ID_BYTES),
        constant(len(named), wire.varint(_CATEGORY << 3)),
        (thread.category[of[named]] + 1).astype(np.uint8)[:, None],
    ]
    at = offset + size - tail - extra
    scatter(out, at[named], np.hstack(body))
    at = at + tail
    for field, (low, _high), count, ids in zip(
        (_FLOW, _FLOW_END), spans, many, (ends[0][1], ends[1][1]), strict=True
    ):
        _put_flows(out, field, at, low, count, ids)
        at = at + 10 * count
    stats.put(out, at[named])
    return out.tobytes()


# A packet's head without its own tag and length: time, sequence, flags, the event's tag, length.
_PACKET_HEAD: Final = 1 + _TIME_BYTES + 2 + 2 + 1 + _LENGTH_BYTES
_EVENT_HEAD: Final = 2 + 1 + _ID_BYTES
_NAMED: Final = 1 + _ID_BYTES + 2


def _put_flows(out: U8, field: int, at: I64, low: I64, count: I64, ids: I64) -> None:
    """Write ``count`` flow ids of each event at its place."""
    total = int(count.sum())
    if not total:
        return
    of = np.repeat(np.arange(len(count)), count)
    nth = np.arange(total) - np.repeat(np.cumsum(count) - count, count)
    flow = ids[low[of] + nth]
    fixed = flow.astype("<u8").view(np.uint8).reshape(-1, 8)
    block = np.hstack([constant(total, wire.fixed64(field, 0)[:2]), fixed])
    scatter(out, at[of] + 10 * nth, block)


def _values(
    counter: CounterTrack, uuid: int, origin_ns: int, shift: int, begin_ps: int, end_ps: int
) -> bytes:
    """Counter packets of a range, with the value that held when it began."""
    low, high = np.searchsorted(counter.time_ps + shift, [begin_ps, end_ps]).tolist()
    low = max(low - 1, 0)
    time = np.maximum(counter.time_ps[low:high] + shift, begin_ps) // 1000 + origin_ns
    count = high - low
    body = 2 + 1 + _ID_BYTES + 10
    event = [
        constant(count, wire.prefix(_TRACE_PACKET, 0)[:1]),
        padded(np.full(count, _PACKET_HEAD + body), _LENGTH_BYTES),
        constant(count, wire.varint(_TIMESTAMP << 3)),
        padded(time, _TIME_BYTES),
        constant(
            count,
            wire.number(_SEQUENCE, _SEQUENCE_ID)
            + wire.number(_FLAGS, _NEEDS_STATE)
            + wire.prefix(_EVENT, 0)[:1],
        ),
        padded(np.full(count, body), _LENGTH_BYTES),
        constant(count, wire.number(_TYPE, _VALUE) + wire.varint(_TRACK << 3)),
        padded(np.full(count, uuid), _ID_BYTES),
        constant(count, wire.fixed64(_DOUBLE, 0)[:2]),
        counter.value[low:high].astype("<f8").view(np.uint8).reshape(-1, 8),
    ]
    return np.hstack(event).tobytes()
