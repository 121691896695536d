"""From stats in long form to one column per name.

Names are what people and tables know; each plane has its own ids for them. One pass over the
stats finds those of all wanted names; values are converted when they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.by_key import distinct, distinct_codes
from stepscope.columns.space import (
    I32,
    I64,
    KIND_BYTES,
    KIND_DOUBLE,
    KIND_INT64,
    KIND_NONE,
    KIND_REF,
    KIND_STR,
    KIND_UINT64,
    NUMBER_KINDS,
    U8,
    U64,
    Bool,
    Space,
    Stats,
)
from stepscope.columns.texts import equal_texts
from stepscope.kernels import core
from stepscope.kernels.cores import cores, on_cores
from stepscope.records import dataclass
from stepscope.utf8 import text_of

Value = int | float | str | bytes | None
F64 = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
_TEXT_KINDS: Final = (KIND_STR, KIND_BYTES, KIND_REF)
_THREADS_FROM_STATS: Final = 1 << 17
_NARROWED_FROM_STATS: Final = 1 << 16
# This many strings become objects as fast as they are compared in the file.
_OBJECTS_UP_TO: Final = 1 << 10
# From this byte on the length of a string goes on in the next one.
_LONG: Final = 0x80


@dataclass(frozen=True, eq=False, slots=True)
class StrColumn:
    """Interned text, one row per stat.

    Attributes:
        rows: The event (or metadata entry) of each, ascending.
        codes: Position of its text in ``values``.
        values: The distinct texts.
    """

    rows: I64
    codes: I32
    values: list[str]

    def __len__(self) -> int:
        return len(self.rows)

    def texts(self) -> list[str]:
        """The text of each row, as a list."""
        return [self.values[code] for code in self.codes.tolist()]


@dataclass(frozen=True, eq=False)
class StatColumn:
    """All stats of one name.

    An event can have the same stat twice, and one name can have values of several kinds: an
    older and a newer writer, or a reference here and a string there.

    Attributes:
        rows: The event (or metadata entry) of each stat, ascending.
        kind: ``KIND_*`` of each.
        raw: The value of each, as in ``Stats.value``, references in as few bytes as they need.
        space: Where strings are.
    """

    rows: I64
    kind: U8
    raw: NDArray[np.integer[Any]]
    space: Space

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def bits(self) -> U64:
        """The raw value of each, as in ``Stats.value``."""
        return self.raw.astype(np.uint64, copy=False)

    @cached_property
    def is_number(self) -> Bool:
        """Where the value is an integer or a double."""
        return np.isin(self.kind, NUMBER_KINDS)

    @cached_property
    def ints(self) -> I64:
        """Values as int64: doubles truncated, texts read as decimal numbers, else 0.

        A uint64 above 2^63 - 1 appears negative; ``uints`` has it exactly.
        """
        values = self.bits.view(np.int64)
        if np.isin(self.kind, (KIND_INT64, KIND_UINT64)).all():
            return values
        values = values.copy()
        doubles = np.flatnonzero(self.kind == KIND_DOUBLE)
        if len(doubles):
            values[doubles] = _truncated(self.bits[doubles].view(np.float64))
        self._parse(values, _parse_int)
        values[self.kind == KIND_NONE] = 0
        return values

    @cached_property
    def uints(self) -> U64:
        """``ints`` modulo 2^64: exact for uint64 values, such as ids and addresses."""
        return self.ints.view(np.uint64)

    @cached_property
    def floats(self) -> F64:
        """Values as float64; texts read as numbers, else NaN."""
        values = self.bits.view(np.int64).astype(np.float64)
        doubles = self.kind == KIND_DOUBLE
        values[doubles] = self.bits[doubles].view(np.float64)
        unsigned = self.kind == KIND_UINT64
        values[unsigned] = self.bits[unsigned].astype(np.float64)
        self._parse(values, _parse_float)
        values[self.kind == KIND_NONE] = np.nan
        return values

    @cached_property
    def texts(self) -> StrColumn:
        """Values as text; numbers as Python prints them."""
        return _intern(self.space, self.rows, self.kind, self.raw)

    def _parse(self, values: I64 | F64, parse: Callable[[str], int | float]) -> None:
        where = np.flatnonzero(np.isin(self.kind, _TEXT_KINDS))
        if len(where):
            text = _intern(self.space, self.rows[where], self.kind[where], self.raw[where])
            parsed = np.array([parse(value) for value in text.values], values.dtype)
            values[where] = parsed[text.codes]


def _truncated(values: F64) -> I64:
    edge = 2.0**63
    safe = np.where(np.abs(values) < edge, values, np.where(values < 0, -edge, 0.0))
    whole = safe.astype(np.int64)
    whole[values >= edge] = np.iinfo(np.int64).max
    return whole


def _parse_int(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        return 0
    wrapped = number & (1 << 64) - 1
    return wrapped - (1 << 64) if wrapped >> 63 else wrapped


def _parse_float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _intern(space: Space, rows: I64, kind: U8, raw: NDArray[np.integer[Any]]) -> StrColumn:
    codes = np.empty(len(rows), np.int32)
    code_of: dict[str, int] = {}
    for one in distinct(kind).tolist():
        where = slice(None) if (kind == one).all() else np.flatnonzero(kind == one)
        if one == KIND_REF:
            # Rows of a table, which need no sort: it would take more memory than the column.
            texts = raw[where].view(np.int64) if raw.dtype == np.uint64 else raw[where]
            used, place = distinct_codes(texts)
            known = space.stat_metadata.name
            table = [code_of.setdefault(known[row], len(code_of)) for row in used.tolist()]
            code_at = np.array(table, np.int32)[place]
            codes[where] = code_at[texts]
            continue
        unique, inverse = np.unique(raw[where], return_inverse=True)
        if one in (KIND_STR, KIND_BYTES) and len(unique) > _OBJECTS_UP_TO:
            equal = equal_texts(space.buffer, unique.view(np.int64))
            if equal is not None:
                unique, inverse = unique[equal[0]], equal[1][inverse]
        said = (
            read_strings(space, unique.tolist())
            if one == KIND_STR
            else [_text(to_value(space, one, raw)) for raw in unique.tolist()]
        )
        table = [code_of.setdefault(text, len(code_of)) for text in said]
        codes[where] = np.array(table, np.int32)[inverse]
    return StrColumn(rows, codes, list(code_of))


def _text(value: Value) -> str:
    if isinstance(value, bytes):
        return text_of(value)
    return "" if value is None else str(value)


def read_bytes(space: Space, value: int) -> bytes:
    """The payload of a ``KIND_STR`` or ``KIND_BYTES`` stat, given its ``Stats.value``."""
    at, size, shift = int(value), 0, 0
    buffer = space.buffer
    while True:
        byte = buffer[at]
        at += 1
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return bytes(buffer[at : at + size])


def read_string(space: Space, value: int) -> str:
    r"""The text of a ``KIND_STR`` stat; a byte that is not UTF-8 is shown as ``\xff``."""
    return text_of(read_bytes(space, value))


def read_strings(space: Space, values: list[int]) -> list[str]:
    """``read_string`` of many."""
    buffer, texts = space.buffer, []
    for at in values:
        size = buffer[at]
        if size >= _LONG:
            texts.append(read_string(space, at))
            continue
        piece = buffer[at + 1 : at + 1 + size]
        try:
            texts.append(str(piece, "utf-8"))
        except UnicodeDecodeError:
            texts.append(text_of(bytes(piece)))
    return texts


def to_value(space: Space, kind: int, bits: int) -> Value:
    """One stat's value as a Python object, given its ``Stats.kind`` and ``Stats.value``."""
    if kind == KIND_DOUBLE:
        return float(np.uint64(bits).view(np.float64))
    if kind == KIND_UINT64:
        return int(bits)
    if kind == KIND_INT64:
        return int(bits) - (1 << 64) if int(bits) >> 63 else int(bits)
    if kind == KIND_STR:
        return read_string(space, bits)
    if kind == KIND_BYTES:
        return read_bytes(space, bits)
    if kind == KIND_REF:
        return space.stat_metadata.name[int(bits)]
    return None


def stats_by_name(
    space: Space, names: Iterable[str], begin: int = 0, end: int | None = None
) -> dict[str, StatColumn]:
    """The stats of events, for each of ``names``; rows are rows of ``Space.events``.

    ``begin`` and ``end`` choose a stretch of the events, all by default.
    """
    stop = len(space.events) if end is None else end
    stat_begin = space.events.stat_begin[begin : stop + 1]
    return _pivot(space, space.event_stats, stat_begin, tuple(names), begin)


def metadata_stats_by_name(space: Space, names: Iterable[str]) -> dict[str, StatColumn]:
    """As ``stats_by_name``, of metadata entries; rows are of ``Space.event_metadata``."""
    return _pivot(space, space.metadata_stats, space.event_metadata.stat_begin, tuple(names))


def plane_stats(space: Space, plane: int) -> dict[str, Value]:
    """The stats of one plane by name; of a name that comes twice, the last."""
    row = space.planes[plane]
    return dict(_listed(space, space.plane_stats, row.stat_begin, row.stat_end))


def longest_event(space: Space, op: str) -> int | None:
    """Return the longest event of an op, which its name may follow with a type; None for none."""
    listed = enumerate(space.event_metadata.name)
    entries = [at for at, name in listed if name == op or name.startswith(f"{op}:")]
    rows = np.flatnonzero(np.isin(space.events.metadata, entries)) if entries else ()
    return int(max(rows, key=lambda row: space.events.duration_ps[row])) if len(rows) else None


def event_stats(space: Space, row: int) -> list[tuple[str, Value]]:
    """The stats of one event: those all events of its name share first, then its own.

    A stat of the event replaces the shared one of the same name.
    """
    entry = int(space.events.metadata[row])
    shared_begin, shared_end = space.event_metadata.stat_begin[entry : entry + 2].tolist()
    begin, end = space.events.stat_begin[row : row + 2].tolist()
    own = _listed(space, space.event_stats, begin, end)
    replaced = {name for name, _ in own}
    shared = _listed(space, space.metadata_stats, shared_begin, shared_end)
    return [(name, value) for name, value in shared if name not in replaced] + own


def _listed(space: Space, stats: Stats, begin: int, end: int) -> list[tuple[str, Value]]:
    names = space.stat_metadata.name
    return [
        (names[key], to_value(space, kind, value))
        for key, kind, value in zip(
            stats.key[begin:end].tolist(),
            stats.kind[begin:end].tolist(),
            stats.value[begin:end].tolist(),
            strict=True,
        )
    ]


def _pivot(
    space: Space, stats: Stats, stat_begin: I64, names: Sequence[str], first_owner: int = 0
) -> dict[str, StatColumn]:
    number = {name: i for i, name in enumerate(dict.fromkeys(names))}
    wanted = np.full(len(space.stat_metadata), -1, np.int32)
    for name, place_of_name in number.items():
        wanted[space.stat_metadata.rows_by_name.get(name, [])] = place_of_name
    # Owners in shares, one per core: each share is counted, so that all know where to write.
    owners = len(stat_begin) - 1
    size = int(stat_begin[-1] - stat_begin[0])
    shares = cores() if size >= _THREADS_FROM_STATS else 1
    cuts = np.linspace(0, owners, shares + 1).astype(np.int64)
    counts = np.zeros((shares, len(number)), np.int64)

    def count(share: int) -> None:
        first, last = stat_begin[cuts[share : share + 2]]
        core.key.count_stats(stats.key[first:last].data, wanted.data, counts[share].data)

    source = stats.key.data, stats.kind.data, stats.value.data, wanted.data
    on_cores(count, range(shares), "stepscope-pivot")
    begin = np.concatenate([[0], np.cumsum(counts.sum(axis=0))]).astype(np.int64)
    place = begin[:-1] + np.cumsum(counts, axis=0) - counts
    owner = np.empty(int(begin[-1]), np.int64)
    kind, bits = np.empty(len(owner), np.uint8), np.empty(len(owner), np.uint64)

    def collect(share: int) -> None:
        first, last = int(cuts[share]), int(cuts[share + 1])
        core.key.collect_stats(
            first_owner + first,
            stat_begin[first : last + 1].data,
            *source,
            place[share].data,
            owner.data,
            kind.data,
            bits.data,
        )

    if len(owner):
        on_cores(collect, range(shares), "stepscope-pivot")
    spans = {name: slice(int(begin[i]), int(begin[i + 1])) for name, i in number.items()}
    return {
        name: StatColumn(owner[span], *_narrowed(kind[span], bits[span]), space)
        for name, span in spans.items()
    }


def _narrowed(kind: U8, bits: U64) -> tuple[U8, NDArray[np.integer[Any]]]:
    """Kinds and values that hold on to nothing else, in few bytes where there are many.

    Of a million events the texts are those of a small table, and all of one kind.
    """
    one = int(kind[0]) if len(kind) else KIND_NONE
    if len(kind) < _NARROWED_FROM_STATS or not (kind == one).all():
        return kind.copy(), bits.copy()
    of_all = np.broadcast_to(np.uint8(one), len(kind))
    if one != KIND_REF:
        return of_all, bits.copy()
    return of_all, bits.astype(np.int16 if int(bits.max()) < 1 << 15 else np.int32)
