"""The columns of a recording with the owner's names replaced."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Final

import numpy as np

from stepscope.columns import read_bytes, read_string
from stepscope.columns.space import (
    I64,
    KIND_BYTES,
    KIND_DOUBLE,
    KIND_INT64,
    KIND_NONE,
    KIND_REF,
    KIND_STR,
    KIND_UINT64,
    U8,
    U64,
    Bool,
    Line,
    Space,
    Stats,
)
from stepscope.columns.texts import equal_texts
from stepscope.errors import DecodeError
from stepscope.redaction.level import Level
from stepscope.redaction.programs import redacted_program
from stepscope.redaction.texts import REMOVED, RedactedTexts, is_known_stat, is_private
from stepscope.schema import names

# Serialised messages that hold only numbers; every other one but programs is removed.
_NUMBERS_ONLY: Final = (names.MEMORY_BREAKDOWN,)
_ABSOLUTE: Final = (names.PROFILE_START, names.PROFILE_STOP)
_ROUNDED: Final = (names.FLOPS, names.MODEL_FLOPS, names.BYTES_ACCESSED)
_DIGITS: Final = 2


def redact(space: Space, level: Level, key: bytes, epoch_ns: int = 0) -> Space:
    """The space without its owner's names: same events, times, numbers and structure.

    Args:
        space: The columns; they stay as they are.
        level: How much to take out.
        key: Makes pseudonyms: equal names get equal ones under equal keys.
        epoch_ns: Subtracted from absolute times at the level "all"; one number for all hosts of
            a run keeps their clocks aligned.
    """
    texts = RedactedTexts(level, key, space.hostnames)
    store = _Store()
    meta, stat = space.event_metadata, space.stat_metadata
    private = np.asarray([is_private(name) for name in stat.name], dtype=bool)
    unknown = np.asarray([not is_known_stat(name) for name in stat.name], dtype=bool)
    moved = epoch_ns if level == "all" else 0
    columns = space.event_stats, space.plane_stats, space.metadata_stats
    is_key = np.zeros(len(stat.name), dtype=bool)
    for column in columns:
        is_key[column.key[column.key >= 0]] = True

    def stats(column: Stats, *, strict: bool = False) -> Stats:
        return _stats(space, column, texts, store, private, unknown, level, strict=strict)

    return replace(
        space,
        planes=tuple(replace(plane, name=texts.name(plane.name)) for plane in space.planes),
        lines=tuple(_line(line, texts, moved) for line in space.lines),
        event_stats=stats(space.event_stats),
        # What a plane says is about the machine and the run.
        plane_stats=stats(space.plane_stats, strict=True),
        metadata_stats=stats(space.metadata_stats),
        event_metadata=replace(
            meta,
            name=[texts.name(text) for text in meta.name],
            display_name=[texts.name(text) for text in meta.display_name],
            metadata={},
        ),
        stat_metadata=replace(
            stat,
            # What is no stat's name is the value of some.
            name=[
                texts.name(text) if is_name else texts.strict(text)
                for text, is_name in zip(stat.name, _stay(space, is_key, unknown), strict=True)
            ],
            description=[texts.strict(text) for text in stat.description],
        ),
        errors=tuple(texts.strict(text) for text in space.errors),
        warnings=tuple(texts.strict(text) for text in space.warnings),
        hostnames=tuple(texts.pseudonym(text) for text in space.hostnames),
        origin_ns=space.origin_ns - moved,
        unknown=(),
        raw_text={},
        damage=_damage(space.damage),
        buffer=memoryview(store.data),
    )


class _Store:
    """Texts of stats as a file holds them, each once behind its length."""

    def __init__(self) -> None:
        # Sixteen bytes first: readers look at words around a string.
        self.data = bytearray(16)
        self._places: dict[bytes, int] = {}

    def place(self, text: bytes) -> int:
        """Where the length of a text stands."""
        found = self._places.get(text)
        if found is None:
            found = self._places[text] = len(self.data)
            size = len(text)
            while size >= 0x80:
                self.data.append(size & 0x7F | 0x80)
                size >>= 7
            self.data.append(size)
            self.data += text
        return found


def _line(line: Line, texts: RedactedTexts, moved_ns: int) -> Line:
    return replace(
        line,
        name=texts.name(line.name),
        display_name=texts.name(line.display_name),
        timestamp_ns=line.timestamp_ns - moved_ns if line.timestamp_ns else 0,
    )


def _damage(damage: DecodeError | None) -> DecodeError | None:
    """The damage without the file's name."""
    if damage is None:
        return None
    return DecodeError(damage.reason, offset_bytes=damage.offset_bytes, path=damage.path)


def _stay(space: Space, is_key: Bool, unknown: Bool) -> Bool:
    """Which entries of the stats' names are names of stats, or values of known stats of events."""
    stays = is_key.copy()
    for column in (space.event_stats, space.metadata_stats):
        rows = (column.kind == KIND_REF) & (column.key >= 0)
        rows[rows] = ~unknown[column.key[rows]]
        values = column.value[rows].view(np.int64)
        stays[values[(values >= 0) & (values < len(stays))]] = True
    return stays


def _stats(
    space: Space,
    column: Stats,
    texts: RedactedTexts,
    store: _Store,
    is_private_key: Bool,
    is_unknown_key: Bool,
    level: Level,
    *,
    strict: bool,
) -> Stats:
    """The stats with each text replaced, each serialised message emptied, no unknown number."""
    kind, value = column.kind.copy(), column.value.copy()
    key = np.maximum(column.key, 0)
    private = np.zeros(len(kind), dtype=bool)
    unknown = np.ones(len(kind), dtype=bool)
    if len(is_private_key):
        private = (column.key >= 0) & is_private_key[key]
        unknown = (column.key < 0) | is_unknown_key[key]
    is_text = kind == KIND_STR
    for rows, make in (
        (np.flatnonzero(is_text & ~private & ~unknown), texts.strict if strict else texts.name),
        (np.flatnonzero(is_text & ~private & unknown), texts.strict),
    ):
        if len(rows):
            places, code = _distinct(space, value[rows].view(np.int64))
            made = [store.place(make(read_string(space, int(at))).encode()) for at in places]
            value[rows] = np.asarray(made, np.uint64)[code]
    # A reference to the name of another stat is said here instead, and replaced alone.
    rows = np.flatnonzero((unknown | strict) & (kind == KIND_REF))
    if len(rows):
        entries, code = np.unique(value[rows].view(np.int64), return_inverse=True)
        said = [space.stat_metadata.name[at] for at in entries.tolist()]
        value[rows] = np.asarray(
            [store.place(texts.strict(text).encode()) for text in said], np.uint64
        )[code.ravel()]
        kind[rows] = KIND_STR
        is_text = kind == KIND_STR
    value[is_text & private] = store.place(REMOVED.encode())
    _messages(space, column, kind, value, store, texts if level != "all" else None)
    kind[unknown & np.isin(kind, (KIND_INT64, KIND_UINT64, KIND_DOUBLE))] = KIND_NONE
    if level == "all":
        _numbers(space, column, kind, value)
    return Stats(column.key, kind, value)


def _distinct(space: Space, offsets: I64) -> tuple[I64, I64]:
    """Where each distinct text stands first, and which one each of these is."""
    unique, inverse = np.unique(offsets, return_inverse=True)
    equal = equal_texts(space.buffer, unique)
    if equal is None:
        return unique, inverse.ravel()
    return unique[equal[0]], equal[1][inverse.ravel()]


def _messages(
    space: Space,
    column: Stats,
    kind: U8,
    value: U64,
    store: _Store,
    program_texts: RedactedTexts | None,
) -> None:
    """Messages of numbers are copied, programs redacted if they stay; others become empty."""
    stat = space.stat_metadata.name
    rows = np.flatnonzero((kind == KIND_BYTES) & (column.key >= 0))
    value[kind == KIND_BYTES] = store.place(b"")
    kept = np.asarray([name in (*_NUMBERS_ONLY, names.HLO_PROTO) for name in stat], dtype=bool)
    rows = rows[kept[column.key[rows]]] if len(kept) else rows[:0]
    pairs = np.stack([column.key[rows].astype(np.uint64), column.value[rows]])
    unique, inverse = np.unique(pairs, axis=1, return_inverse=True)
    places = [store.place(b"")] * unique.shape[1]
    for at, (key, offset) in enumerate(unique.T.tolist()):
        if stat[key] != names.HLO_PROTO:
            places[at] = store.place(read_bytes(space, offset))
        elif program_texts is not None:
            proto = read_bytes(space, offset)
            places[at] = store.place(redacted_program(proto, program_texts.name))
    value[rows] = np.asarray(places, np.uint64)[inverse.ravel()]


def _numbers(
    space: Space,
    column: Stats,
    kind: U8,
    value: U64,
) -> None:
    """Absolute times go; FLOPs and bytes keep two digits."""
    stat = space.stat_metadata.name
    absolute = np.asarray([name in _ABSOLUTE for name in stat], dtype=bool)
    rounded = np.asarray([name in _ROUNDED for name in stat], dtype=bool)
    if not len(stat):
        return
    key = np.maximum(column.key, 0)
    kind[(column.key >= 0) & absolute[key]] = KIND_NONE
    chosen = (column.key >= 0) & rounded[key]
    for one in (KIND_INT64, KIND_UINT64):
        rows = np.flatnonzero(chosen & (kind == one))
        value[rows] = _two_digits(value[rows].astype(np.float64)).astype(np.uint64)
    rows = np.flatnonzero(chosen & (kind == KIND_DOUBLE))
    value[rows] = _two_digits(value[rows].view(np.float64)).view(np.uint64)


def _two_digits(
    numbers: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    size = np.floor(np.log10(np.maximum(np.abs(numbers), 1)))
    step = 10.0 ** np.maximum(size - _DIGITS + 1, 0)
    found: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = np.round(numbers / step) * step
    return found


def key_of(space: Space) -> bytes:
    """Return the secret behind pseudonyms, 32 bytes, where nobody gives one.

    It depends on every name and time of the recording. A reader of the redacted recording lacks the
    names, so nobody can try out guesses of one name. The same recording gives the same pseudonyms.
    """
    digest = hashlib.blake2b(digest_size=32, person=b"stepscope-redact")
    meta = space.event_metadata
    texts = (
        *space.hostnames,
        *(plane.name for plane in space.planes),
        *(line.name for line in space.lines),
        *meta.name,
        *meta.display_name,
        *space.stat_metadata.name,
    )
    for text in texts:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    for column in (space.events.start_ps, space.events.duration_ps, space.event_stats.value):
        digest.update(column.tobytes())
    return digest.digest()
