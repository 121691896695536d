"""Tables of a recording, as databases and folders of files have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from stepscope.formats.packed import NULL, CodedTexts, PackedIntegers

I64 = NDArray[np.int64]
Bool = NDArray[np.bool_]

#: Longest text that is read; the rest of longer ones is left out.
LONGEST_TEXT: Final = 1 << 16


class Rows:
    """Rows of a table as columns.

    Args:
        count: How many there are.
        numbers: Columns of integers, as arrays or packed; of names that are missing every cell
            is ``NULL``.
        texts: Columns of texts; of names that are missing every cell is None.
        known: The columns that the table has.
    """

    def __init__(
        self,
        count: int,
        numbers: Mapping[str, PackedIntegers | I64 | None],
        texts: Mapping[str, CodedTexts | None],
        known: frozenset[str] = frozenset(),
    ) -> None:
        self._count = count
        self._numbers = numbers
        none = CodedTexts([None], np.broadcast_to(np.int32(0), count))
        self.texts = {name: none if one is None else one for name, one in texts.items()}
        self.known = known
        self.ended: dict[str, I64] = {}

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, column: str) -> I64:
        """A column of integers, unpacked; ``NULL`` where the cell has none."""
        found = self._numbers[column]
        if found is None:
            return np.full(self._count, NULL)
        return found.array() if isinstance(found, PackedIntegers) else found

    def has(self, column: str) -> Bool:
        """Which rows have a number in a column."""
        if self._numbers[column] is None:
            return np.zeros(self._count, bool)
        found: Bool = self[column] != NULL
        return found

    def get(self, column: str, missing: int) -> I64:
        """A column of integers with a number of one's own for missing ones."""
        if self._numbers[column] is None:
            return np.full(self._count, missing)
        values = self[column]
        values = values if values.flags.writeable else values.copy()
        values[values == NULL] = missing
        return values

    def reals(self, column: str) -> NDArray[np.float64]:
        """A column of texts as finite numbers; NaN for other texts."""
        texts = self.texts[column]
        found = np.asarray([_real(one) for one in texts.distinct], np.float64)
        return found[texts.codes] if len(found) else np.zeros(0)

    def replaced(self, **numbers: I64) -> Rows:
        """The rows with other columns of integers."""
        return Rows(self._count, {**self._numbers, **numbers}, self.texts, self.known)

    def kept(self, wanted: Bool) -> Rows:
        """Some of the rows, without their texts."""
        numbers = {
            name: None if one is None else self[name][wanted] for name, one in self._numbers.items()
        }
        return Rows(int(wanted.sum()), numbers, {}, self.known)


class TraceTables(Protocol):
    """The tables of one recording; what is wrong in them ends up in its attributes.

    Attributes:
        tables: Column names of each table.
        damage: Why reading ended early ("" where it did not).
        odd_cells: How many cells held something else than they should.
    """

    tables: dict[str, tuple[str, ...]]
    damage: str
    odd_cells: int

    def has(self, table: str, *columns: str) -> bool:
        """Whether there is such a table with such columns."""

    def count(self, table: str) -> int:
        """How many rows a table has; 0 where there is no such table."""

    def rows(
        self,
        table: str,
        numbers: Sequence[str] = (),
        texts: Sequence[str] = (),
        *,
        where: tuple[str, Sequence[str] | Sequence[int]] | None = None,
        endings: Sequence[str] = (),
    ) -> Rows:
        """A table, in the order of the file.

        Args:
            table: Its name; one that is not there has no rows.
            numbers: Columns of integers.
            texts: Columns of texts.
            where: Only rows whose column is one of these values.
            endings: What comes before numbers at the ends of texts of the first column of texts,
                the last first. Where such ends were taken off, ``Rows.ended`` has the numbers.
        """

    def texts(self, table: str, key: str, text: str, wanted: I64) -> dict[int, str]:
        """Texts by number, those of the wanted numbers alone.

        Args:
            table: Table of texts.
            key: Its column of numbers.
            text: Its column of texts.
            wanted: Which numbers.
        """


def _real(text: str | None) -> float:
    try:
        found = float(text or "nan")
    except ValueError:
        return float("nan")
    return found if np.isfinite(found) else float("nan")


def shortcomings(tables: TraceTables, what: str) -> Iterator[str]:
    """What was wrong in the tables that were read, in sentences; ``what`` names their file."""
    if tables.odd_cells:
        yield (
            f"{tables.odd_cells:,} cells hold something else than they should; they count as "
            "unknown."
        )
    if tables.damage:
        yield (
            f"The {what} cannot be read to its end ({tables.damage}): rows are missing, and "
            "totals are lower bounds."
        )
