"""Tables of SQLite files read page by page, without a Python object per cell.

Only what is plain is read so: rows of NULLs, integers and texts that lie in one page each, of an
ordinary table in UTF-8. For all else, broken pages too, the answer is None, and SQLite is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.formats.packed import NULL, CodedTexts, PackedIntegers
from stepscope.kernels import core
from stepscope.records import dataclass

_HEADER_BYTES: Final = 100
_UTF8: Final = 1
_INTERIOR: Final = 5
_READ_BYTES: Final = 1 << 20
# Numbers of more digits are left in their texts.
_DIGITS: Final = 18
# Of the table in which equal texts of some pages are found.
_SLOTS_PER_TEXT: Final[float] = 2


@dataclass(frozen=True, slots=True)
class PlainTable:
    """Where an ordinary table lies.

    Attributes:
        root: Its first page.
        columns: Its columns, in the order of its records.
        rowid: The column that is another name of the rowid; "" for none.
    """

    root: int
    columns: tuple[str, ...]
    rowid: str


@dataclass(frozen=True, slots=True, eq=False)
class PlainRows:
    """Rows of a table.

    Attributes:
        count: How many.
        numbers: Columns of integers.
        texts: Columns of texts.
        ended: The numbers that were taken off the ends of texts, by what came before them.
    """

    count: int
    numbers: list[PackedIntegers]
    texts: list[CodedTexts]
    ended: dict[str, PackedIntegers]


class TablePages:
    """The pages of a database file.

    Args:
        file: Stays open as long as this is used.

    Attributes:
        page_bytes: Size of each.
        is_cut: Whether the file ends within a page; SQLite takes zeros for the rest.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        head = self._bytes(0, _HEADER_BYTES)
        size = int.from_bytes(head[16:18], "big")
        self.page_bytes = 65536 if size == 1 else max(size, 512)
        self._usable = self.page_bytes - head[20]
        self._is_utf8 = int.from_bytes(head[56:60], "big") == _UTF8
        self._count, rest = divmod(file.seek(0, 2), self.page_bytes)
        said = int.from_bytes(head[28:32], "big")
        is_known = said > 0 and head[24:28] == head[92:96]  # older writers left it as it was
        self.is_cut = rest > 0 and (said > self._count or not is_known)

    def _bytes(self, begin: int, count: int) -> bytes:
        self._file.seek(begin)
        return self._file.read(count)

    def _page(self, page: int, count: int = 1) -> bytes:
        return self._bytes((page - 1) * self.page_bytes, count * self.page_bytes)

    def read(
        self,
        table: PlainTable,
        numbers: Sequence[str],
        texts: Sequence[str],
        endings: Sequence[str] = (),
    ) -> PlainRows | None:
        """Rows and columns of a table, in the order of its rowids.

        Args:
            table: Where it is.
            numbers: Columns of integers.
            texts: Columns of texts.
            endings: What comes before numbers at the ends of texts of the first of these columns,
                the last first; such ends are taken off.

        Returns: None where the table is not plain.
        """
        leaves = self._leaves(table.root)
        if leaves is None or (texts and not self._is_utf8):
            return None
        wanted = [*texts, *numbers]
        if len(set(wanted)) < len(wanted):
            return None
        places = np.full(len(table.columns), -1, np.int32)
        for number, name in enumerate(wanted):
            places[table.columns.index(name)] = number
        last = max(np.flatnonzero(places >= 0).tolist(), default=-1) + 1
        rowid = table.columns.index(table.rowid) if table.rowid else -1
        reader = core.page.PageReader(places[:last].copy().data, rowid, NULL)
        columns = [PackedIntegers() for _ in numbers]
        said = [_TextsRead() for _ in texts]
        ended = {ending: PackedIntegers() for ending in endings if texts}
        count = 0
        for pages, begins in self._pages(leaves):
            heads = pages[begins + 3].astype(np.int64) << 8 | pages[begins + 4]
            if heads.max(initial=0) > (self._usable - 8) // 2:
                return None  # more rows than a page has room for: no room is made for them
            found = np.empty((len(wanted), int(heads.sum())), np.int64)
            lengths = np.empty((len(texts), found.shape[1]), np.int64)
            whole = (pages.data, begins.data, self._usable, found.data, lengths.data)
            if not reader.read(*whole):
                return None
            count += found.shape[1]
            if found.shape[1]:
                for column, values in zip(columns, found[len(texts) :], strict=True):
                    column.add(values)
                for ending, after in ended.items():
                    counted, lengths[0] = _ending(pages, found[0], lengths[0], ending.encode())
                    after.add(counted)
                for text, begin, length in zip(said, found[: len(texts)], lengths, strict=True):
                    text.add(pages, begin, length)
        return PlainRows(count, columns, [one.coded() for one in said], ended)

    def _leaves(self, root: int) -> NDArray[np.int64] | None:
        """The leaf pages of a table in order; None where its pages make no tree."""
        level = np.asarray([root], np.int64)
        seen = 1
        while True:
            if seen > self._count or level.min() < 2 or level.max() > self._count:
                return None
            if self._page(int(level[0]))[:1] != bytes([_INTERIOR]):
                return level
            below: list[NDArray[np.int64]] = []
            for page in level.tolist():
                below.append(self._children(page))
                seen += len(below[-1])
                if not len(below[-1]) or seen > self._count:
                    return None
            level = np.concatenate(below)

    def _children(self, page: int) -> NDArray[np.int64]:
        """The pages below an interior page; none where it is not one."""
        none = np.zeros(0, np.int64)
        bytes_ = self._page(page)
        if len(bytes_) < self.page_bytes or bytes_[0] != _INTERIOR:
            return none
        cells = int.from_bytes(bytes_[3:5], "big")
        if 12 + 2 * cells > self._usable:
            return none
        cell = np.frombuffer(bytes_, ">u2", cells, 12).astype(np.int64)
        if cells and cell.max() + 4 > self._usable:
            return none
        data = np.frombuffer(bytes_, np.uint8)
        four = data[cell[:, None] + np.arange(4)].astype(np.int64)
        below = four @ np.asarray([1 << 24, 1 << 16, 1 << 8, 1])
        return np.append(below, int.from_bytes(bytes_[8:12], "big"))

    def _pages(
        self, leaves: NDArray[np.int64]
    ) -> Iterator[tuple[NDArray[np.uint8], NDArray[np.int64]]]:
        """The bytes of some pages at a time, and where each begins in them."""
        at_once = max(_READ_BYTES // self.page_bytes, 1)
        for begin in range(0, len(leaves), at_once):
            some = leaves[begin : begin + at_once]
            cuts = np.flatnonzero(np.diff(some) != 1) + 1
            runs = np.split(some, cuts)
            joined = b"".join(self._page(int(run[0]), len(run)) for run in runs)
            pages = np.frombuffer(joined, np.uint8)
            if len(pages) < len(some) * self.page_bytes:
                pages = np.zeros(len(some) * self.page_bytes, np.uint8)  # the file became shorter
            yield pages, np.arange(len(some), dtype=np.int64) * self.page_bytes


class _TextsRead:
    """A column of texts that is being read."""

    def __init__(self) -> None:
        self._code: dict[bytes | None, int] = {}
        self._codes: list[NDArray[np.int32]] = []

    def add(
        self, pages: NDArray[np.uint8], begin: NDArray[np.int64], length: NDArray[np.int64]
    ) -> None:
        """The next texts: where each begins and how long it is, -1 for none."""
        count, code = len(begin), self._code
        slots = np.full(1 << int(_SLOTS_PER_TEXT * count).bit_length(), -1, np.int32)
        first = np.empty(count, np.int64)
        columns = (np.ascontiguousarray(begin), np.ascontiguousarray(length))
        if not core.page.find_equal(
            pages.data, *(one.data for one in columns), slots.data, first.data
        ):
            raise ValueError("a text is not in its page")
        own = np.flatnonzero(first == np.arange(count))
        spans = zip(begin[own].tolist(), (begin + length)[own].tolist(), strict=True)
        cells = [pages[one:end].tobytes() if one <= end else None for one, end in spans]
        found = np.empty(count, np.int32)
        found[own] = [code.setdefault(cell, len(code)) for cell in cells]
        self._codes.append(found[first])

    def coded(self) -> CodedTexts:
        """The column."""
        distinct = [None if one is None else one.decode("utf-8", "replace") for one in self._code]
        return CodedTexts(distinct, np.concatenate([np.zeros(0, np.int32), *self._codes]))


def _ending(
    pages: NDArray[np.uint8], begin: NDArray[np.int64], length: NDArray[np.int64], before: bytes
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Numbers at the ends of texts.

    Args:
        pages: Where the texts are.
        begin: Of each.
        length: Of each.
        before: What has to come before the number.

    Returns: The number of each text, ``NULL`` where it does not end so, and the lengths without.
    """
    value, digits = np.zeros(len(begin), np.int64), np.zeros(len(begin), np.int64)
    rows, scale = np.flatnonzero(length > len(before)), 1
    for number in range(_DIGITS + 1):
        at = begin[rows] + length[rows] - 1 - number
        digit = pages[np.maximum(at, 0)] - np.uint8(ord("0"))
        is_one = (at >= begin[rows]) & (digit < 10)
        rows, digit = rows[is_one], digit[is_one]
        if not len(rows):
            break
        digits[rows] += 1
        if number < _DIGITS:
            value[rows] += digit.astype(np.int64) * scale
        scale *= 10
    rest = length - digits - len(before)
    rows = np.flatnonzero((digits > 0) & (digits <= _DIGITS) & (rest >= 0))
    letters = pages[(begin + rest)[rows][:, None] + np.arange(len(before))]
    rows = rows[(letters == np.frombuffer(before, np.uint8)).all(axis=1)]
    found = np.full(len(begin), NULL)
    found[rows] = value[rows]
    kept = length.copy()
    kept[rows] = rest[rows]
    return found, kept
