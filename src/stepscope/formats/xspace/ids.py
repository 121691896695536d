"""From the metadata ids of one plane to rows of the metadata columns.

Ids may be any 64-bit number, and events may name ids that the file lacks: those get rows of
their own after the file's entries, so that every event and stat has a row.
"""

from __future__ import annotations

from threading import Lock
from typing import Final

import numpy as np

from stepscope.columns.space import I32, I64, U64
from stepscope.records import dataclass, field


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


_SORTED_IDS: Final = 1 << 16
# Most planes number theirs from 1 with few gaps. A table as long as the largest id could be
# 500,000 times the bytes that name it.
_ROWS_PER_ID: Final = 16
_LEAST_ROWS: Final = 64
_NO_ROWS: Final[I32] = np.empty(0, np.int32)
_NO_IDS: Final[U64] = np.empty(0, np.uint64)


class IdRows:
    """The rows of one plane's ids: a table for small ids, which the kernel reads, and bisection.

    Args:
        plane: Row of the plane.
        ids: The ids the plane has entries for.
        rows: Their rows.
        missing: Where ids without entry get a row.
    """

    __slots__ = ("known", "large", "missing", "plane", "table")

    def __init__(self, plane: int, ids: I64, rows: I32, missing: MissingIds) -> None:
        self.plane = plane
        self.missing = missing
        self.known = 0
        self.table: I32 = _NO_ROWS
        # One attribute, so that a thread that reads it while another replaces it sees a pair.
        self.large: tuple[U64, I32] = _NO_IDS, _NO_ROWS
        if len(ids):
            self._learn(ids.view(np.uint64), rows)

    def resolve(self, ids: U64) -> I32:
        """The rows of ``ids``; those without entry get one."""
        unique, inverse = np.unique(ids, return_inverse=True)
        found = self._known(unique)
        new = found < 0
        if new.any():
            found[new] = [self.missing.row(self.plane, key) for key in unique[new].tolist()]
            with self.missing.lock:
                self._learn(unique[new], found[new])
        return found[inverse].astype(np.int32)

    def _known(self, unique: U64) -> I32:
        found = np.full(len(unique), -1, np.int32)
        table, (keys, rows) = self.table, self.large
        small = unique < np.uint64(len(table))
        found[small] = table[unique[small].astype(np.int64)]
        if len(keys):
            place = np.minimum(np.searchsorted(keys, unique), len(keys) - 1)
            hit = keys[place] == unique
            found[hit] = rows[place[hit]]
        return found

    def _learn(self, keys: U64, rows: I32) -> None:
        self.known += len(keys)
        limit = max(_ROWS_PER_ID * self.known, _LEAST_ROWS, len(self.table))
        small = keys < np.uint64(limit)
        if small.any():
            places = keys[small].astype(np.int64)
            table = self.table
            if places.max() >= len(table):
                table = np.full(int(places.max()) + 1, -1, np.int32)
                table[: len(self.table)] = self.table
            table[places] = rows[small]
            self.table = table
        known, rows_of_known = self.large
        # Sorting pays for few ids; of very many, each seldom comes twice, and ``missing`` has it.
        if not small.all() and len(known) < _SORTED_IDS:
            merged, first = np.unique(np.append(known, keys[~small]), return_index=True)
            self.large = merged, np.append(rows_of_known, rows[~small])[first]
