"""A large JSON text in parts: the elements of its long lists one by one, the rest by key.

Texts of a gigabyte are never whole in memory: what is wanted is read where it stands, and let go.
A text that is cut gives everything before the cut.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

_BLANK: Final = re.compile(r"[\s\x00]*")
_PART_CHARS: Final = 1 << 20
_LONGEST_VALUE_CHARS: Final = 1 << 28
# What a number may go on with that is none without a digit behind it: "1." and "1e-".
_NO_DIGIT_YET: Final = 2
Path = tuple[str, ...]


class Parts:
    """Walks a JSON text once.

    Args:
        pieces: The text's bytes, UTF-8, in pieces.
        inside: Paths of objects and lists whose parts are given one by one; a list's elements
            have the path of the list. Everything else is given whole.

    Attributes:
        damage: Why the text ended early; "" where it did not.
    """

    def __init__(self, pieces: Iterable[bytes], inside: frozenset[Path]) -> None:
        self._pieces = iter(pieces)
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self._inside = inside
        self._json = json.JSONDecoder(strict=False)
        self._text = ""
        self._at = 0
        self._ended = False
        self.damage = ""

    def __iter__(self) -> Iterator[tuple[Path, Any]]:
        """Path and value of each part, in the order of the text."""
        try:
            yield from self._walk(())
        except (ValueError, RecursionError) as error:
            self.damage = str(error) or "values are nested too deep"

    def documents(self) -> Iterator[Any]:
        """Each of several texts that stand one after the other, whole."""
        try:
            while self._peek():
                yield self._value()
        except (ValueError, RecursionError) as error:
            self.damage = str(error) or "values are nested too deep"

    def _walk(self, path: Path) -> Iterator[tuple[Path, Any]]:
        mark = self._peek()
        if path not in self._inside or mark not in ("{", "["):
            yield path, self._value()
            return
        self._at += 1
        closing = "}" if mark == "{" else "]"
        while (mark := self._peek()) != closing:
            if mark == ",":
                self._at += 1
                continue
            if not mark:
                raise ValueError("the text ends inside of a list or object")
            yield from self._walk((*path, self._key()) if closing == "}" else (*path, "*"))
        self._at += 1

    def _key(self) -> str:
        key = self._value()
        if not isinstance(key, str) or self._peek() != ":":
            raise ValueError("an object has something else than keys and values")
        self._at += 1
        return key

    def _peek(self) -> str:
        """The next character that is not a blank; "" at the end."""
        while True:
            blank = _BLANK.match(self._text, self._at)
            self._at = blank.end() if blank else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _value(self) -> Any:
        """The value at hand, whole."""
        self._peek()
        wanted = _PART_CHARS
        while True:
            try:
                found, end = self._json.raw_decode(self._text, self._at)
            except ValueError:
                found, end = None, len(self._text)
            # A number that reaches to the end of what is there may go on, or close to it: "1." of
            # "1.5" is read as a 1.
            if end + _NO_DIGIT_YET < len(self._text) or self._ended:
                if end == len(self._text) and found is None and self._text[self._at :] != "null":
                    raise ValueError("the text ends inside of a value, or is not JSON") from None
                self._at = end
                return found
            if len(self._text) - self._at > _LONGEST_VALUE_CHARS:
                raise ValueError("a single value is longer than any that such a file has")
            # Twice as much each time, so that a long value is not tried over and over.
            wanted = max(wanted, 2 * (len(self._text) - self._at))
            while len(self._text) - self._at < wanted and self._more():
                pass

    def _more(self) -> bool:
        """Read on; False at the end."""
        if self._ended:
            return False
        piece = next(self._pieces, None)
        self._ended = piece is None
        self._text = self._text[self._at :] + self._decode(piece or b"", self._ended)
        self._at = 0
        return not self._ended
