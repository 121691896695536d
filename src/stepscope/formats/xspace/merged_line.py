"""A line of events from several tables that becomes columns block by block.

Nothing but the order of the events is made for all of them at once: names and stats of a block are
asked for when it is written, so that no event is in memory twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.formats.xspace.event_bytes import StatValues
from stepscope.formats.xspace.plane_writer import (
    PlaneWriter,
    Stat,
    WrittenLine,
    in_order,
    stat_bits,
)
from stepscope.records import dataclass

_BLOCK: Final = 1 << 16
_PS_PER_NS: Final = 1000

Rows = slice | NDArray[np.integer[Any]]
#: (rows of a table) → ids of their names, and their stats, whose rows count these alone.
Describe = Callable[[NDArray[np.integer[Any]]], tuple[NDArray[Any], Sequence[Stat]]]


def places(place: NDArray[np.integer[Any]]) -> dict[int, Rows]:
    """The rows of each place, in their order; a slice where all are of one."""
    if not len(place):
        return {}
    if (place == place[0]).all():
        return {int(place[0]): slice(0, len(place))}
    order = np.argsort(place, kind="stable").astype(np.int32)
    cuts = np.flatnonzero(np.diff(place[order])) + 1
    bounds = pairwise([0, *cuts.tolist(), len(order)])
    return {int(place[order[begin]]): order[begin:end] for begin, end in bounds}


@dataclass(frozen=True, slots=True, eq=False)
class TablePart:
    """Some rows of a table, all of one line.

    Attributes:
        rows: Which.
        start_ns, duration_ns: Of all rows of the table, on the wall clock.
        describe: What a row is called and what it carries.
        stats: How many stats the table has at most.
    """

    rows: Rows
    start_ns: NDArray[Any]
    duration_ns: NDArray[Any]
    describe: Describe
    stats: int

    def __len__(self) -> int:
        rows = self.rows
        return (
            len(range(*rows.indices(len(self.start_ns)))) if isinstance(rows, slice) else len(rows)
        )

    def rows_at(self, places: NDArray[np.integer[Any]]) -> NDArray[np.integer[Any]]:
        """The rows of the table at some places of this part."""
        if isinstance(self.rows, slice):
            return places + int(self.rows.start or 0)
        found: NDArray[np.integer[Any]] = self.rows[places]
        return found


class MergedLine:
    """The parts of a line, to be written once.

    Args:
        plane: Whose line; its ids are what ``describe`` gives.
        id: As for ``PlaneWriter.line``.
        name: As for ``PlaneWriter.line``.
        parts: In any order; not all are empty.
    """

    def __init__(self, plane: PlaneWriter, id: int, name: str, parts: Sequence[TablePart]) -> None:
        self.id, self.name, self.display_name = id, name, ""
        self._plane = plane
        self._parts = tuple(one for one in parts if len(one))
        self.event_count = sum(map(len, self._parts))
        self.stat_count = sum(one.stats for one in self._parts)
        self.timestamp_ns = min(int(one.start_ns[one.rows].min()) for one in self._parts)

    def pieces(self) -> Iterator[WrittenLine]:
        """The events in order of time, containers before their contents, block by block."""
        order = self._order()
        bounds = np.cumsum([0, *map(len, self._parts)])
        for begin in range(0, self.event_count, _BLOCK):
            end = min(begin + _BLOCK, self.event_count)
            places = np.arange(begin, end, dtype=np.int32) if order is None else order[begin:end]
            yield self._piece(places, bounds)

    def _order(self) -> NDArray[np.int32] | None:
        start = np.concatenate([one.start_ns[one.rows] for one in self._parts]).astype(np.int64)
        length = np.concatenate([one.duration_ns[one.rows] for one in self._parts])
        order = in_order(start, np.maximum(length, 0).astype(np.int64))
        return None if order is None else order.astype(np.int32)

    def _piece(self, places: NDArray[np.int32], bounds: NDArray[np.int64]) -> WrittenLine:
        metadata = np.empty(len(places), np.int32)
        offset, length = np.empty(len(places), np.int64), np.empty(len(places), np.int64)
        stats: list[StatValues] = []
        of_part = np.searchsorted(bounds, places, "right") - 1
        for number, part in enumerate(self._parts):
            mine = np.flatnonzero(of_part == number).astype(np.int32)
            if not len(mine):
                continue
            rows = part.rows_at(places[mine] - np.int32(bounds[number]))
            metadata[mine], said = part.describe(rows)
            offset[mine] = part.start_ns[rows] - self.timestamp_ns
            length[mine] = np.maximum(part.duration_ns[rows], 0)
            for stat in said:
                kind, bits = stat_bits(stat)
                at = mine if stat.rows is None else mine[stat.rows]
                stats.append(StatValues(self._plane.text(stat.name), kind, at, bits))
        offset *= _PS_PER_NS
        length *= _PS_PER_NS
        return WrittenLine(
            self.id, self.name, "", self.timestamp_ns, metadata, offset, length, tuple(stats)
        )
