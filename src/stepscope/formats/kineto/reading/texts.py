"""The distinct texts of a trace, and what they say when they are not quite JSON."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.limits import json_value

_ESCAPE: Final = re.compile(r'\\(u[0-9a-fA-F]{4}|["\\/bfnrt])')
_ESCAPES: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_CONTROL: Final = re.compile(r"[\x00-\x1f]")
# Words that C++ and Python print where JSON has none: unknown to us.
_WORDS: Final = re.compile(r"(?<![\w\".])(?:-?inf|-?nan|None|N/A|-?Infinity|NaN)(?![\w\".])")


class TraceTexts:
    """Texts as the file spells them, by number; each becomes an object when asked for.

    Attributes:
        repairs: How many were not sound, by kind: "bytes" that are not UTF-8, "escapes" that JSON
            does not know, "controls" that it wants escaped, "values" that are none.
    """

    def __init__(self, arena: bytes, begin: NDArray[np.int64]) -> None:
        self._arena = arena
        self._begin = begin
        self._known: dict[int, Any] = {}
        self.repairs = {"bytes": 0, "escapes": 0, "controls": 0, "values": 0}

    def __len__(self) -> int:
        return len(self._begin) - 1

    def raw(self, number: int) -> bytes:
        """The text as the file spells it, quotes included; empty for -1."""
        if number < 0:
            return b""
        return self._arena[self._begin[number] : self._begin[number + 1]]

    def value(self, number: int) -> Any:
        """What a text says: a string, number, list … ; None for -1 and for words of no meaning."""
        if number < 0:
            return None
        if number not in self._known:
            self._known[number] = self._parsed(self.raw(number))
        return self._known[number]

    def string(self, number: int) -> str:
        """``value`` as a string; empty for none."""
        value = self.value(number)
        if isinstance(value, str):
            return value
        return "" if value is None else json.dumps(value)

    def whole(self, number: int, absent: int = -1) -> int:
        """``value`` as a whole number of 64 bits; ``absent`` where it is none."""
        return whole(self.value(number), absent)

    def find(self, text: str) -> int:
        """The number of a key; -1 where the trace does not have it."""
        return self._keys.get(json.dumps(text).encode(), -1)

    @property
    def _keys(self) -> dict[bytes, int]:
        found: dict[bytes, int] | None = self.__dict__.get("_by_text")
        if found is None:
            # Keys are short: a long text is not a key.
            size = np.diff(self._begin)
            found = {self.raw(number): number for number in np.flatnonzero(size < 64).tolist()}
            self.__dict__["_by_text"] = found
        return found

    def _parsed(self, raw: bytes) -> Any:
        if raw[:1] == b'"':
            return self._string(raw)
        try:
            return json_value(raw)
        except ValueError:
            pass
        try:
            return lenient_json(raw)
        except ValueError:
            self.repairs["values"] += 1
            return None

    def _string(self, raw: bytes) -> str:
        inner = raw[1:-1]
        try:
            text = inner.decode()
        except UnicodeDecodeError:
            self.repairs["bytes"] += 1
            text = inner.decode("utf-8", "replace")
        if "\\" in text:
            text = self._unescaped(text)
        elif _CONTROL.search(text):
            self.repairs["controls"] += 1
        return text

    def _unescaped(self, text: str) -> str:
        try:
            found: str = json_value(f'"{text}"')
        except ValueError:
            known = _ESCAPE.sub("", text)
            self.repairs["escapes"] += "\\" in known
            self.repairs["controls"] += bool(_CONTROL.search(known))
            found = _ESCAPE.sub(_escape, text)
        # Halves of a pair, which no text may hold.
        return found.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _escape(found: re.Match[str]) -> str:
    word = found[1]
    return chr(int(word[1:], 16)) if word[0] == "u" else _ESCAPES.get(word, word)


def lenient_json(raw: bytes) -> Any:
    """JSON with words of C++ and Python for unknown values, and raw control characters.

    Raises:
        ValueError: It is not JSON even so.
    """
    text = raw.decode("utf-8", "replace")
    try:
        return json_value(text, strict=False)
    except ValueError:
        return json_value(_WORDS.sub("null", text), strict=False)


def whole(value: Any, absent: int = -1) -> int:
    """A number of the file as an int64; ``absent`` for anything else."""
    if isinstance(value, bool):
        return absent
    if isinstance(value, int):
        if -(2**63) <= value < 2**63:
            return value
        return value - 2**64 if 0 < value < 2**64 else absent  # addresses have no sign
    if isinstance(value, float):
        return int(value) if abs(value) < 2**53 else absent
    if isinstance(value, str):
        found = re.search(r"-?\d{1,18}", value)  # 2021's traces wrote "stream 7"
        return int(found.group()) if found else absent
    return absent
