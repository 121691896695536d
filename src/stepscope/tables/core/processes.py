"""Which process of a recording a line belongs to, and launch numbers that hold across processes.

A file may hold several processes: the planes of a child carry its number (``/host:CPU [42]``).
Processes number their launches and name their allocators each for itself, so what is joined by
such a number or name must be of one process.
"""

from __future__ import annotations

import re

import numpy as np

from stepscope.columns.space import I32, I64
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.core.distinct_rows import packed
from stepscope.tables.core.planes import PlaneKind, planes
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.stats import Ints, event_stats

_CHILD = re.compile(r" \[\d+\]$")


def is_of_child(plane: str) -> bool:
    """Whether a plane of this name was recorded in a child process."""
    return _CHILD.search(plane) is not None


@dataclass(frozen=True, eq=False, slots=True)
class Processes:
    """The processes of a recording.

    Attributes:
        suffix: What each one's planes end in: "" for the parent, " [42]" for a child.
        of_line: Index into ``suffix`` of each row of ``Space.lines``.
    """

    suffix: tuple[str, ...]
    of_line: I32

    def of_rows(self, host: Host, rows: I64) -> I32:
        """Index into ``suffix`` of each event row."""
        if len(self.suffix) == 1:
            return np.zeros(len(rows), dtype=np.int32)
        found: I32 = self.of_line[host.space.lines_of(rows)]
        return found

    def suffix_of(self, line: int) -> str:
        """What the planes of a line's process end in; "" of no line (-1)."""
        return self.suffix[self.of_line[line]] if line >= 0 else ""


@derived
def processes(host: Host) -> Processes:
    """The processes of a host; the parent is always the first."""
    index = {"": 0}
    of_plane = []
    for plane in host.space.planes:
        child = _CHILD.search(plane.name)
        of_plane.append(index.setdefault(child.group() if child else "", len(index)))
    of_line = [of_plane[line.plane] for line in host.space.lines]
    return Processes(tuple(index), np.asarray(of_line, dtype=np.int32))


@derived
def correlation_ids(host: Host) -> Ints:
    """The numbers that join launches with what they launched: equal only within a process.

    In a file of one process they are those recorded; 0 and below join nothing and stay.
    """
    recorded = event_stats(host).ints(names.CORRELATION_ID)
    known = processes(host)
    if len(known.suffix) == 1 or len(recorded.rows) == 0:
        return recorded
    number = recorded.values
    key = packed((known.of_rows(host, recorded.rows), number)) + 1
    return Ints(recorded.rows, np.where(number > 0, key, number))


@derived
def launch_ids(host: Host) -> Ints:
    """``correlation_ids`` of calls on the host; what they launched has the same ones."""
    stats, space, kinds = correlation_ids(host), host.space, planes(host).plane_kind
    lines = [row for row, one in enumerate(space.lines) if kinds[one.plane] is PlaneKind.HOST]
    of_host = space.on_lines(lines)[stats.rows]
    return Ints(stats.rows[of_host], stats.values[of_host])
