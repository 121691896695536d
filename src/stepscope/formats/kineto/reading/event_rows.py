"""The rows that a scan finds, kept block by block, each column as narrow as its numbers allow.

Most columns count things of which a file has few (names, threads, categories): a block of them
needs one byte or two a row instead of four or eight, and joined they still do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import distinct_codes
from stepscope.formats.packed import narrow
from stepscope.records import dataclass

I64 = NDArray[np.int64]
Ints = NDArray[np.integer[Any]]

#: ``kind`` of a value: a double's bits, a whole number, the number of a text.
REAL, WHOLE, TEXT = 2, 4, 7
# So many keys are looked for one after the other.
_FEW_KEYS: Final = 64


def joined(parts: list[NDArray[Any]], kind: type[Any]) -> NDArray[Any]:
    """Parts of a column as one, in the narrowest type that holds them; ``parts`` is emptied."""
    found = np.concatenate(parts) if parts else np.empty(0, kind)
    parts.clear()
    return found


@dataclass(frozen=True, slots=True, eq=False)
class OwnValues:
    """Values of one kind that hardly repeat, those of one key after the other's.

    Attributes:
        key: The keys, by the numbers of their texts, ascending.
        begin: Where the values of each begin, and where the last end.
        row: The event of each value, ascending within a key.
        number: The values: whole numbers, doubles, or numbers of texts.
    """

    key: I64
    begin: I64
    row: NDArray[np.int32]
    number: NDArray[Any]

    def of(self, key: int) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """The events that have a value under a key, and the values."""
        at = int(np.searchsorted(self.key, key))
        if at == len(self.key) or self.key[at] != key:
            return self.row[:0], self.number[:0]
        mine = slice(self.begin[at], self.begin[at + 1])
        return self.row[mine], self.number[mine]


class EventRows:
    """Columns of events that grow by whole blocks; each is joined once, at the end.

    Args:
        kinds: The columns and their types within a block.
    """

    def __init__(self, kinds: Mapping[str, type[Any]]) -> None:
        self._kinds = kinds
        self._parts: dict[str, list[NDArray[Any]]] = {name: [] for name in kinds}
        self.count = 0

    def keep(self, block: Mapping[str, NDArray[Any]], rows: slice | I64) -> None:
        """Keep some rows of a block, which can then be overwritten."""
        for name in self._kinds:
            self._parts[name].append(narrow(block[name][rows]))
        self.count += len(self._parts["phase"][-1])

    def columns(self) -> dict[str, NDArray[Any]]:
        """All columns; what was kept is given up."""
        return {name: joined(self._parts[name], kind) for name, kind in self._kinds.items()}


class ValueRows:
    """Values with rows of their own, by kind; they are sorted by key once, at the end."""

    def __init__(self) -> None:
        self._parts: dict[int, tuple[list[Any], list[Any], list[Any]]] = {
            kind: ([], [], []) for kind in (REAL, WHOLE, TEXT)
        }

    def keep(
        self, key: NDArray[Any], kind: NDArray[Any], number: I64, row: NDArray[np.int32]
    ) -> None:
        """Keep values of a block, which can then be overwritten; ``row`` is the event of each."""
        for one, (keys, rows, numbers) in self._parts.items():
            at = np.flatnonzero(kind == one)
            if len(at):
                keys.append(narrow(key[at]))
                rows.append(row[at])
                values = number[at]
                numbers.append(values.view(np.float64) if one == REAL else narrow(values))

    def by_kind(self) -> dict[int, OwnValues]:
        """All values; what was kept is given up."""
        return {kind: _group_by_key(*parts) for kind, parts in self._parts.items()}


def _group_by_key(keys: list[Any], rows: list[Any], numbers: list[Any]) -> OwnValues:
    key = joined(keys, np.int32)
    used = distinct_codes(key)[0]
    if len(used) > _FEW_KEYS:
        order = np.argsort(key, kind="stable").astype(np.int32)
        begin = np.searchsorted(key[order], np.append(used, used[-1] + 1))
    else:  # the sort would take more memory than the values
        order = np.empty(len(key), np.int32)
        begin = np.zeros(len(used) + 1, np.int64)
        for at, one in enumerate(used.tolist()):
            mine = np.flatnonzero(key == one)
            begin[at + 1] = begin[at] + len(mine)
            order[begin[at] : begin[at + 1]] = mine
    del key
    row = joined(rows, np.int32)[order]
    return OwnValues(used, begin, row, joined(numbers, np.int64)[order])
