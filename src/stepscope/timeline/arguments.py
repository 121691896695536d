"""The stats of many events at once, for the formats of other viewers."""

from __future__ import annotations

import numpy as np

from stepscope.columns import pivot
from stepscope.columns.space import (
    I32,
    I64,
    KIND_BYTES,
    KIND_DOUBLE,
    KIND_INT64,
    KIND_REF,
    KIND_STR,
    KIND_UINT64,
    U8,
    U64,
    Bool,
    Space,
)
from stepscope.records import dataclass
from stepscope.timeline.model import Timeline, Track

#: What a viewer shows of bytes.
SHOWN_BYTES = 64


@dataclass(frozen=True, eq=False, slots=True)
class Arguments:
    """Stats in long form, event after event: those of its kind first, then its own.

    Attributes:
        of: Which of the events asked about has it; ascending.
        name: Row in ``Space.stat_metadata``.
        kind: ``KIND_*`` of the value.
        bits: The value, as in ``Stats.value``.
        space: Where names and texts are.
    """

    of: I64
    name: I32
    kind: U8
    bits: U64
    space: Space

    def __len__(self) -> int:
        return len(self.of)

    @property
    def is_text(self) -> Bool:
        """Where the value is not a number."""
        return ~np.isin(self.kind, (KIND_DOUBLE, KIND_INT64, KIND_UINT64))

    def texts(self) -> tuple[I64, list[str]]:
        """For each value that is not a number its place in a list of distinct texts, and that list.

        Bytes are shown as their count and first digits, in hexadecimal.
        """
        kind, bits = self.kind[self.is_text], self.bits[self.is_text]
        places = np.empty(len(bits), np.int64)
        found: dict[str, int] = {}
        for one in np.unique(kind).tolist():
            where = np.flatnonzero(kind == one)
            distinct, inverse = np.unique(bits[where], return_inverse=True)
            texts = (_text(self.space, one, raw) for raw in distinct.tolist())
            place = [found.setdefault(text, len(found)) for text in texts]
            places[where] = np.asarray(place, np.int64)[inverse]
        return places, list(found)


def _text(space: Space, kind: int, bits: int) -> str:
    if kind not in (KIND_STR, KIND_BYTES, KIND_REF):
        return ""
    value = pivot.to_value(space, kind, bits)
    if isinstance(value, bytes):
        more = "…" if len(value) > SHOWN_BYTES else ""
        return f"{len(value)} bytes: {value[:SHOWN_BYTES].hex()}{more}"
    return str(value)


def arguments(timeline: Timeline, track: Track, index: I64) -> Arguments:
    """The stats of some events of a track, given by their numbers on it.

    As in the details of one event, a stat of the event replaces the one of the same name that all
    events of its kind share. Tracks that were derived have none.
    """
    space = timeline.profile.hosts[track.host].space
    if track.derived:
        index = index[:0]
    rows = index + (track.first_event - timeline.first_event[track.host])
    kept, shared = space.event_stats, space.metadata_stats
    own_of, own = _spread(space.events.stat_begin, rows)
    kind_of, common = _spread(space.event_metadata.stat_begin, track.code[index].astype(np.int64))
    of = np.concatenate([kind_of, own_of])
    name = np.concatenate([shared.key[common], kept.key[own]])
    kind = np.concatenate([shared.kind[common], kept.kind[own]])
    bits = np.concatenate([shared.value[common], kept.value[own]])
    good = name >= 0
    if len(common):
        good[: len(common)] &= ~_replaced(space, of, name, len(common))
        order = np.argsort(of, kind="stable")
        order = order[good[order]]
        return Arguments(of[order], name[order], kind[order], bits[order], space)
    return Arguments(of[good], name[good], kind[good], bits[good], space)


def _spread(begin: I64, rows: I64) -> tuple[I64, I64]:
    """For each stat of some owners: which of them it belongs to, and its own row."""
    first, count = begin[rows], begin[rows + 1] - begin[rows]
    of = np.repeat(np.arange(len(rows)), count)
    ahead = np.cumsum(count) - count
    return of, np.arange(len(of)) + (first - ahead)[of]


def _replaced(space: Space, of: I64, name: I32, shared: int) -> Bool:
    """Which of the first ``shared`` stats come again, by name, among the event's own."""
    numbers: dict[str, int] = {}
    texts = space.stat_metadata.name
    number = np.asarray([numbers.setdefault(text, len(numbers)) for text in texts], np.int64)
    pair = of * len(numbers) + number[name]
    return np.isin(pair[:shared], pair[shared:])
