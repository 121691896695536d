"""The cold part of a plane: its stats, and what its ids mean, as columns."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from itertools import pairwise
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import (
    I32,
    I64,
    KIND_REF,
    U8,
    U64,
    EventMetadata,
    StatMetadata,
    Stats,
    UnknownFields,
)
from stepscope.formats.xspace.cold_fields import DamageLog, Fields, index
from stepscope.formats.xspace.ids import IdRows, MissingIds
from stepscope.formats.xspace.texts import TextReader
from stepscope.records import dataclass
from stepscope.schema.xspace import (
    MapEntry,
    Wire,
    XEventMetadata,
    XPlane,
    XStat,
    XStatMetadata,
)

Path = Callable[[int], str]
Missing = list[tuple[int, int]]

_ENTRY_FIELDS: Final = ((MapEntry.KEY, Wire.VARINT), (MapEntry.VALUE, Wire.LEN))
_STAT_VALUES: Final = (
    (XStat.DOUBLE_VALUE, Wire.FIXED64),
    (XStat.UINT64_VALUE, Wire.VARINT),
    (XStat.INT64_VALUE, Wire.VARINT),
    (XStat.STR_VALUE, Wire.LEN),
    (XStat.BYTES_VALUE, Wire.LEN),
    (XStat.REF_VALUE, Wire.VARINT),
)


@dataclass(slots=True)
class RawStats:
    """Stats of cold messages with ids still as recorded.

    ``plane`` says whose ids they are; it ascends.
    """

    plane: I64
    key: U64
    kind: U8
    value: U64
    unknown: list[tuple[int, bytes]]

    def resolve(self, rows_of: list[IdRows]) -> Stats:
        """Ids to rows, plane by plane."""
        key = np.empty(len(self.key), np.int32)
        value = self.value.copy()
        planes, first = np.unique(self.plane, return_index=True)
        bounds = pairwise([*first.tolist(), len(self.plane)])
        for plane, (begin, end) in zip(planes.tolist(), bounds, strict=True):
            key[begin:end] = rows_of[plane].resolve(self.key[begin:end])
            refs = begin + np.flatnonzero(self.kind[begin:end] == KIND_REF)
            if len(refs):
                value[refs] = rows_of[plane].resolve(self.value[refs]).astype(np.uint64)
        return Stats(key, self.kind, value)


@dataclass(slots=True)
class Entries:
    """Metadata entries of all planes: one row each, duplicates of an id dropped (the last wins).

    Attributes:
        plane, id: Of each row; ``id`` is the key of the map.
        text: Name and second text (display name or description) of each row.
        own_id: ``{row: id}`` where the entry's own id is not its key.
        fields: All fields of the entries; ``parent`` is the row.
        unknown: ``(row, bytes)`` of fields to keep as they stand.
        odd: Fields of planes that hold an entry with more in it than key and value. As protobuf
            has it, such an entry is not in the map, and is kept as an unknown field of the plane.
        path: Message path of a row, for reports.
    """

    plane: I32
    id: I64
    name: list[str]
    text: list[str]
    own_id: dict[int, int]
    fields: Fields
    unknown: list[tuple[int, bytes]]
    odd: Fields
    path: Path

    def rows_of(self, planes: int, missing: MissingIds) -> list[IdRows]:
        """The rows of each plane's ids."""
        bounds = np.searchsorted(self.plane, np.arange(planes + 1))
        rows = np.arange(len(self.id), dtype=np.int32)
        return [
            IdRows(plane, self.id[a:b], rows[a:b], missing)
            for plane, (a, b) in enumerate(pairwise(bounds.tolist()))
        ]


def unknown_fields(buffer: memoryview, fields: Fields) -> list[tuple[int, bytes]]:
    """``(parent, bytes)`` of fields to be kept as they stand, joined per parent."""
    if not len(fields):
        return []
    goes_on = (fields.parent[1:] == fields.parent[:-1]) & (fields.begin[1:] == fields.end[:-1])
    first, last = (
        np.flatnonzero(np.append(True, ~goes_on)),
        np.flatnonzero(np.append(~goes_on, True)),
    )
    stretches = fields.parent[first], fields.begin[first], fields.end[last]
    pieces: dict[int, list[memoryview]] = {}
    for parent, begin, end in zip(*(column.tolist() for column in stretches), strict=True):
        pieces.setdefault(parent, []).append(buffer[begin:end])
    return [(parent, b"".join(own)) for parent, own in pieces.items()]


def as_unknown(level: str, fields: list[tuple[int, bytes]]) -> list[UnknownFields]:
    """Kept bytes as rows of ``Space.unknown``."""
    return [UnknownFields(level, row, data) for row, data in fields]


def read_entries(
    texts: TextReader, planes: Fields, which: XPlane, damage: DamageLog, path: Path
) -> Entries:
    """Read ``event_metadata`` or ``stat_metadata`` of all planes.

    Args:
        texts: Reads the file's texts.
        planes: Fields of the planes.
        which: Which of the two maps.
        damage: Receives what is broken.
        path: Message path of a plane, for reports.
    """
    buffer = texts.buffer
    schema: type[IntEnum] = XEventMetadata if which is XPlane.EVENT_METADATA else XStatMetadata
    text_field = (
        XEventMetadata.DISPLAY_NAME if which is XPlane.EVENT_METADATA else XStatMetadata.DESCRIPTION
    )
    entries = planes.of(which, Wire.LEN)

    def entry_path(entry: int) -> str:
        plane = int(entries.parent[entry])
        nth = entry - int(np.searchsorted(entries.parent, plane))
        return f"{path(plane)}.{which.name.lower()}[{nth}]"

    halves = index(
        buffer,
        entries.payload,
        entries.end,
        MapEntry,
        entry_path,
        damage,
        containers=(MapEntry.VALUE,),
    )
    keys = np.zeros(len(entries), np.uint64)
    given = halves.of(MapEntry.KEY, Wire.VARINT)
    keys[given.parent] = given.value
    odd = np.zeros(len(entries), np.bool_)
    odd[halves.other_than(_ENTRY_FIELDS).parent] = True
    usual = np.flatnonzero(~odd)
    kept = usual[_last_of_each(entries.parent[usual], keys[usual])]
    row_of_entry = np.full(len(entries), -1, np.int64)
    row_of_entry[kept] = np.arange(len(kept))

    values = halves.of(MapEntry.VALUE, Wire.LEN)
    values = values[row_of_entry[values.parent] >= 0]
    fields = index(
        buffer, values.payload, values.end, schema,
        lambda value: entry_path(int(values.parent[value])) + ".value", damage,
    )  # fmt: skip
    fields.parent[:] = row_of_entry[values.parent[fields.parent]]
    own = np.zeros(len(kept), np.uint64)
    given = fields.of(XEventMetadata.ID, Wire.VARINT)
    own[given.parent] = given.value
    ids = keys[kept].view(np.int64)
    differs = np.flatnonzero(own.view(np.int64) != ids)
    return Entries(
        plane=entries.parent[kept].astype(np.int32),
        id=ids,
        name=texts.column(fields.of(XEventMetadata.NAME, Wire.LEN), len(kept)),
        text=texts.column(fields.of(text_field, Wire.LEN), len(kept)),
        own_id=dict(zip(differs.tolist(), own.view(np.int64)[differs].tolist(), strict=True)),
        fields=fields,
        unknown=unknown_fields(buffer, fields.other_than(_known_fields(which))),
        odd=entries[odd],
        path=lambda row: entry_path(int(kept[row])) + ".value",
    )


def _known_fields(which: XPlane) -> tuple[tuple[int, Wire], ...]:
    if which is XPlane.STAT_METADATA:
        return (
            (XStatMetadata.ID, Wire.VARINT),
            (XStatMetadata.NAME, Wire.LEN),
            (XStatMetadata.DESCRIPTION, Wire.LEN),
        )
    return (
        (XEventMetadata.ID, Wire.VARINT),
        (XEventMetadata.NAME, Wire.LEN),
        (XEventMetadata.METADATA, Wire.LEN),
        (XEventMetadata.DISPLAY_NAME, Wire.LEN),
        (XEventMetadata.STATS, Wire.LEN),
        (XEventMetadata.CHILD_ID, Wire.VARINT),
        (XEventMetadata.CHILD_ID, Wire.LEN),
    )


def _last_of_each(plane: I64, key: U64) -> I64:
    """Positions of the last entry of each (plane, key), ascending."""
    order = np.lexsort((key, plane))
    if not len(order):
        return order.astype(np.int64)
    same = (plane[order[1:]] == plane[order[:-1]]) & (key[order[1:]] == key[order[:-1]])
    return np.sort(order[np.append(~same, True)]).astype(np.int64)


def read_stats(
    buffer: memoryview, stats: Fields, plane: I64, damage: DamageLog, path: Path
) -> RawStats:
    """Read stats of planes or of metadata entries.

    Args:
        buffer: The file.
        stats: The fields that hold the stats.
        plane: The plane of each of them.
        damage: Receives what is broken.
        path: Message path of the i-th stat, for reports.
    """
    fields = index(buffer, stats.payload, stats.end, XStat, path, damage)
    key = np.zeros(len(stats), np.uint64)
    given = fields.of(XStat.METADATA_ID, Wire.VARINT)
    key[given.parent] = given.value
    given = fields.among(_STAT_VALUES)
    kind = np.zeros(len(stats), np.uint8)
    value = np.zeros(len(stats), np.uint64)
    # Of the members of a oneof the last in the file counts; so does the last of equal indices here.
    kind[given.parent] = (given.tag >> np.uint64(3)).astype(np.uint8)
    is_text = given.tag & np.uint64(7) == np.uint64(Wire.LEN)
    value[given.parent] = np.where(is_text, given.prefix.view(np.uint64), given.value)
    known = ((XStat.METADATA_ID, Wire.VARINT), *_STAT_VALUES)
    return RawStats(plane, key, kind, value, unknown_fields(buffer, fields.other_than(known)))


def read_children(
    buffer: memoryview, entries: Entries, damage: DamageLog
) -> dict[int, tuple[int, ...]]:
    """``{row: child ids}``, whether they stand packed or one by one."""
    found: dict[int, list[int]] = {}
    single = np.uint64(XEventMetadata.CHILD_ID << 3 | Wire.VARINT)
    packed = np.uint64(XEventMetadata.CHILD_ID << 3 | Wire.LEN)
    fields = entries.fields
    chosen = fields[(fields.tag == single) | (fields.tag == packed)]
    for row, tag, value, end in zip(
        chosen.parent.tolist(),
        chosen.tag.tolist(),
        chosen.value.tolist(),
        chosen.end.tolist(),
        strict=True,
    ):
        children = found.setdefault(row, [])
        if tag == single:
            children.append(_signed(value))
        else:
            numbers, broken = _unpack(buffer, value, end)
            children += numbers
            if broken is not None:
                path = f"{entries.path(row)}.child_id[{len(numbers)}]"
                damage.add(broken[0], path, broken[1])
    return {row: tuple(children) for row, children in found.items() if children}


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _unpack(buffer: memoryview, begin: int, end: int) -> tuple[list[int], tuple[int, int] | None]:
    """The numbers of a packed field, and byte offset and error code where it breaks."""
    numbers: list[int] = []
    first, value, shift = begin, 0, 0
    for offset in range(begin, end):
        byte = buffer[offset]
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            numbers.append(_signed(value & (1 << 64) - 1))
            first, value, shift = offset + 1, 0, 0
        elif shift > 63:
            return numbers, (first, -2)
    return numbers, (first, -1) if shift else None


def event_metadata_rows(
    buffer: memoryview,
    entries: Entries,
    missing: Missing,
    stat_begin: I64,
    children: dict[int, tuple[int, ...]],
) -> EventMetadata:
    """The file's entries, and after them the (plane, id) pairs that it lacks."""
    opaque = entries.fields.of(XEventMetadata.METADATA, Wire.LEN)
    spans = zip(opaque.parent.tolist(), opaque.payload.tolist(), opaque.end.tolist(), strict=True)
    last = {row: bytes(buffer[begin:end]) for row, begin, end in spans}
    more = [""] * len(missing)
    return EventMetadata(
        plane=_fill_missing(entries.plane, [plane for plane, _ in missing]),
        id=_fill_missing(entries.id, [key for _, key in missing]),
        name=entries.name + more,
        display_name=entries.text + more,
        stat_begin=_fill_missing(stat_begin, [int(stat_begin[-1])] * len(missing)),
        metadata={row: data for row, data in last.items() if data},
        child_id=children,
        present=_present(entries, missing),
        own_id=entries.own_id,
    )


def stat_metadata_rows(entries: Entries, missing: Missing) -> StatMetadata:
    """The file's entries, and after them the (plane, id) pairs that it lacks."""
    more = [""] * len(missing)
    return StatMetadata(
        plane=_fill_missing(entries.plane, [plane for plane, _ in missing]),
        id=_fill_missing(entries.id, [key for _, key in missing]),
        name=entries.name + more,
        description=entries.text + more,
        present=_present(entries, missing),
        own_id=entries.own_id,
    )


Column = TypeVar("Column", I32, I64)


def _fill_missing(column: Column, more: list[int]) -> Column:
    return np.append(column, np.array(more, column.dtype)) if more else column


def _present(entries: Entries, missing: Missing) -> NDArray[np.bool_]:
    return np.repeat([True, False], [len(entries.id), len(missing)])
