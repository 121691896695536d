"""The packets of a trace as columns, and what the packets of a sequence share.

A sequence is one writer. Names are written once and referred to by number until the writer starts
over; each such stretch is a *state* here, and a number means something in its state alone.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from enum import IntEnum
from typing import Final

import numpy as np

from stepscope.columns import by_place
from stepscope.columns.space import Bool
from stepscope.errors import FormatError
from stepscope.formats import messages
from stepscope.formats.messages import Texts, numbers, repeated, submessages, top_fields
from stepscope.formats.xspace.cold_fields import DamageLog, Fields
from stepscope.formats.xspace.event_bytes import I64
from stepscope.limits import current
from stepscope.records import dataclass, field
from stepscope.schema.xspace import Wire

TITLE: Final = "a Perfetto trace"
PACKETS_AT_ONCE: Final = 1 << 14
_CLEARED, _NEEDS_STATE = 1, 2
#: The clock that packets are on where they name none, and that of the wall.
BOOT, REAL = 6, 1
_OWN_CLOCKS: Final = 64
#: Fields of events with the tracks of further counters: whole numbers, and others.
EXTRA_COUNTERS: Final = (31, 45)


class Packet(IntEnum):
    """Fields of a packet."""

    CLOCKS = 6
    TIME = 8
    SEQUENCE = 10
    EVENT = 11
    INTERNED = 12
    FLAGS = 13
    CLEARED = 41
    LOST = 42
    COMPRESSED = 50
    GPU_COUNTER = 52
    RENDER_STAGE = 53
    CLOCK = 58
    DEFAULTS = 59
    TRACK = 60
    COMPRESSED_ZSTD = 133


# Fields of packets that hold something which is not read.
_NOT_READ: Final = {
    Packet.COMPRESSED_ZSTD: "are compressed with Zstandard",
    1: "hold what the kernel did (ftrace)",
    54: "hold samples of stacks",
    66: "hold samples of stacks",
}


class Interned(IntEnum):
    """Fields of what is referred to by number."""

    CATEGORY = 1
    NAME = 2
    STAT = 3
    GPU = 24
    TEXT = 29


def listed(buffer: memoryview, begin: I64, end: I64, damage: DamageLog) -> Fields:
    """The fields of messages."""
    return messages.listed(buffer, begin, end, Packet, "packet", damage)


@dataclass
class PacketBatch:
    """Some packets that follow each other.

    Attributes:
        first: How many packets came before.
        fields: All of their fields.
        count: How many packets.
        time_ns: Of each, on the clock of most packets.
        state: Of each, see ``States``.
        is_lost: Packets that need a state whose begin is not in the file.
        track: The track that events have which name none.
    """

    first: int
    fields: Fields
    count: int
    time_ns: I64
    state: I64
    is_lost: Bool
    track: I64


@dataclass
class States:
    """What packets share, by state.

    Attributes:
        interned: Code of the text behind (state, kind, number).
        lost: Packets that are not read, by reason.
        extra_counters: By (state, field) the tracks of what events count besides.
        losses: How often a writer had no room for packets.
        totals: By (state, track) where counters are that say what came since the value before.
        wall_ns: What is added to times for the wall clock; None where the file does not say.
    """

    texts: Texts
    interned: dict[tuple[int, int, int], int] = field(default_factory=dict)
    lost: dict[str, int] = field(default_factory=dict)
    extra_counters: dict[tuple[int, int], I64] = field(default_factory=dict)
    totals: dict[tuple[int, int], float] = field(default_factory=dict)
    losses: int = 0
    wall_ns: int | None = None
    _state: dict[int, int] = field(default_factory=dict)
    _known: set[int] = field(default_factory=set)
    _clock: dict[int, int] = field(default_factory=dict)
    _track: dict[int, int] = field(default_factory=dict)
    _base: dict[tuple[int, int], tuple[int, int, bool]] = field(default_factory=dict)
    _offsets: dict[int, int] = field(default_factory=dict)
    _states: int = 0

    def new_state(self, sequence: int, *, is_begun: bool) -> int:
        """A state of a sequence: names from before mean nothing in it."""
        state = self._state[sequence] = self._states
        self._states += 1
        if is_begun:
            self._known.add(state)
        return state

    def lose(self, reason: str, count: int = 1) -> None:
        """Count packets that are left out."""
        if count:
            self.lost[reason] = self.lost.get(reason, 0) + count


class CompressedPackets(Exception):
    """Packets are inside others: they have to be written out first."""


def batches(
    buffer: memoryview, states: States, damage: DamageLog, *, is_inflated: bool
) -> Iterator[PacketBatch]:
    """The packets of a trace, many at a time, with the states that they are in.

    Raises:
        CompressedPackets: There are some, and nobody has written them out (``is_inflated``).
    """
    for first, begin, end in _packets(buffer, damage):
        found = listed(buffer, begin, end, damage)
        if not is_inflated and len(found.rows_of(Packet.COMPRESSED, Wire.LEN)):
            raise CompressedPackets
        yield _batch(buffer, first, found, len(begin), states, damage)


def _packets(buffer: memoryview, damage: DamageLog) -> Iterator[tuple[int, I64, I64]]:
    """How many packets came before, and begin and end of each of the next."""
    first = 0
    for fields in top_fields(buffer, PACKETS_AT_ONCE, lambda at: f"packet[{at}]", damage):
        _, begin, end = submessages(fields, 1)
        yield first, begin, end
        first += len(begin)


def _batch(
    buffer: memoryview, first: int, found: Fields, count: int, states: States, damage: DamageLog
) -> PacketBatch:
    sequence = numbers(found, Packet.SEQUENCE, count)
    flags = numbers(found, Packet.FLAGS, count)
    # Older writers have a field for what is a flag now.
    is_cleared = ((flags & _CLEARED) > 0) | (numbers(found, Packet.CLEARED, count) > 0)
    _note_losses(found, sequence, states)
    state = _states_of(sequence, is_cleared, states)
    needs = (flags & _NEEDS_STATE) > 0
    is_lost = needs & ~np.isin(state, list(states._known))
    states.lose("need names from before the trace began", int(is_lost.sum()))
    for number, reason in _NOT_READ.items():
        states.lose(reason, len(found.rows_of(number, Wire.LEN)))
    _intern(buffer, found, state, states, damage)
    _defaults(buffer, found, state, states, damage)
    time = _times(buffer, found, sequence, state, states, damage)
    return PacketBatch(
        first, found, count, time, state, is_lost, _state_values(states._track, state)
    )


def _note_losses(found: Fields, sequence: I64, states: States) -> None:
    """Count how often writers lost packets after their first."""
    lost = numbers(found, Packet.LOST, len(sequence)) > 0
    if lost.any():
        after_first = lost & np.isin(sequence, list(states._state))
        _, first = np.unique(sequence, return_index=True)
        again = lost.copy()
        again[first] = False
        states.losses += int((again | after_first).sum())


def _states_of(sequence: I64, is_cleared: Bool, states: States) -> I64:
    """The state of each packet."""
    state = np.zeros(len(sequence), np.int64)
    for one, mine in by_place(sequence, np.arange(len(sequence))):
        before = states._state.get(one)
        if before is None:
            before = states.new_state(one, is_begun=False)
        cleared = is_cleared[mine]
        codes = [before, *(states.new_state(one, is_begun=True) for _ in range(int(cleared.sum())))]
        state[mine] = np.asarray(codes)[np.cumsum(cleared)]
    return state


def _intern(
    buffer: memoryview, found: Fields, state: I64, states: States, damage: DamageLog
) -> None:
    """Remember what numbers mean."""
    packet, begin, end = submessages(found, Packet.INTERNED)
    inner = listed(buffer, begin, end, damage)
    for kind in Interned:
        of, low, high = submessages(inner, kind)
        entries = listed(buffer, low, high, damage)
        number = numbers(entries, 1, len(of))
        text, text_begin, text_end = submessages(entries, 2)
        codes = states.texts.codes(text_begin, text_end)
        owner = state[packet[of[text]]]
        for one, key, code in zip(
            owner.tolist(), number[text].tolist(), codes.tolist(), strict=True
        ):
            states.interned[one, int(kind), key] = code


def _state_values(known: dict[int, int], state: I64) -> I64:
    """What each packet's state has; 0 for nothing."""
    if not known:
        return np.zeros(len(state), np.int64)
    used, inverse = np.unique(state, return_inverse=True)
    return np.asarray([known.get(one, 0) for one in used.tolist()], np.int64)[inverse]


def _defaults(
    buffer: memoryview, found: Fields, state: I64, states: States, damage: DamageLog
) -> None:
    """Clock, track and further counters of packets that name none."""
    packet, begin, end = submessages(found, Packet.DEFAULTS)
    if not len(packet):
        return
    inner = listed(buffer, begin, end, damage)
    clock = numbers(inner, Packet.CLOCK, len(packet))
    of, low, high = submessages(inner, Packet.EVENT)
    event, count = listed(buffer, low, high, damage), len(of)
    track = numbers(event, 11, count)
    owners = state[packet[of]].tolist()
    states._clock.update(zip(state[packet].tolist(), clock.tolist(), strict=True))
    states._track.update(zip(owners, track.tolist(), strict=True))
    for extra in EXTRA_COUNTERS:
        uuid, many = repeated(buffer, event, extra, count, damage)
        ends = np.cumsum(many).tolist()
        for owner, end, has in zip(owners, ends, many.tolist(), strict=True):
            states.extra_counters[owner, extra] = uuid[end - has : end].view(np.int64)


def _times(
    buffer: memoryview,
    found: Fields,
    sequence: I64,
    state: I64,
    states: States,
    damage: DamageLog,
) -> I64:
    """Times on the clock of boot, as far as snapshots say how clocks are apart."""
    time = numbers(found, Packet.TIME, len(state))
    clock = numbers(found, Packet.CLOCK, len(state))
    if states._clock:
        clock = np.where(clock == 0, _state_values(states._clock, state), clock)
    snapshots = list(_snapshots(buffer, found, damage))
    for packet, clocks in snapshots:
        states_of = {number: at for number, (at, _, _) in clocks.items()}
        if BOOT in states_of:
            for number, at in states_of.items():
                if number < _OWN_CLOCKS:
                    states._offsets.setdefault(number, states_of[BOOT] - at)
            if REAL in states_of and states.wall_ns is None:
                states.wall_ns = states_of[REAL] - states_of[BOOT]
        for number, said in clocks.items():
            if number >= _OWN_CLOCKS:
                _own_clock(states, int(sequence[packet]), number, said, states_of.get(BOOT))
    for number in np.unique(clock).tolist():
        rows = np.flatnonzero(clock == number)
        if 0 < number < _OWN_CLOCKS:
            time[rows] += states._offsets.get(number, 0)
        elif number >= _OWN_CLOCKS:
            _convert_clocks(time, rows, sequence, number, snapshots, states)
    return time


def _own_clock(
    states: States, sequence: int, number: int, said: tuple[int, int, bool], boot: int | None
) -> None:
    at, unit, is_incremental = said
    base = boot if boot is not None else at
    states._base.setdefault(
        (sequence, number), (base - (0 if is_incremental else at * unit), unit, is_incremental)
    )


def _convert_clocks(
    time: I64,
    rows: I64,
    sequence: I64,
    number: int,
    snapshots: list[tuple[int, dict[int, tuple[int, int, bool]]]],
    states: States,
) -> None:
    """Times of a writer's own clock, which may count from the packet before."""
    for one in np.unique(sequence[rows]).tolist():
        mine = rows[sequence[rows] == one]
        base, unit, is_incremental = states._base.get((one, number), (0, 1, False))
        if not is_incremental:
            time[mine] = time[mine] * unit + base
            continue
        # A snapshot of the sequence begins the sum again.
        begins = [
            (packet, clocks[BOOT][0])
            for packet, clocks in snapshots
            if sequence[packet] == one and number in clocks and BOOT in clocks
        ]
        begin = np.searchsorted([packet for packet, _ in begins], mine, side="right")
        total = np.cumsum(time[mine]) * unit
        starts = np.asarray([base, *(at for _, at in begins)])
        before = np.append(0, total)[np.searchsorted(begin, np.arange(len(starts)))]
        time[mine] = starts[begin] + total - before[begin]
        states._base[one, number] = (int(time[mine[-1]]), unit, True)


def _snapshots(
    buffer: memoryview, found: Fields, damage: DamageLog
) -> Iterator[tuple[int, dict[int, tuple[int, int, bool]]]]:
    """Packet, and time, unit and whether it counts on, of each clock."""
    packet, begin, end = submessages(found, Packet.CLOCKS)
    inner = listed(buffer, begin, end, damage)
    of, low, high = submessages(inner, 1)
    entries = listed(buffer, low, high, damage)
    columns = [
        numbers(entries, at, len(of), missing) for at, missing in ((1, 0), (2, 0), (4, 1), (3, 0))
    ]
    rows = list(zip(of.tolist(), *(one.tolist() for one in columns), strict=True))
    for number, where in enumerate(packet.tolist()):
        yield (
            where,
            {
                clock: (at, max(unit, 1), bool(counts))
                for which, clock, at, unit, counts in rows
                if which == number
            },
        )


def inflated(data: bytearray, states: States, *, file: str) -> bytes:
    """A trace whose compressed packets are written out, each behind the packet it came in.

    Raises:
        FormatError: They hold more than any trace does.
    """
    view = memoryview(data)
    parts: list[bytes] = []
    at = 0
    budget = current()
    for _, begin, end in _packets(view, DamageLog()):
        found = listed(view, begin, end, DamageLog())
        for row, low, high in zip(
            *(one.tolist() for one in submessages(found, Packet.COMPRESSED)), strict=True
        ):
            stop = int(end[row])
            parts.append(bytes(view[at:stop]))
            at = stop
            try:
                machine = zlib.decompressobj()
                left = max(budget.allowed("inflated") - budget.read_bytes, 0)
                parts.append(machine.decompress(view[low:high], left + 1))
            except zlib.error as error:
                reason = f"packets that are compressed break: {error}"
                raise FormatError(TITLE, reason, file=file) from error
            budget.read(len(parts[-1]))
            states.lose("are compressed, and end too early", int(not machine.eof))
    return b"".join([*parts, bytes(view[at:])])
