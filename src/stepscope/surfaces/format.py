"""Numbers and names as a person reads them: one place, so terminal and Markdown agree.

A field's unit is the suffix of its name (``_ms``, ``_frac`` …) or its ``Column``; nothing here
changes a value, it only prints it.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from typing import Any, Final

from stepscope.field_names import unit_of
from stepscope.quantities import NOT_AVAILABLE, milliseconds, number, percent, size_words
from stepscope.result import Column, Place

# Columns that each half of a place has at most.
_PLACE_LENGTH = 44


def place_text(place: Place | None) -> str:
    """Return a place in a line: "train.py:31 parse · cv2.resize".

    Returns:
        The file without its folders, and never without its line; "" where nothing is known.
    """
    if place is None:
        return ""
    name = _base_name(place.file)
    at = f"{name}:{place.line}" if name and place.line else name
    function = shorten(place.function.replace(".<locals>", ""), _PLACE_LENGTH)
    code = " ".join(part for part in (at, function) if part)
    inner = place.call or place.op or place.family
    return " · ".join(part for part in (code, shorten(inner, _PLACE_LENGTH)) if part)


def caller_text(place: Place | None) -> str:
    """Return the caller of a place: "called from main (:90)", with its file if it is another.

    A package that calls the function back follows: "by scipy.optimize.minimize".
    """
    if place is None:
        return ""
    at, _, function = _base_name(place.caller).partition(" ")
    function, by, package = function.partition(" by ")
    name, _, line = at.rpartition(":")
    if not function or not line.isdigit():
        return ""
    function = shorten(function.replace(".<locals>", ""), _PLACE_LENGTH)
    file = "" if name == _base_name(place.file) else name
    return f"called from {function} ({file}:{line}){by}{package}"


def _base_name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


def cell(value: Any, column: Column) -> str:
    """One cell of a table, without its unit (the heading has it)."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return NOT_AVAILABLE
    if column.kind == "flag":
        return "yes" if value else "no"
    if isinstance(value, str):
        return clean(value)
    if column.kind == "ratio":
        return f"{value * 100:.1f}"
    if column.kind == "bytes":
        return size_words(value) if value >= 0 else f"-{size_words(-value)}"
    if column.kind in ("count", "rank") or isinstance(value, int):
        # As an integer where it is one: a double rounds those beyond 2^53.
        if not float(value).is_integer():
            return number(value)  # a mean of numbers
        shape = "d" if isinstance(value, int) else ".0f"
        return f"{value:,{shape}}" if column.kind == "count" else f"{value:{shape}}"
    return number(value)


def heading(column: Column) -> str:
    """A column's heading with its unit."""
    if column.unit and column.kind != "bytes":
        return f"{column.label} ({column.unit})"
    return column.label


def scalar(name: str, value: Any) -> str:
    """One field of a result with its unit."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return NOT_AVAILABLE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return clean(value) or NOT_AVAILABLE
    if name.endswith("_frac"):
        return percent(value)
    if name.endswith("_bytes"):
        return size_words(value)
    if name.endswith("_ms"):
        return milliseconds(float(value))
    shown = f"{value:,}" if isinstance(value, int) else number(float(value))
    return " ".join(filter(None, (shown, unit_of(name))))


_INVISIBLE: Final = "\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff"
_UNSAFE: Final = re.compile(f"[\x00-\x1f{_INVISIBLE}]")
# JSON has escaped the others, but for the ends of its own lines.
_UNSAFE_IN_JSON: Final = re.compile(f"[{_INVISIBLE}]")


def clean(text: str) -> str:
    """Text made safe to print: control and direction characters become visible escapes."""
    return _UNSAFE.sub(lambda match: _escaped(match.group()), text)


def json_of(value: Any, *, indent: int | None = None) -> str:
    """JSON of a value, every character safe to print: what ``clean`` replaces is escaped."""
    return escaped_json(json.dumps(value, indent=indent, ensure_ascii=False))


def escaped_json(text: str) -> str:
    """Return the same JSON, with escapes for characters that a terminal would not show."""
    return _UNSAFE_IN_JSON.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def _escaped(character: str) -> str:
    code = ord(character)
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(
        character, f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
    )


def width(text: str) -> int:
    """Columns a text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(
        0
        if unicodedata.combining(character)
        else 2
        if unicodedata.east_asian_width(character) in "WF"
        else 1
        for character in text
    )


def shorten(text: str, limit: int) -> str:
    """Text cut to ``limit`` columns with "…" in the middle: op names differ at both ends."""
    if width(text) <= limit:
        return text
    if limit <= 1:
        return "…"[:limit]
    tail = (limit - 1) // 2
    head = limit - 1 - tail
    while width(text[:head]) + 1 + width(text[-tail:] if tail else "") > limit and (head or tail):
        head, tail = (head - 1, tail) if head >= tail else (head, tail - 1)
    return text[:head] + "…" + (text[-tail:] if tail else "")


def pad(text: str, columns: int, *, right: bool = False) -> str:
    """Text padded to ``columns``; ``right`` aligns it right."""
    space = " " * max(columns - width(text), 0)
    return space + text if right else text + space
