"""Lines put together from events of several origins, and the rows of columns that belong to one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepscope.formats.xspace.event_bytes import I64
from stepscope.formats.xspace.plane_writer import PlaneWriter, Stat

Bool = NDArray[np.bool_]


class LineParts:
    """Events of one line that come from several places."""

    def __init__(self) -> None:
        self._columns: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] = []
        self._stats: list[Stat] = []
        self._count = 0

    def add(
        self,
        metadata: NDArray[Any],
        start_ns: NDArray[Any],
        duration_ns: NDArray[Any],
        stats: Sequence[Stat],
    ) -> None:
        """More events; rows of the stats count these alone."""
        for stat in stats:
            rows = np.arange(len(start_ns)) if stat.rows is None else stat.rows
            self._stats.append(Stat(stat.name, stat.values, rows + self._count, stat.is_text))
        self._columns.append((metadata, start_ns, duration_ns))
        self._count += len(start_ns)

    def write(self, plane: PlaneWriter, number: int, name: str) -> None:
        """All of them as one line."""
        metadata, start, length = (np.concatenate([c[i] for c in self._columns]) for i in range(3))
        plane.line(
            number, name, metadata=metadata, start_ns=start, duration_ns=length, stats=self._stats
        )


def by_place(place: I64, rows: I64) -> Iterator[tuple[int, I64]]:
    """The rows of each place, in their order."""
    order = rows[np.argsort(place[rows], kind="stable")]
    cuts = np.flatnonzero(np.diff(place[order])) + 1
    for part in np.split(order, cuts):
        if len(part):
            yield int(place[part[0]]), part


def stat_of(name: str, values: NDArray[Any], chosen: Bool, *, is_text: bool = False) -> list[Stat]:
    """A stat of the chosen of some events, as one or no stat."""
    rows = np.flatnonzero(chosen)
    return [Stat(name, values[rows], rows, is_text)] if len(rows) else []
