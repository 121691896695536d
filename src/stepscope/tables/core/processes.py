"""Which process of a recording a plane belongs to, and keys that hold within a process only.

A file may hold several processes: the planes of a child carry its number (``/host:CPU [42]``).
Processes number their launches and name their allocators each for itself, so what is joined by
such a number or name must be of one process.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import I32, I64
from stepscope.tables.core.distinct_rows import packed
from stepscope.tables.core.profile import Host, derived

_CHILD = re.compile(r" \[(\d+)\]$")


@derived
def process_of_lines(host: Host) -> I32:
    """The process of each row of ``Space.lines``: 0 for the parent, else one number per child."""
    children: dict[str, int] = {}
    of_plane = []
    for plane in host.space.planes:
        child = _CHILD.search(plane.name)
        of_plane.append(children.setdefault(child.group(1), len(children) + 1) if child else 0)
    return np.asarray([of_plane[line.plane] for line in host.space.lines], dtype=np.int32)


def process_of_rows(host: Host, rows: I64) -> I32:
    """The process of each event row."""
    of_lines = process_of_lines(host)
    if not of_lines.any():
        return np.zeros(len(rows), dtype=np.int32)
    found: I32 = of_lines[host.space.lines_of(rows)]
    return found


def keyed_by_process(
    host: Host, *columns: tuple[I64, NDArray[np.integer]]
) -> tuple[NDArray[np.integer], ...]:
    """Numbers that are equal exactly where number and process are.

    Args:
        host: Whose.
        columns: Event rows, and a number of each (such as its correlation id); all are made
            comparable with each other. Numbers below 0 stay as they are: they join nothing.
    """
    if not process_of_lines(host).any():
        return tuple(numbers for _rows, numbers in columns)
    process = np.concatenate([process_of_rows(host, rows) for rows, _numbers in columns])
    number = np.concatenate([numbers.astype(np.int64) for _rows, numbers in columns])
    key = np.where(number >= 0, packed((process, number)), number)
    cuts = np.cumsum([len(rows) for rows, _numbers in columns])[:-1]
    return tuple(np.split(key, cuts))
