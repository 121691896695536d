"""Numbers in recordings: digits of any length in names, and doubles that are not numbers."""

from __future__ import annotations

from math import isfinite

_MOST = (1 << 63) - 1
# More digits than int64 has; Python itself refuses to read thousands of them.
_DIGITS = 20


def whole_number(text: str) -> int | None:
    """The number that a text of decimal digits is; None if it is none, or int64 cannot hold it."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= _DIGITS):
        return None
    number = int(text)
    return number if -_MOST <= number <= _MOST else None


def as_integer(value: object) -> int:
    """A recorded value as an integer; 0 for texts, and for doubles that are not finite."""
    if isinstance(value, float):
        return int(value) if isfinite(value) else 0
    return value if isinstance(value, int) else 0
