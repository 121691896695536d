"""Columns of a file that is read row by row, in as few bytes as their values need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, overload

import numpy as np
from numpy.typing import NDArray

I64 = NDArray[np.int64]
Bool = NDArray[np.bool_]

#: The value in a column of integers where the file has none.
NULL: Final = int(np.iinfo(np.int64).min)
_BLOCK: Final = 1 << 16
_WIDTHS: Final = tuple(
    (width, int(np.iinfo(width).min), int(np.iinfo(width).max))
    for width in (np.int8, np.int16, np.int32)
)


def narrow(values: NDArray[Any]) -> NDArray[Any]:
    """A copy in the narrowest type of signed integers that holds all of them."""
    if values.dtype.kind == "i" and len(values):
        return _narrow(values, int(values.min()), int(values.max()))
    return values.copy()


def _narrow(values: NDArray[Any], least: int, most: int) -> NDArray[Any]:
    for width, low, high in _WIDTHS[: values.dtype.itemsize.bit_length() - 1]:
        if low <= least and most <= high:
            return values.astype(width)
    return values.copy()


def compact(values: NDArray[Any]) -> NDArray[Any]:
    """Integers or flags in few bytes: as :func:`narrow`, and one for all where they are equal.

    The result may be read-only; anything but integers and flags comes back as it is.
    """
    if values.dtype.kind not in "ib" or not len(values):
        return values
    least, most = values.min(), values.max()
    if least == most:
        return _repeated(narrow(values[:1]), len(values))
    return values if values.dtype.kind == "b" else _narrow(values, int(least), int(most))


def _repeated(one: NDArray[Any], times: int) -> NDArray[Any]:
    """As ``np.broadcast_to``, which takes ten times as long, for columns by the dozen."""
    found: NDArray[Any] = np.ndarray(times, one.dtype, one, strides=(0,))
    found.flags.writeable = False
    return found


class PackedIntegers:
    """A column of integers, ``NULL`` where there is none, that grows bit by bit."""

    def __init__(self) -> None:
        self._blocks: list[tuple[NDArray[Any], Bool | None]] = []
        # Small blocks would be scattered between what else is allocated meanwhile.
        self._waiting = np.empty(_BLOCK, np.int64)
        self._waits = 0

    def add(self, values: I64) -> None:
        """The next values."""
        for begin in range(0, len(values), _BLOCK):
            some = values[begin : begin + _BLOCK]
            if self._waits + len(some) > _BLOCK:
                self._pack()
            self._waiting[self._waits : self._waits + len(some)] = some
            self._waits += len(some)

    def _pack(self) -> None:
        values = self._waiting[: self._waits].copy()
        self._waits = 0
        has = values != NULL
        if has.all():
            self._blocks.append((compact(values), None))
        elif not has.any():
            self._blocks.append((compact(np.zeros(len(values), np.int64)), compact(has)))
        else:
            self._blocks.append((compact(np.where(has, values, values[has].min())), has))

    def array(self) -> I64:
        """The whole column; nothing can be added to it afterwards."""
        if self._waits and not self._blocks:  # a small table: nothing to pack
            return self._waiting[: self._waits].copy()
        if self._waits:
            self._pack()
            self._waiting = np.empty(0, np.int64)
        found = np.empty(sum(len(values) for values, _ in self._blocks), np.int64)
        at = 0
        for values, has in self._blocks:
            part = found[at : at + len(values)]
            part[:] = values
            if has is not None:
                part[~has] = NULL
            at += len(values)
        return found


class CodedTexts(Sequence[str | None]):
    """A column of texts of which each distinct one is kept once; None where there is none.

    Attributes:
        distinct: The texts, in the order in which they are met.
        codes: Which of them each row has.
    """

    def __init__(self, distinct: list[str | None], codes: NDArray[np.int32]) -> None:
        self.distinct = distinct
        self.codes = codes

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, at: int) -> str | None: ...
    @overload
    def __getitem__(self, at: slice) -> CodedTexts: ...
    def __getitem__(self, at: int | slice) -> str | CodedTexts | None:
        """The text of a row, or a stretch of the column."""
        if isinstance(at, slice):
            return CodedTexts(self.distinct, self.codes[at])
        return self.distinct[int(self.codes[at])]

    def __iter__(self) -> Iterator[str | None]:
        """The text of each row."""
        return map(self.distinct.__getitem__, self.codes.tolist())
