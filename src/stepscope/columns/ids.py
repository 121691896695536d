"""From the metadata ids of one plane to rows of the metadata columns.

Ids may be any 64-bit number, and events may name ids that the file lacks: those get rows of
their own behind the file's entries, so that every event and stat has a row.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock

import numpy as np

from stepscope.columns.space import I32, I64, U64


@dataclass(slots=True)
class MissingIds:
    """Rows for ids that the file lacks, over all planes; shared by the threads of a decode.

    Attributes:
        first_row: The row of the first of them.
        rows: ``{(plane, id): row}``, in the order they were met.
    """

    first_row: int
    rows: dict[tuple[int, int], int] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def row(self, plane: int, key: int) -> int:
        """The row of an id; made when it is new."""
        with self.lock:
            return self.rows.setdefault((plane, key), self.first_row + len(self.rows))

    def sorted(self) -> tuple[list[tuple[int, int]], I32]:
        """The (plane, id) pairs in order, and for each row as met its row in that order.

        Threads meet ids in any order; the columns should not depend on it.
        """
        order = sorted(self.rows, key=lambda pair: (pair[0], _signed(pair[1])))
        final = np.empty(len(order), np.int32)
        for position, pair in enumerate(order):
            final[self.rows[pair] - self.first_row] = self.first_row + position
        return [(plane, _signed(key)) for plane, key in order], final


def _signed(key: int) -> int:
    return key - (1 << 64) if key >> 63 else key


class IdRows:
    """The rows of one plane's ids: a table for small ids, bisection for the rest.

    Args:
        plane: Row of the plane.
        ids: The ids the plane has entries for.
        rows: Their rows.
        missing: Where ids without entry get a row.
    """

    def __init__(self, plane: int, ids: I64, rows: I32, missing: MissingIds) -> None:
        self.plane = plane
        self.missing = missing
        keys = ids.view(np.uint64)
        size = np.uint64(4 * len(keys) + 1024)
        small = keys < size
        self.table = np.full(int(keys[small].max()) + 1 if small.any() else 0, -1, np.int32)
        self.table[keys[small].astype(np.int64)] = rows[small]
        order = np.argsort(keys[~small], kind="stable")
        self.keys: U64 = keys[~small][order]
        self.rows: I32 = rows[~small][order]

    def views(self) -> tuple[memoryview, memoryview, memoryview]:
        """Table, keys and rows as the kernel takes them; entries with row -1 are unknown."""
        return self.table.data, self.keys.data, self.rows.data

    def resolve(self, ids: U64) -> I32:
        """The rows of ``ids``; ids without entry get one and are found faster from now on."""
        unique, inverse = np.unique(ids, return_inverse=True)
        found = self._known(unique)
        new = found < 0
        if new.any():
            added = [self.missing.row(self.plane, key) for key in unique[new].tolist()]
            found[new] = added
            if len(added) * 2 <= len(ids) or len(self.keys) < 4096:
                self._learn(unique[new], found[new])
        return found[inverse].astype(np.int32)

    def _known(self, unique: U64) -> I32:
        found = np.full(len(unique), -1, np.int32)
        small = unique < np.uint64(len(self.table))
        found[small] = self.table[unique[small].astype(np.int64)]
        keys, rows = self.keys, self.rows
        if len(keys):
            place = np.minimum(np.searchsorted(keys, unique), len(keys) - 1)
            hit = (keys[place] == unique) & ~small
            found[hit] = rows[place[hit]]
        return found

    def _learn(self, keys: U64, rows: I32) -> None:
        small = keys < np.uint64(len(self.table))
        self.table[keys[small].astype(np.int64)] = rows[small]
        with self.missing.lock:
            if not small.all():
                all_keys, first = np.unique(
                    np.concatenate([self.keys, keys[~small]]), return_index=True
                )
                self.rows = np.concatenate([self.rows, rows[~small]])[first]
                self.keys = all_keys
