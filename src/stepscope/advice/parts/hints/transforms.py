"""Lengths of Fourier transforms: those with small prime factors are several times as fast."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from stepscope.analysis.step_account import PartRow

# The operand of a transform back to real numbers has half of the length.
_WHOLE: Final = re.compile(r"_fft_(?:r2c|c2c)\b")
_LENGTH: Final = re.compile(r"^[\d×]*?(\d{2,9})(?:,|$)")
# Libraries have routines of their own for small factors.
_LARGE: Final = 50
_SMALL: Final = (2, 3, 5, 7)


def awkward_length(part: PartRow) -> tuple[int, int] | None:
    """The length of a part's transforms, and its large prime factor; None where it has none."""
    said = _LENGTH.match(part.shapes) if part.name == "fft" and _WHOLE.search(part.op) else None
    if said is None:
        return None
    length = int(said[1])
    factor = _largest_factor(length)
    return (length, factor) if factor >= _LARGE else None


def instead_of_length(part: PartRow) -> str:
    """What to do about it; "" where the length is as good as any."""
    found = awkward_length(part)
    if found is None:
        return ""
    length, factor = found
    why = "is a prime" if factor == length else f"has the prime factor {factor}"
    return (
        f"The length {length} {why}: pad to {_next_smooth(length)}, or choose a grid of that many "
        "points, and time the loop. Transforms of lengths with small factors are several times "
        "as fast."
    )


def _largest_factor(number: int) -> int:
    largest, divisor = 1, 2
    while divisor * divisor <= number:
        if number % divisor:
            divisor += 1
        else:
            number //= divisor
            largest = divisor
    return max(largest, number)


def _next_smooth(number: int) -> int:
    """The least number that is as large and has small factors alone."""
    while True:
        rest = number
        for factor in _SMALL:
            while rest % factor == 0:
                rest //= factor
        if rest == 1:
            return number
        number += 1
