"""Quantities as a person reads them: numbers, times and sizes, in one unit everywhere.

A time is in µs below 1 ms and in s from 10,000 ms on; a size has a binary prefix. Pages give four
significant digits, sentences three, estimates two. Nothing here changes a value.
"""

from __future__ import annotations

import math
import re
from typing import Final

#: What stands for a value that is not known.
NOT_AVAILABLE: Final = "–"

_BINARY: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_SECONDS_FROM_MS: Final = 10_000
_SCIENTIFIC: Final = re.compile(r"\b\d(?:\.\d+)?e\+\d\d\b")

_SIZE: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([a-zA-Z]*)")
#: Bytes of each unit of a size.
BYTE_UNITS: Final = {
    "B": 1.0,
    "kB": 1e3,
    "KB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "TB": 1e12,
    "KiB": 2.0**10,
    "MiB": 2.0**20,
    "GiB": 2.0**30,
    "TiB": 2.0**40,
}


def number(value: float) -> str:
    """A number with thousands separators and about four significant digits."""
    size = abs(value)
    if value == 0:
        return "0"
    if size >= 1000:
        return f"{value:,.0f}"
    if size >= 100:
        return f"{value:,.1f}"
    if size >= 1:
        return f"{value:,.2f}"
    if size >= 0.001:
        return f"{value:.3f}"
    return f"{value:.1e}"


def signed(value: float) -> str:
    """A change: as ``number``, with its sign."""
    return with_minus(f"{'+' if value > 0 else ''}{number(value)}")


def with_minus(text: str) -> str:
    """Return a number in words with a minus sign in place of the hyphen."""
    return text.replace("-", "−")


def signed_percent(fraction: float) -> str:
    """Return a change as a share, with its sign: "−36.9 %"."""
    return with_minus(f"{100 * fraction:+.1f} %")


def share_words(fraction: float, digits: int = 0) -> str:
    """Return a fraction 0–1 in a sentence: "12 %", "<1 %"; "" where it is unknown."""
    if math.isnan(fraction):
        return ""
    least = 10.0**-digits
    return f"<{least:g} %" if 0 < 100 * fraction < least else f"{100 * fraction:.{digits}f} %"


def percent(fraction: float | None) -> str:
    """A fraction 0–1 as per cent in a table: "12.3%"."""
    return NOT_AVAILABLE if fraction is None or math.isnan(fraction) else f"{fraction * 100:.1f}%"


def count_words(number: int, noun: str) -> str:
    """Return how many of a thing there are: "1 run", "2,000 runs"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def milliseconds(value_ms: float) -> str:
    """A measured time for a page: "850.0 µs", "20.10 ms", "32.10 s"."""
    unit, scale = _unit_of(value_ms)
    return f"{number(value_ms * scale)} {unit}"


def time_words(value_ms: float) -> str:
    """A time for a sentence: "367 µs", "8.8 ms", "1,510 ms", "15.1 s"."""
    # What is rounded to a thousand of a unit is one of the next.
    unit, scale = _unit_of(float(f"{value_ms:.3g}"))
    return f"{written_out(f'{value_ms * scale:.3g}')} {unit}"


def time_change(value_ms: float) -> str:
    """A change of a time for a sentence, with its sign: "+8.8 ms", "−367 µs"."""
    return with_minus(f"{'+' if value_ms > 0 else ''}{time_words(value_ms)}")


def roughly(value_ms: float, beside_ms: float | None = None, most_ms: float | None = None) -> str:
    """An estimated time: two digits, for more are not known.

    Args:
        value_ms: The estimate.
        beside_ms: A time whose unit it takes; None: its own.
        most_ms: A time that it cannot exceed: a third digit keeps it from being rounded above.
    """
    if not math.isfinite(value_ms):
        return f"{value_ms:g} ms"
    unit, scale = _unit_of(float(f"{value_ms if beside_ms is None else beside_ms:.2g}"))
    scaled, digits = float(f"{value_ms * scale:.2g}"), 2
    if most_ms is not None and scaled > most_ms * scale:
        scaled, digits = min(value_ms, most_ms) * scale, 3
    return f"{written_out(f'{scaled if scaled >= 0.01 else 0:.{digits}g}')} {unit}"


def _unit_of(value_ms: float) -> tuple[str, float]:
    """The unit of a time, and what to multiply milliseconds by."""
    if 0 < abs(value_ms) < 1:
        return "µs", 1e3
    return ("s", 1e-3) if abs(value_ms) >= _SECONDS_FROM_MS else ("ms", 1.0)


def size_words(value_bytes: float) -> str:
    """Bytes with a binary prefix: "1.5 MiB"."""
    if not value_bytes >= 0:
        return NOT_AVAILABLE
    step, scaled = 0, float(value_bytes)
    while scaled >= 1024 and step < len(_BINARY) - 1:
        scaled /= 1024
        step += 1
    return f"{scaled:.0f} B" if step == 0 else f"{scaled:.1f} {_BINARY[step]}"


def parse_size(text: str) -> int:
    """Bytes of a size such as "500MB" or "1.5 GiB".

    Raises:
        ValueError: It is none.
    """
    parts = _SIZE.fullmatch(text.strip())
    if parts is None or parts[2] not in BYTE_UNITS:
        raise ValueError(text)
    return int(float(parts[1]) * BYTE_UNITS[parts[2]])


def written_out(text: str) -> str:
    """A text whose large numbers are written out: "1.51e+04 ms" is 15,100 ms."""
    return _SCIENTIFIC.sub(lambda found: f"{float(found[0]):,.0f}", text)
