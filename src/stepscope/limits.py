"""What reading one file may cost, in proportion to its bytes.

A file of a stranger may share, nest or repeat its own structure so that a few bytes stand for
billions of things. Every reader spends from the budget of the file that is being read, and a file
that costs more than its bytes explain is refused. The units are counted, not timed, so that the
same file is refused or read on every machine.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, NamedTuple

from stepscope.errors import StepscopeError
from stepscope.records import dataclass, field

#: Multiplies every limit.
VARIABLE: Final = "STEPSCOPE_LIMIT_FACTOR"
#: How deep values of a file may be nested; no recorder writes a tenth of it.
MAX_DEPTH: Final = 512
#: Longer names are data: they are cut where they are read, and no pattern sees more of them.
MAX_NAME_CHARS: Final = 4096
# Compiled programs name an op first and its line of the program last.
_HEAD_CHARS, _TAIL_CHARS = 3072, 960


class _Limit(NamedTuple):
    """A limit: what every file may cost, what each of its bytes adds, and what is counted."""

    base: int
    per_byte: float
    unit: str


_LIMITS: Final = {
    "inflated": _Limit(64 << 20, 100, "bytes after decompression"),
    "objects": _Limit(2_000_000, 4, "events, rows, frames or values"),
    "text": _Limit(32 << 20, 64, "characters of text"),
    "tracks": _Limit(3072, 1 / 256, "planes and lines"),
    "work": _Limit(20_000_000, 64, "units of work"),
}


class LimitError(StepscopeError):
    """A file that costs more than its bytes explain."""

    slug = "beyond-limit"


@dataclass(slots=True)
class Budget:
    """What one file has cost so far.

    Attributes:
        file: Its name for reports.
        stored_bytes: Its size as it is stored, which bounds what it may inflate to.
        read_bytes: What was read of it, inflated.
    """

    file: str = ""
    stored_bytes: int = 0
    read_bytes: int = 0
    _spent: dict[str, int] = field(default_factory=dict)
    _factor: int = field(default_factory=lambda: _given_factor())

    def allowed(self, limit: str) -> int:
        """How much of a limit the bytes read so far allow in total."""
        base, per_byte, _ = _LIMITS[limit]
        size = self.stored_bytes if limit == "inflated" else max(self.read_bytes, self.stored_bytes)
        return (base + int(per_byte * size)) * self._factor

    def open(self, file: str, stored_bytes: int) -> None:
        """Count the stored bytes of a file that is about to be read."""
        self.file = self.file or file
        self.stored_bytes += stored_bytes

    def read(self, size: int) -> None:
        """Count bytes that were read, after decompression."""
        self.read_bytes += size
        if self.read_bytes > self.stored_bytes:
            self._check("inflated", self.read_bytes)

    def spend(self, limit: str, count: int) -> None:
        """Count a cost: ``objects`` made, ``tracks``, characters of ``text``, units of ``work``.

        Raises:
            LimitError: The file costs more than its bytes explain.
        """
        spent = self._spent[limit] = self._spent.get(limit, 0) + count
        self._check(limit, spent)

    def nest(self, depth: int) -> None:
        """Check how deep values are nested; raises ``LimitError`` beyond ``MAX_DEPTH``."""
        if depth > MAX_DEPTH * self._factor:
            raise self._error("depth", f"{MAX_DEPTH * self._factor:,} levels of nesting")

    def _check(self, limit: str, spent: int) -> None:
        if spent > self.allowed(limit):
            raise self._error(limit, f"{self.allowed(limit):,} {_LIMITS[limit].unit}")

    def _error(self, limit: str, amount: str) -> LimitError:
        return LimitError(
            f"The file exceeds the limit '{limit}': {amount}.",
            where=self.file,
            why="Files of recorders stay far below it: this one is broken, or made to fill memory.",
            hint=f"If you trust the file, set {VARIABLE}=10, which multiplies every limit.",
        )


def _given_factor() -> int:
    given = os.environ.get(VARIABLE, "")
    return max(int(given), 1) if given.isascii() and given.isdigit() and len(given) < 10 else 1


def cut_name(name: bytes) -> bytes:
    """Return begin and end of a long name, with a digest between them that tells it from others."""
    if len(name) <= MAX_NAME_CHARS:
        return name
    import hashlib  # few recordings have such names, and it loads the system's OpenSSL

    digest = hashlib.blake2b(name, digest_size=8).hexdigest().encode()
    return b"%b ...%b... %b" % (name[:_HEAD_CHARS], digest, name[-_TAIL_CHARS:])


def json_value(text: str | bytes, *, strict: bool = True) -> Any:
    """Return the value of a text of JSON in a recording.

    Raises:
        ValueError: It is none, or nested so deeply that Python cannot read it.
    """
    try:
        return json.loads(text, strict=strict)
    except RecursionError as error:
        raise ValueError("lists and objects are nested too deeply") from error


_CURRENT: Final[ContextVar[Budget | None]] = ContextVar("budget", default=None)


@contextmanager
def spending(budget: Budget) -> Iterator[Budget]:
    """Have all readers spend from a budget while the context lasts."""
    token = _CURRENT.set(budget)
    try:
        yield budget
    finally:
        _CURRENT.reset(token)


def current() -> Budget:
    """Return the budget of the file that is being read; a new one where no file is."""
    return _CURRENT.get() or Budget()
