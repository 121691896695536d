"""Track events as columns: what began, ended, happened or was counted, and with which stats."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import I64, Bool
from stepscope.formats.messages import numbers, submessages
from stepscope.formats.perfetto.counters import extra_counts, summed
from stepscope.formats.perfetto.legacy import LEGACY, Kind, apply_legacy
from stepscope.formats.perfetto.packets import (
    Interned,
    Packet,
    PacketBatch,
    States,
    listed,
)
from stepscope.formats.perfetto.tracks import Tracks
from stepscope.formats.xspace.cold_fields import DamageLog, Fields
from stepscope.records import dataclass
from stepscope.schema.xspace import Wire

F64 = NDArray[np.float64]
I8 = NDArray[np.int8]
I32 = NDArray[np.int32]
Rows = I64 | I32
NONE: Final = -1


class _Event(IntEnum):
    CATEGORY_ID = 3
    STAT = 4
    TYPE = 9
    NAME_ID = 10
    TRACK = 11
    CATEGORY = 22
    NAME = 23
    WHOLE = 30
    OLD_FLOW = 36
    OLD_FLOW_END = 42
    REAL = 44
    FLOW = 47
    FLOW_END = 48


#: What a stat's value is: a place of a number's bits, or the code of a text.
INT, UINT, REAL, TEXT = 0, 1, 2, 3
_STAT_KINDS: Final = (
    (2, Wire.VARINT, UINT),
    (3, Wire.VARINT, UINT),
    (4, Wire.VARINT, INT),
    (7, Wire.VARINT, UINT),
    (5, Wire.FIXED64, REAL),
)


@dataclass(frozen=True, slots=True, eq=False)
class TrackEvents:
    """Events in the order of the file.

    Attributes:
        kind: A ``Kind``.
        track: Number of the track of each; that of the GPU's queue for render stages.
        name: Code of its name's text.
        time_ns: When.
        length_ns: How long, for those that say so themselves.
        value: What counters showed, a value for each event of theirs.
        flow: A number that it shares with the events it leads to or comes from; 0 for none.
        ends_flow: Whether it is the last of those.
    """

    kind: I8
    track: I64
    name: I32
    time_ns: I64
    length_ns: I64
    value: F64
    flow: I64
    ends_flow: Bool


@dataclass(frozen=True, slots=True, eq=False)
class TrackEventStats:
    """Values of events.

    Attributes:
        event: Row of the event.
        name: Code of the text.
        kind: ``INT``, ``UINT``, ``REAL`` or ``TEXT``.
        bits: The value's 64 bits, or the code of its text.
    """

    event: Rows
    name: I32
    kind: I8
    bits: I64


class Pairs(NamedTuple):
    """Slices made of begins and ends.

    Attributes:
        row: Place of each begin among the rows that were given.
        length_ns: Of each slice.
        open_count: Slices that never end.
        alone_count: Ends without a begin.
    """

    row: I32
    length_ns: I64
    open_count: int
    alone_count: int


# Their own times: since the event before, and as such.
_OLD_TIMES: Final = (1, 16)
# 0 is what has a phase that is not shown, which is counted there.
_KINDS: Final = (0, *map(int, Kind))
NO_EVENTS: Final = TrackEvents(
    np.zeros(0, np.int8),
    np.zeros(0, np.int64),
    np.zeros(0, np.int32),
    np.zeros(0, np.int64),
    np.zeros(0, np.int64),
    np.zeros(0),
    np.zeros(0, np.int64),
    np.zeros(0, bool),
)
NO_STATS: Final = TrackEventStats(
    np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int8), np.zeros(0, np.int64)
)


def track_events(
    buffer: memoryview, batch: PacketBatch, states: States, tracks: Tracks, damage: DamageLog
) -> Iterator[tuple[TrackEvents, TrackEventStats]]:
    """The events of some packets and their stats, then what those count besides."""
    packet, begin, end = submessages(batch.fields, Packet.EVENT)
    kept = ~batch.is_lost[packet]
    packet, begin, end = packet[kept], begin[kept], end[kept]
    found = listed(buffer, begin, end, damage)
    if len(old := _read_old_times(found, batch, packet)):
        states.lose("have times in a form that was given up", len(old))
        packet, begin, end = (np.delete(one, old) for one in (packet, begin, end))
        found = listed(buffer, begin, end, DamageLog())
    count = len(packet)
    state, time = batch.state[packet], batch.time_ns[packet]
    track = numbers(found, _Event.TRACK, count, NONE)
    track = np.where(found_any(found, _Event.TRACK, count), track, batch.track[packet])
    flow, ends = _flows(found, count)
    columns = {
        "kind": numbers(found, _Event.TYPE, count),
        "length": np.zeros(count, np.int64),
        "track": track,
        "flow": flow,
        "name": _texts(found, state, (_Event.NAME_ID, Interned.NAME), _Event.NAME, count, states),
    }
    if len(found.of(LEGACY, Wire.LEN)):
        by_number = (_Event.CATEGORY_ID, Interned.CATEGORY)
        columns["category"] = _texts(found, state, by_number, _Event.CATEGORY, count, states)
        apply_legacy(buffer, found, columns, states, tracks, damage)
    kind, track = columns["kind"].astype(np.int8), columns["track"]
    states.lose("are events of a kind that is not known", int((~np.isin(kind, _KINDS)).sum()))
    rows = np.flatnonzero(kind == Kind.COUNTER)
    value = summed(_values(found, count)[rows], track[rows], state[rows], tracks, states)
    yield (
        TrackEvents(
            kind,
            track,
            columns["name"].astype(np.int32),
            time,
            columns["length"],
            value,
            flow,
            ends,
        ),
        _stats(buffer, found, state, states, damage),
    )
    event, track, value = extra_counts(buffer, found, state, states, damage)
    if len(event):
        value = summed(value, track, state[event], tracks, states)
        yield _counted(track, time[event], value), NO_STATS


def _read_old_times(found: Fields, batch: PacketBatch, packet: I64) -> I64:
    """Events whose time is in themselves, and not in their packets."""
    has = np.zeros(len(packet), bool)
    for number in _OLD_TIMES:
        has |= found_any(found, number, len(packet))
    return np.flatnonzero(has & ~found_any(batch.fields, Packet.TIME, batch.count)[packet])


def _counted(track: I64, time_ns: I64, value: F64) -> TrackEvents:
    """Values of counters as events."""
    none = np.zeros(len(track), np.int64)
    return TrackEvents(
        np.full(len(track), int(Kind.COUNTER), np.int8),
        track,
        np.full(len(track), NONE, np.int32),
        time_ns,
        none,
        value,
        none,
        np.zeros(len(track), bool),
    )


def found_any(found: Fields, number: int, count: int) -> Bool:
    """Which messages have a varint field."""
    has = np.zeros(count, bool)
    has[found.parent[found.rows_of(number, Wire.VARINT)]] = True
    return has


def interned(numbers_: I64, state: I64, kind: Interned, states: States) -> I64:
    """Codes of the texts behind numbers of a state; ``NONE`` where there is none."""
    if not len(numbers_):
        return numbers_
    # Two sorts of numbers: NumPy's of pairs takes twenty times as long.
    keys, key = np.unique(numbers_, return_inverse=True)
    pairs, inverse = np.unique(state * len(keys) + key, return_inverse=True)
    codes = [
        states.interned.get((one, int(kind), text), NONE)
        for one, text in zip(
            (pairs // len(keys)).tolist(), keys[pairs % len(keys)].tolist(), strict=True
        )
    ]
    return np.asarray(codes, np.int64)[inverse]


def _texts(
    found: Fields,
    state: I64,
    by_number: tuple[int, Interned],
    inline: int,
    count: int,
    states: States,
) -> I64:
    """Codes of texts that messages have themselves or refer to."""
    field, kind = by_number
    code = np.full(count, NONE, np.int64)
    some = found.of(field, Wire.VARINT)
    code[some.parent] = interned(some.value.view(np.int64), state[some.parent], kind, states)
    of, begin, end = submessages(found, inline)
    code[of] = states.texts.codes(begin, end)
    return code


def _values(found: Fields, count: int) -> F64:
    value = np.zeros(count)
    whole = found.of(_Event.WHOLE, Wire.VARINT)
    value[whole.parent] = whole.value.view(np.int64)
    real = found.of(_Event.REAL, Wire.FIXED64)
    value[real.parent] = real.value.view(np.float64)
    return value


def _flows(found: Fields, count: int) -> tuple[I64, Bool]:
    flow, ends = np.zeros(count, np.int64), np.zeros(count, bool)
    for number, wire, is_end in (
        (_Event.OLD_FLOW, Wire.VARINT, False),
        (_Event.FLOW, Wire.FIXED64, False),
        (_Event.OLD_FLOW_END, Wire.VARINT, True),
        (_Event.FLOW_END, Wire.FIXED64, True),
    ):
        some = found.of(number, wire)
        flow[some.parent], ends[some.parent] = some.value.view(np.int64), is_end
    return flow, ends


def _stats(
    buffer: memoryview, found: Fields, state: I64, states: States, damage: DamageLog
) -> TrackEventStats:
    event, begin, end = submessages(found, _Event.STAT)
    inner, count = listed(buffer, begin, end, damage), len(event)
    name = _texts(inner, state[event], (1, Interned.STAT), 10, count, states)
    kind, bits = np.full(count, NONE, np.int64), np.zeros(count, np.int64)
    for number, wire, one in _STAT_KINDS:
        some = inner.of(number, wire)
        kind[some.parent], bits[some.parent] = one, some.value.view(np.int64)
    text = _texts(inner, state[event], (17, Interned.TEXT), 6, count, states)
    of, low, high = submessages(inner, 9)
    text[of] = states.texts.codes(low, high)
    kind[text >= 0], bits[text >= 0] = TEXT, text[text >= 0]
    kept = (kind >= 0) & (name >= 0)
    states.lose("hold lists or objects as values", int((~kept).sum()))
    return _stats_of(event[kept], name[kept], kind[kept], bits[kept])


def _stats_of(event: I64, name: I64, kind: I64, bits: I64) -> TrackEventStats:
    return TrackEventStats(event, name.astype(np.int32), kind.astype(np.int8), bits)


def render_stages(
    buffer: memoryview, batch: PacketBatch, states: States, damage: DamageLog
) -> tuple[TrackEvents, TrackEventStats]:
    """What GPUs did; the track of each is the queue's number, the GPU's in the bits above."""
    packet, begin, end = submessages(batch.fields, Packet.RENDER_STAGE)
    found, count = listed(buffer, begin, end, damage), len(packet)
    state = batch.state[packet]
    name = _texts(found, state, (20, Interned.NAME), 17, count, states)
    stage = interned(numbers(found, 14, count), state, Interned.GPU, states)
    queue = numbers(found, 13, count) | numbers(found, 3, count)
    gpu = np.clip(numbers(found, 11, count), 0, 1 << 10)
    event, low, high = submessages(found, 6)
    extra = listed(buffer, low, high, damage)
    key = _texts(extra, state[event], (0, Interned.STAT), 1, len(event), states)
    value = _texts(extra, state[event], (0, Interned.TEXT), 2, len(event), states)
    has = (key >= 0) & (value >= 0)
    events = TrackEvents(
        np.full(count, int(Kind.RENDER), np.int8),
        gpu << 32 | (queue & 0xFFFFFFFF),
        np.where(name >= 0, name, stage).astype(np.int32),
        batch.time_ns[packet],
        np.clip(numbers(found, 2, count), 0, 1 << 51),
        np.zeros(0),
        np.zeros(count, np.int64),
        np.zeros(count, bool),
    )
    stats = _stats_of(event[has], key[has], np.full(int(has.sum()), TEXT), value[has])
    return events, stats


def paired(events: TrackEvents, rows: Rows, owner: Rows, end_ns: int) -> Pairs:
    """Return the slices of some tracks, and what had no partner.

    What never ended lasts to the end of the trace; an end without a begin is left out.

    Args:
        events: All.
        rows: Begins and ends of the tracks, one track after the other, in the order of the file.
        owner: Which of the tracks each row is of, from 0 on.
        end_ns: When the trace ends.
    """
    time = events.time_ns[rows]
    is_earlier = time[1:] < time[:-1]
    if is_earlier.any() and (is_earlier & (owner[1:] == owner[:-1])).any():
        place = np.lexsort((time, owner)).astype(np.int32)
    else:
        place = np.arange(len(rows), dtype=np.int32)
    del time, is_earlier
    opens = events.kind[rows[place]] == Kind.BEGIN
    fall = np.diff(_floor(opens, owner), prepend=0)
    # Slices that an earlier track leaves open are no change of the next track's depth.
    firsts = np.flatnonzero(owner[1:] != owner[:-1]) + 1
    fall[firsts] = ~opens[firsts] * np.int8(-1)
    alone = ~opens & (fall < 0)
    del fall
    if alone.any():
        place, opens, owner = place[~alone], opens[~alone], owner[~alone]
    depth = _depths(opens, owner)
    depth += ~opens
    # Tracks apart by more than the depth can be: they are sorted by track, then depth.
    key = owner * np.int64(len(rows) + 2) + depth if len(firsts) else depth
    del depth
    order = np.argsort(key, kind="stable").astype(np.int32)
    place, opens, key = place[order], opens[order], key[order]
    del order
    begins = np.flatnonzero(opens).astype(np.int32)
    after = np.minimum(begins + 1, max(len(place) - 1, 0))
    is_ended = (after > begins) & ~opens[after] & (key[after] == key[begins])
    del key, opens
    length = np.where(is_ended, events.time_ns[rows[place[after]]], end_ns)
    del after
    place = place[begins]
    length -= events.time_ns[rows[place]]
    np.maximum(length, 0, out=length)
    return Pairs(place, length, int((~is_ended).sum()), int(alone.sum()))


def _floor(opens: Bool, owner: Rows) -> Rows:
    """Return the least depth of its track up to each event, at most 0."""
    depth = _depths(opens, owner)
    np.minimum(depth, 0, out=depth)
    if not len(owner) or not owner[-1]:
        np.minimum.accumulate(depth, out=depth)
        return depth
    apart = owner * np.int64(len(owner) + 1)
    floor: I64 = np.minimum.accumulate(depth - apart) + apart
    return floor


def _depths(opens: Bool, owner: Rows) -> I32:
    """Return how many slices of its track are open after each event; less than 0 for lone ends."""
    depth = np.cumsum(2 * opens.view(np.int8) - np.int8(1), dtype=np.int32)
    if len(owner) and owner[-1]:
        end = np.cumsum(np.bincount(owner))
        depth -= np.append(np.zeros(1, np.int32), depth)[np.append(0, end[:-1])][owner]
    return depth
