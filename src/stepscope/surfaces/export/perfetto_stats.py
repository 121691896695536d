"""The stats of events as Perfetto's debug annotations, written array-wise."""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.columns.space import I64, KIND_DOUBLE, KIND_INT64, KIND_UINT64, U8
from stepscope.records import dataclass
from stepscope.surfaces.export.padded import constant, padded, padded_bits, scatter
from stepscope.timeline import Timeline, Track
from stepscope.timeline.arguments import arguments
from stepscope.wire import write as wire

# Field numbers of perfetto.protos: InternedData, TrackEvent, DebugAnnotation.
_NAMES, _TEXTS = 3, 29
_ANNOTATION: Final = 4
_NAME_ID, _UINT, _INT, _DOUBLE, _TEXT_ID = 1, 3, 4, 5, 17
_ID_BYTES: Final = 5
_SMALL: Final = 1 << 35  # what a varint of five bytes holds


@dataclass(frozen=True, eq=False, slots=True)
class DebugAnnotations:
    """The annotations of some events.

    Attributes:
        interned: Texts they are the first to use, as fields of ``InternedData``.
        size: Bytes that each event's take.
    """

    interned: bytes
    size: I64
    _of: I64
    _begin: I64
    _blocks: tuple[tuple[I64, U8], ...]

    def put(self, out: U8, at: I64) -> None:
        """Write each event's annotations from its place on."""
        for rows, block in self._blocks:
            scatter(out, at[self._of[rows]] + self._begin[rows], block)


class StatWriter:
    """Writes stats; remembers which texts the trace holds already."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._texts: dict[str, int] = {}
        hosts = timeline.profile.hosts
        sizes = [len(host.space.stat_metadata) for host in hosts]
        self._first_name = np.cumsum([1, *sizes]).tolist()

    def names(self) -> bytes:
        """The names of stats, as fields of ``InternedData``."""
        names = [name for h in self._timeline.profile.hosts for name in h.space.stat_metadata.name]
        return b"".join(_interned(_NAMES, number, name) for number, name in enumerate(names, 1))

    def annotations(self, track: Track, index: I64) -> DebugAnnotations:
        """The stats of events of a track, given by their numbers on it."""
        found = arguments(self._timeline, track, index)
        places, texts = found.texts()
        known = len(self._texts)
        ids = [self._texts.setdefault(text, len(self._texts) + 1) for text in texts]
        fresh = zip(ids, texts, strict=True)
        interned = b"".join(
            _interned(_TEXTS, number, text) for number, text in fresh if number > known
        )
        text_id = np.zeros(len(found), np.int64)
        text_id[found.is_text] = np.asarray(ids, np.int64)[places] if ids else 0
        name_id = found.name + self._first_name[track.host]
        size, blocks = np.zeros(len(found), np.int64), []
        small = found.bits < _SMALL
        integer = {KIND_UINT64: _UINT, KIND_INT64: _INT}
        for kind, field in integer.items():
            mine = found.kind == kind
            for chosen, width in ((mine & small, _ID_BYTES), (mine & ~small, 10)):
                rows = np.flatnonzero(chosen)
                value = padded_bits(found.bits[rows], width)
                blocks.append((rows, _block(name_id[rows], wire.varint(field << 3), value)))
        rows = np.flatnonzero(found.kind == KIND_DOUBLE)
        value = found.bits[rows].astype("<u8").view(np.uint8).reshape(-1, 8)
        blocks.append((rows, _block(name_id[rows], wire.fixed64(_DOUBLE, 0)[:1], value)))
        rows = np.flatnonzero(found.is_text)
        value = padded(text_id[rows], _ID_BYTES)
        blocks.append((rows, _block(name_id[rows], wire.varint(_TEXT_ID << 3), value)))
        for rows, block in blocks:
            size[rows] = block.shape[1]
        begin = np.cumsum(size) - size
        first = np.searchsorted(found.of, np.arange(len(index) + 1))
        ends = np.append(begin, size.sum())
        return DebugAnnotations(
            interned=interned,
            size=np.diff(ends[first]),
            _of=found.of,
            _begin=begin - ends[first[:-1]][found.of],
            _blocks=tuple(blocks),
        )


def _block(name_id: I64, tag: bytes, value: U8) -> U8:
    """Annotations of one shape: name and value framed."""
    count = len(name_id)
    size = 1 + _ID_BYTES + len(tag) + value.shape[1]
    head = wire.prefix(_ANNOTATION, size) + wire.varint(_NAME_ID << 3)
    name = padded(name_id, _ID_BYTES)
    return np.hstack([constant(count, head), name, constant(count, tag), value])


def _interned(field: int, number: int, text: str) -> bytes:
    plain = text.encode("utf-8", "replace").decode()
    return wire.blob(field, wire.number(1, number) + wire.text(2, plain))
