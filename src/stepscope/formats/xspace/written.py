"""Planes that were written, as columns: what decoding their bytes would give, without the bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import (
    DATA_OFFSET,
    I64,
    KIND_REF,
    EventMetadata,
    Events,
    Line,
    Plane,
    Space,
    StatMetadata,
    Stats,
)
from stepscope.formats.xspace.event_bytes import StatValues
from stepscope.formats.xspace.headers import common_origin
from stepscope.formats.xspace.lines import allocate
from stepscope.formats.xspace.plane_writer import PlaneWriter, WrittenLine, WrittenStat
from stepscope.kernels.memory import give_back

_LARGE: Final = 1 << 16
_BLOCK_EVENTS: Final = 1 << 16


def space_of(
    planes: Sequence[PlaneWriter],
    *,
    warnings: Iterable[str] = (),
    hostnames: Iterable[str] = (),
) -> Space:
    """The planes as columns.

    Args:
        planes: Emptied line by line on the way, so that no event is in memory twice.
        warnings: What a reader of numbers must know.
        hostnames: Machines that names of lines have, so that redaction knows them.

    Raises:
        ValueError: An event's name is of another plane.
    """
    lines = [line for plane in planes for line in plane.lines]
    counts = [line.event_count for line in lines]
    origin_ns, shifts_ps = common_origin([line.timestamp_ns for line in lines], counts)
    columns = allocate(sum(counts), sum(line.stat_count for line in lines))
    del lines
    filler = _Filler(*columns)
    line_rows: list[Line] = []
    plane_rows: list[Plane] = []
    begins = _begins(len(plane.stats) for plane in planes)
    # Lines in pieces name things while they are written: what comes before a plane is known then.
    first_name, first_text = [0], [0]
    for number, plane in enumerate(planes):
        first_line = len(line_rows)
        plane.lines.reverse()
        while plane.lines:
            line = plane.lines.pop()
            begin, shift_ps = filler.event, shifts_ps[len(line_rows)]
            for piece in line.pieces():
                _check_names(piece, plane)
                filler.fill(piece, shift_ps, first_name[number] - 1, first_text[number] - 1)
            line_rows.append(
                Line(
                    number, line.id, _clean(line.name), 0, _clean(line.display_name),
                    line.timestamp_ns, 0, begin, filler.event, shift_ps,
                )
            )  # fmt: skip
            if line.event_count > _LARGE:
                # What it was made of is free now, and the next line's columns need the room.
                del line, piece
                give_back()
        first_name.append(first_name[number] + len(plane.named))
        first_text.append(first_text[number] + len(plane.stat_texts))
        plane_rows.append(
            Plane(
                plane.plane_id, _clean(plane.plane_name), first_line, len(line_rows),
                begins[number], begins[number + 1],
            )
        )  # fmt: skip
    shared = [[named.stats for named in plane.named] for plane in planes]
    events, stats = filler.filled()
    return Space(
        buffer=memoryview(b""),
        planes=tuple(plane_rows),
        lines=tuple(line_rows),
        events=events,
        event_stats=stats,
        plane_stats=_rows_of([plane.stats for plane in planes], first_text),
        event_metadata=_event_metadata(planes),
        metadata_stats=_rows_of([list(chain.from_iterable(one)) for one in shared], first_text),
        stat_metadata=_stat_metadata(planes),
        errors=(),
        warnings=tuple(map(_clean, warnings)),
        hostnames=tuple(hostnames),
        origin_ns=origin_ns,
    )


def _check_names(line: WrittenLine, plane: PlaneWriter) -> None:
    ids = line.metadata
    if len(ids) and not (ids.min() >= 1 and ids.max() <= len(plane.named)):
        raise ValueError(f"line {line.name!r} has events of names that its plane lacks")


class _Filler:
    """Writes lines into the columns, one after the other.

    Attributes:
        event, stat: The next rows.
    """

    def __init__(self, events: Events, stats: Stats) -> None:
        self.events, self.stats = events, stats
        self.event = self.stat = 0
        events.data[:] = DATA_OFFSET

    def filled(self) -> tuple[Events, Stats]:
        """The columns, without the room for stats that lines did not use."""
        used = slice(0, self.stat)
        stats = Stats(self.stats.key[used], self.stats.kind[used], self.stats.value[used])
        self.events.stat_begin[self.event] = self.stat
        return self.events, stats

    def fill(self, line: WrittenLine, shift_ps: int, names: int, texts: int) -> None:
        """One line; its plane's ids of names and texts are rows when these are added to them."""
        count = len(line.metadata)
        rows = slice(self.event, self.event + count)
        np.add(line.metadata, names, out=self.events.metadata[rows])
        np.add(line.offset_ps, shift_ps, out=self.events.start_ps[rows])
        self.events.duration_ps[rows] = line.duration_ps
        # Some events at a time: what is between the two is as large as the columns themselves.
        cuts = np.append(np.arange(0, count, _BLOCK_EVENTS), count)
        # Cuts of another type would have rows copied into it.
        spans = [np.searchsorted(stat.rows, cuts.astype(stat.rows.dtype)) for stat in line.stats]
        for number, (begin, end) in enumerate(pairwise(cuts.tolist())):
            place = self._begins(
                [
                    stat.rows[span[number] : span[number + 1]] - begin
                    for stat, span in zip(line.stats, spans, strict=True)
                ],
                slice(self.event, self.event + end - begin),
            )
            for stat, span in zip(line.stats, spans, strict=True):
                self._stat(stat, slice(span[number], span[number + 1]), begin, place, texts)
            self.event += end - begin

    def _begins(self, rows: Sequence[NDArray[np.integer[Any]]], events: slice) -> I64:
        """Where the stats of some events begin, given which of them have each stat."""
        of_event = np.zeros(events.stop - events.start, np.int64)
        for one in rows:
            of_event[one] += 1  # none is there twice
        after = np.cumsum(of_event) + self.stat
        place: I64 = after - of_event
        self.events.stat_begin[events] = place
        self.stat = int(after[-1])
        return place

    def _stat(self, stat: StatValues, span: slice, begin: int, place: I64, texts: int) -> None:
        """A stretch of one stat; ``place`` is where the next of each event from ``begin`` on is."""
        rows, bits = stat.rows[span] - begin, stat.bits[span]
        at = place[rows]
        place[rows] += 1
        self.stats.key[at] = stat.key + texts
        self.stats.kind[at] = stat.kind
        is_ref = int(stat.kind) == KIND_REF
        self.stats.value[at] = bits.astype(np.int64) + texts if is_ref else bits


def _begins(counts: Iterable[int]) -> list[int]:
    found = [0]
    for count in counts:
        found.append(found[-1] + count)
    return found


def _rows_of(stats: Sequence[Sequence[WrittenStat]], first_text: Sequence[int]) -> Stats:
    """Stats of each plane as columns."""
    count = sum(map(len, stats))
    shift = np.repeat(
        np.asarray(first_text[: len(stats)], np.int64) - 1, [len(one) for one in stats]
    )
    # Column by column: a file of samples has as many as a program has lines.
    key = np.fromiter((stat.key for mine in stats for stat in mine), np.int64, count)
    kind = np.fromiter((stat.kind for mine in stats for stat in mine), np.uint8, count)
    value = np.fromiter((stat.bits for mine in stats for stat in mine), np.uint64, count)
    value += np.where(kind == KIND_REF, shift, 0).astype(np.uint64)
    return Stats((key + shift).astype(np.int32), kind, value)


def _event_metadata(planes: Sequence[PlaneWriter]) -> EventMetadata:
    named = [one for plane in planes for one in plane.named]
    return EventMetadata(
        plane=_plane_of([len(plane.named) for plane in planes]),
        id=_ids([len(plane.named) for plane in planes]),
        name=[_clean(one.name) for one in named],
        display_name=[_clean(one.display) for one in named],
        stat_begin=np.asarray(_begins(len(one.stats) for one in named), np.int64),
        metadata={},
        child_id={},
        present=np.ones(len(named), np.bool_),
    )


def _stat_metadata(planes: Sequence[PlaneWriter]) -> StatMetadata:
    texts = [text for plane in planes for text in plane.stat_texts]
    return StatMetadata(
        plane=_plane_of([len(plane.stat_texts) for plane in planes]),
        id=_ids([len(plane.stat_texts) for plane in planes]),
        name=list(map(_clean, texts)),
        description=[""] * len(texts),
        present=np.ones(len(texts), np.bool_),
    )


def _plane_of(counts: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.repeat(np.arange(len(counts), dtype=np.int32), counts)


def _ids(counts: list[int]) -> I64:
    return np.concatenate([np.arange(1, count + 1) for count in [*counts, 0]]).astype(np.int64)


def _clean(text: str) -> str:
    """The text as it would be read back: lone surrogates are question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
