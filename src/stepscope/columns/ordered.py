"""What sorting tells of an array.

NumPy has all of it, but imports ``numpy.ma`` to ask whether the array is masked: 8 ms of the time
in which a small profile's overview is on the screen.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Number = TypeVar("Number", bound=np.generic)


def distinct(values: NDArray[Number]) -> NDArray[Number]:
    """The distinct values of an array of any shape, ascending."""
    ordered = np.sort(values, axis=None)
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def quantile(values: ArrayLike, frac: float) -> float:
    """The value that ``frac`` (0-1) of the values lie below, linear between two neighbours.

    NaN of no values, and where one of them is NaN.
    """
    found = np.asarray(values)
    if not len(found) or np.isnan(found).any():
        return float("nan")
    place = frac * (len(found) - 1)
    below = int(place)
    above = min(below + 1, len(found) - 1)
    parted = np.partition(found, (below, above))
    low, high = float(parted[below]), float(parted[above])
    return low + (high - low) * (place - below) if high > low else low


def median(values: ArrayLike) -> float:
    """The middle value, halfway between two of an even number; NaN as of ``quantile``."""
    return quantile(values, 0.5)
