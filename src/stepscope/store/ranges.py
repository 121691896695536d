"""The bytes of a remote file in order, fetched as ranges side by side, each again where it fails.

A store gives one stream 50 to 100 MB/s and refuses requests when it is busy. What is read stays in
order, so readers see a plain stream.
"""

from __future__ import annotations

import io
import random
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final

RANGE_BYTES: Final = 8 << 20
_AT_ONCE: Final = 8
#: Tries of one range; what a store asks to be tried again is so after a second or two.
ATTEMPTS: Final = 5
_FIRST_WAIT_S: Final = 0.2
# These do not go away by themselves.
_FINAL: Final = (
    FileNotFoundError,
    PermissionError,
    NotImplementedError,
    ValueError,
    TypeError,
    KeyError,
)


def fetch(system: Any, path: str, begin: int, end: int) -> bytes:
    """What a remote file gives of the bytes from ``begin`` to ``end``.

    Raises:
        Exception: Whatever the file system raises, after ``ATTEMPTS`` tries.
    """
    for attempt in range(1, ATTEMPTS + 1):
        try:
            found: bytes = system.cat_file(path, start=begin, end=end)
            return found
        except _FINAL:
            raise
        except Exception:  # each store has errors of its own for being busy
            if attempt == ATTEMPTS:
                raise
            # Those that were refused together come again apart.
            time.sleep(_FIRST_WAIT_S * 2**attempt * random.uniform(0.5, 1.5))
    raise AssertionError("the last attempt returns or raises")


def _whole(system: Any, path: str, begin: int, end: int) -> bytes:
    """The bytes from ``begin`` to ``end``; fewer only where the file ends."""
    found = bytearray()
    while len(found) < end - begin:
        part = fetch(system, path, begin + len(found), end)
        if not part:
            break
        found += part  # a body that was cut goes on where it ended
    return bytes(found)


class RangedFile(io.RawIOBase):
    """A remote file as a stream.

    Args:
        system: Its fsspec file system.
        path: Its name there.
        size: Its bytes, as the store says; where the file ends earlier, so does the stream.

    Raises:
        Exception: Whatever the file system raises, after ``ATTEMPTS`` tries of one range.
    """

    def __init__(self, system: Any, path: str, size: int) -> None:
        super().__init__()
        self._system, self._path = system, path
        self._begins = iter(range(0, size, RANGE_BYTES))
        self._size = size
        self._pool = ThreadPoolExecutor(_AT_ONCE, "stepscope-range")
        self._ahead: deque[Future[bytes]] = deque()
        self._parts = self._ordered_pieces()
        self._left = memoryview(b"")

    def _ordered_pieces(self) -> Iterator[bytes]:
        # The first alone: it tells whether the file exists, and is as large as it was listed.
        self._ask()
        while self._ahead:
            part = self._ahead.popleft().result()
            yield part
            if len(part) < RANGE_BYTES:
                return
            while len(self._ahead) < _AT_ONCE and self._ask():
                pass

    def _ask(self) -> bool:
        begin = next(self._begins, None)
        if begin is not None:
            end = min(begin + RANGE_BYTES, self._size)
            self._ahead.append(self._pool.submit(_whole, self._system, self._path, begin, end))
        return begin is not None

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """The next bytes, as many as are there and fit."""
        if not self._left:
            self._left = memoryview(next(self._parts, b""))
        room = memoryview(buffer).cast("B")
        count = min(len(room), len(self._left))
        room[:count] = self._left[:count]
        self._left = self._left[count:]
        return count

    def close(self) -> None:
        """Ask for nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        super().close()
