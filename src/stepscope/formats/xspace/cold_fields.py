"""Fields of cold messages (planes, metadata, headers of lines) as columns.

One kernel call lists the fields of many messages; what they mean is then plain array work.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import I64, U64, Bool
from stepscope.errors import DecodeError
from stepscope.kernels import core
from stepscope.records import dataclass, field
from stepscope.schema.xspace import Wire

REASONS: Final = {
    -1: "a number is cut off by the end of its message",
    -2: "a number is longer than 10 bytes",
    -3: "a field has number 0, or one that is too large",
    -4: "a field has a wire type that does not exist",
    -5: "a group ends that was never begun",
    -6: "the message is longer than what holds it",
    -7: "groups are nested deeper than 100",
    -8: "a group is never ended",
}
CUT: Final = -6
_BATCH: Final = 1 << 16
_ASIDE: Final = 64
_REPORTS: Final = 100
_NO_TAG: Final = 0
_NO_PAUSE: Final = 2**63 - 1
#: The state of listing before its first message; see ``list_fields``.
START: Final = (0, -1, 0, 0, 0, 0, 0)
_COLUMNS: Final = ("parent", "tag", "begin", "prefix", "value", "end")


@dataclass(frozen=True, eq=False, slots=True)
class Fields:
    """Fields of many messages, message after message, in file order.

    Attributes:
        parent: The message each field belongs to.
        tag: Field number and wire type, as on the wire.
        begin: Byte offset of the tag.
        prefix: Byte offset after the tag (the length prefix of a length-delimited field).
        value: The number; for a length-delimited field the byte offset of its payload.
        end: Byte offset after the field.
    """

    parent: I64
    tag: U64
    begin: I64
    prefix: I64
    value: U64
    end: I64

    def __len__(self) -> int:
        return len(self.tag)

    def __getitem__(self, chosen: slice | NDArray[np.bool_] | NDArray[np.intp]) -> Fields:
        """The chosen rows."""
        return Fields(
            self.parent[chosen],
            self.tag[chosen],
            self.begin[chosen],
            self.prefix[chosen],
            self.value[chosen],
            self.end[chosen],
        )

    def of(self, number: int, wire: Wire) -> Fields:
        """The fields with this number and wire type."""
        chosen = self.tag == np.uint64(number << 3 | wire)
        # Most of the fields that a message may have are in none of them.
        return self[chosen] if chosen.any() else self[:0]

    def rows_of(self, number: int, wire: Wire) -> NDArray[np.intp]:
        """Where the fields with this number and wire type stand: for who needs few columns."""
        return np.flatnonzero(self.tag == np.uint64(number << 3 | wire))

    def other_than(self, known: Sequence[tuple[int, Wire]]) -> Fields:
        """The fields that are none of ``known``: unknown to this version, or oddly typed."""
        return self[~self._is(known)]

    def among(self, known: Sequence[tuple[int, Wire]]) -> Fields:
        """The fields that are one of ``known``, in file order."""
        return self[self._is(known)]

    def _is(self, known: Sequence[tuple[int, Wire]]) -> Bool:
        # A comparison for each is faster than np.isin for the few there are.
        found = np.zeros(len(self), np.bool_)
        for number, wire in known:
            found |= self.tag == np.uint64(number << 3 | wire)
        return found

    @property
    def payload(self) -> I64:
        """``value`` of length-delimited fields, as an offset."""
        return self.value.view(np.int64)


@dataclass(slots=True)
class DamageLog:
    """Collects what is wrong with a file; the place that stands first in it is reported.

    A message that is longer than what holds it (the mark of a file that was cut) is still read
    as far as it goes. Where something inside it is broken too, that inner place is reported.

    Attributes:
        missing_bytes: How many bytes the file lacks at its end, as far as it says.
        count: How many fields are broken; the first of them are in
        broken: (byte offset, path, reason).
        cut: (begin, end, path) of messages that are longer than what holds them.
    """

    missing_bytes: int = 0
    count: int = 0
    broken: list[tuple[int, str, str]] = field(default_factory=list)
    cut: list[tuple[int, int, str]] = field(default_factory=list)

    def add(self, offset_bytes: int, path: str, code: int) -> None:
        """Note a broken field."""
        self.count += 1
        if len(self.broken) < _REPORTS:
            reason = REASONS.get(code, f"the kernel stopped with {code}")
            self.broken.append((offset_bytes, path, reason))

    def add_cut(self, begin: int, end: int, path: str) -> None:
        """Note a message that ends early, but is read as far as it goes."""
        self.cut.append((begin, end, path))

    def __bool__(self) -> bool:
        return bool(self.count or self.cut)

    def first(self, file: str) -> DecodeError | None:
        """The first damage; how many more places are damaged is part of its reason."""
        inner = [offset for offset, _, _ in self.broken] + [begin for begin, _, _ in self.cut]
        inner.sort()
        outermost = [
            (end, path, REASONS[CUT])
            for begin, end, path in self.cut
            if bisect_right(inner, begin) == bisect_right(inner, end)  # nothing broken inside
        ]
        places = self.broken + outermost
        if not places:
            return None
        offset, path, reason = min(places)
        last_cut = max((begin for begin, _, _ in self.cut), default=0)
        if self.missing_bytes and offset >= last_cut:
            reason = f"the file ends too early: {self.missing_bytes} bytes are missing at its end"
        more = self.count + len(outermost) - 1
        if more:
            reason += f" ({more} more damaged places)"
        return DecodeError(reason, offset_bytes=offset, path=path, file=file)


def index(
    buffer: memoryview,
    begins: I64,
    ends: I64,
    schema: type[IntEnum],
    path: Callable[[int], str],
    damage: DamageLog,
    *,
    containers: tuple[int, ...] = (),
) -> Fields:
    """All fields of the messages ``begins[i]:ends[i]``, which are of one type.

    A message that is broken somewhere keeps the fields before that place.

    Args:
        buffer: The file.
        begins: Byte offset of each message.
        ends: Where each ends.
        schema: Their field numbers, for reports.
        path: Message path of the i-th message, for reports.
        damage: Receives what is broken.
        containers: Numbers of fields that are listed, cut to size, when they are longer than
            their message: submessages that are worth reading as far as they go.
    """
    if not len(begins):
        return empty_fields(0)
    state = np.array(START, np.int64)
    capacity = int(min(_BATCH, max(16, (ends - begins).sum() // 2 + 1)))
    parts: list[Fields] = []
    broken: list[tuple[int, int, int, int]] = []
    while state[0] < len(begins):
        rows = empty_fields(capacity)
        list_fields(buffer, begins, ends, rows, state)
        message, _, count, code, offset = (int(number) for number in state[:5])
        part = rows[:count]
        if code:
            tag = int(part.tag[-1]) if code == CUT and count and part.begin[-1] == offset else 0
            if len(broken) < _REPORTS:
                broken.append((message, offset, tag, code))
            else:
                damage.count += 1
            if tag and tag >> 3 not in containers:
                part = part[:-1]
            state[:] = message + 1, *START[1:]
        parts.append(part)
    # What is mostly full need not be copied.
    is_full = len(parts) == 1 and 2 * len(parts[0]) >= capacity
    fields = parts[0] if is_full else joined(parts)
    for message, offset, tag, code in broken:
        place = path(message) + _field_path(fields, message, offset, tag, schema)
        if tag and tag >> 3 in containers:
            damage.add_cut(offset, int(ends[message]), place)
        else:
            damage.add(offset, place, code)
    return fields


def joined(parts: Sequence[Fields]) -> Fields:
    """The rows of all parts, one after the other."""
    return Fields(
        parent=np.concatenate([part.parent for part in parts]),
        tag=np.concatenate([part.tag for part in parts]),
        begin=np.concatenate([part.begin for part in parts]),
        prefix=np.concatenate([part.prefix for part in parts]),
        value=np.concatenate([part.value for part in parts]),
        end=np.concatenate([part.end for part in parts]),
    )


def list_events_aside(
    buffer: memoryview, begin: int, end: int, events: int, chunk_bytes: int
) -> Iterator[tuple[int, I64, int, int]]:
    """List the fields of one message but those with tag ``events``, which hold stats.

    Yields, about every ``chunk_bytes``: the position, the fields since the last time as a block
    (``in_block``), and how many events and stats there were up to here. Where a field is broken,
    listing ends.
    """
    begins, ends = np.array([begin], np.int64), np.array([end], np.int64)
    state = np.array(START, np.int64)
    block = np.empty((len(_COLUMNS), _ASIDE), np.int64)
    rows = in_block(block)
    at = begin
    while at < end and not state[3]:
        list_fields(buffer, begins, ends, rows, state, events, at + chunk_bytes)
        at = int(state[1]) if state[0] == 0 and not state[3] else end
        count = int(state[2])
        if count and state[3] and rows.begin[count - 1] == state[4]:
            count -= 1
        yield at, block[:, :count].copy(), int(state[5]), int(state[6])


def list_fields(
    buffer: memoryview,
    begins: I64,
    ends: I64,
    rows: Fields,
    state: I64,
    counted: int = _NO_TAG,
    pause: int = _NO_PAUSE,
) -> None:
    """Call the kernel ``index_fields``, whose docstring says what goes in and out."""
    columns = (getattr(rows, column).data for column in _COLUMNS)
    core.read.index_fields(buffer, begins.data, ends.data, counted, pause, *columns, state.data)


def empty_fields(rows: int) -> Fields:
    """Room for this many fields."""
    return Fields(
        parent=np.empty(rows, np.int64),
        tag=np.empty(rows, np.uint64),
        begin=np.empty(rows, np.int64),
        prefix=np.empty(rows, np.int64),
        value=np.empty(rows, np.uint64),
        end=np.empty(rows, np.int64),
    )


def no_fields() -> I64:
    """A block without fields."""
    return np.empty((len(_COLUMNS), 0), np.int64)


def in_block(block: I64) -> Fields:
    """The fields in a block: a row for each column of ``Fields``, in its order.

    A file may have millions of lines; a block of few fields takes a sixth of its ``Fields``.
    """
    parent, tag, begin, prefix, value, end = block
    return Fields(parent, tag.view(np.uint64), begin, prefix, value.view(np.uint64), end)


def _field_path(fields: Fields, message: int, offset: int, tag: int, schema: type[IntEnum]) -> str:
    if not tag:
        return ""
    before = (fields.parent == message) & (fields.begin < offset) & (fields.tag == np.uint64(tag))
    number = tag >> 3
    known = {int(member): member.name.lower() for member in schema}
    return f".{known.get(number, f'field_{number}')}[{np.count_nonzero(before)}]"
