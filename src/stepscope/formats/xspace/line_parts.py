"""Lines put together from events of several origins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
        # One for all: there may be as many rows as a file of a gigabyte has events.
        every = np.arange(self._count, self._count + len(start_ns), dtype=np.int32)
        for stat in stats:
            if stat.rows is None:
                stat = Stat(stat.name, stat.values, every, stat.is_text)
            elif self._count:
                stat = Stat(stat.name, stat.values, stat.rows + self._count, stat.is_text)
            self._stats.append(stat)
        self._columns.append((metadata, start_ns, duration_ns))
        self._count += len(start_ns)

    def write(self, plane: PlaneWriter, number: int, name: str) -> None:
        """All of them as one line; nothing where there are none."""
        if not self._columns:
            return
        metadata, start, length = (_one(list(parts)) for parts in zip(*self._columns, strict=True))
        self._columns.clear()
        plane.line(
            number, name, metadata=metadata, start_ns=start, duration_ns=length, stats=self._stats
        )


def _one(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def stat_of(name: str, values: NDArray[Any], chosen: Bool, *, is_text: bool = False) -> list[Stat]:
    """A stat of the chosen of some events, as one or no stat."""
    if len(chosen) and chosen.all():
        return [Stat(name, values, None, is_text)]
    rows = np.flatnonzero(chosen).astype(np.int32)
    return [Stat(name, values[rows], rows, is_text)] if len(rows) else []
