"""Numbers exactly as recorded: int64, uint64 and doubles beside each other, 64 bits each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import KIND_DOUBLE, KIND_INT64, KIND_UINT64, U8, U64
from stepscope.records import dataclass

F64 = NDArray[np.float64]
# Up to here a double, and with it a page, holds every integer.
_DOUBLE_HOLDS: Final = 1 << 53


@dataclass(frozen=True, slots=True)
class Span:
    """What several readings come to; integers are exact Python integers, None means no reading.

    Attributes:
        least, most, total: Of those that are numbers.
        mean: ``total`` ÷ their count.
    """

    least: int | float | None = None
    mean: float | None = None
    most: int | float | None = None
    total: int | float | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Readings:
    """Readings in columns.

    Attributes:
        kind: ``KIND_INT64``, ``KIND_UINT64`` or ``KIND_DOUBLE`` of each; NaN is not a number.
        bits: The 64 bits of each.
    """

    kind: U8
    bits: U64

    def __len__(self) -> int:
        return len(self.bits)

    def take(self, places: Any) -> Readings:
        """Those at these places (indices, a mask or a slice)."""
        return Readings(self.kind[places], self.bits[places])

    def at(self, place: int) -> int | float | None:
        """One of them, exact; None for NaN."""
        return self.take(slice(place, place + 1)).span().total

    @property
    def floats(self) -> F64:
        """Each as the nearest double."""
        values = self.bits.view(np.int64).astype(np.float64)
        unsigned, doubles = self.kind == KIND_UINT64, self.kind == KIND_DOUBLE
        values[unsigned] = self.bits[unsigned].astype(np.float64)
        values[doubles] = self.bits[doubles].view(np.float64)
        return values

    def column(self) -> NDArray[Any] | list[int | float]:
        """All exactly: an array of int64, uint64 or doubles where one holds all, else a list."""
        doubles = self.kind == KIND_DOUBLE
        if doubles.all() and len(self):
            return self.floats
        top = self.bits >> np.uint64(63) > 0
        if not doubles.any() and not (top & (self.kind == KIND_UINT64)).any():
            return self.bits.view(np.int64)
        if not doubles.any() and not (top & (self.kind == KIND_INT64)).any():
            return self.bits
        values = self.floats.astype(object)
        for kind, whole in ((KIND_INT64, self.bits.view(np.int64)), (KIND_UINT64, self.bits)):
            values[self.kind == kind] = whole[self.kind == kind].astype(object)
        listed: list[int | float] = values.tolist()
        return listed

    def digits(self) -> list[str]:
        """All digits of the integers that no double holds; "" for all other readings."""
        texts = np.full(len(self), "", dtype=object)
        signed, unsigned = self.bits.view(np.int64), self.bits
        for kind, values, beyond in (
            (KIND_INT64, signed, (signed < -_DOUBLE_HOLDS) | (signed > _DOUBLE_HOLDS)),
            (KIND_UINT64, unsigned, unsigned > _DOUBLE_HOLDS),
        ):
            where = beyond & (self.kind == kind)
            texts[where] = values[where].astype(np.str_).astype(object)
        listed: list[str] = texts.tolist()
        return listed

    def span(self) -> Span:
        """Least, mean, most and total."""
        doubles = self.bits[self.kind == KIND_DOUBLE].view(np.float64)
        doubles = doubles[~np.isnan(doubles)]
        parts: list[NDArray[Any]] = [
            self.bits.view(np.int64)[self.kind == KIND_INT64],
            self.bits[self.kind == KIND_UINT64],
        ]
        whole = sum(_exact_sum(part) for part in parts)
        parts = [part for part in (*parts, doubles) if len(part)]
        if not parts:
            return Span()
        with np.errstate(invalid="ignore", over="ignore"):
            total = whole + float(doubles.sum()) if len(doubles) else whole
        return Span(
            least=min(part.min().item() for part in parts),
            mean=total / sum(map(len, parts)),
            most=max(part.max().item() for part in parts),
            total=total,
        )


def _exact_sum(values: NDArray[Any]) -> int:
    """Σ of int64 or uint64, beyond 64 bits where it takes more: both halves on their own."""
    half = values.dtype.type(32)
    mask = values.dtype.type((1 << 32) - 1)
    return (int((values >> half).sum()) << 32) + int((values & mask).sum())


def joined(parts: Sequence[Readings]) -> Readings:
    """All readings of the parts, one after the other."""
    return Readings(
        np.concatenate([np.zeros(0, np.uint8), *(part.kind for part in parts)]),
        np.concatenate([np.zeros(0, np.uint64), *(part.bits for part in parts)]),
    )


def as_column(values: Sequence[int | float | None]) -> NDArray[Any] | list[int | float | None]:
    """Numbers exactly: an array of int64, uint64 or doubles where one holds all, else a list."""
    if all(type(value) is int for value in values):
        for kind in (np.int64, np.uint64):
            limits = np.iinfo(kind)
            if all(int(limits.min) <= value <= int(limits.max) for value in values if value):
                return np.asarray(values, dtype=kind)
    if not any(type(value) is int for value in values):
        return np.asarray([np.nan if value is None else value for value in values])
    return list(values)
