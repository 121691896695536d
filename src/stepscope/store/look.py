"""A look at parts of a file, here or behind a URL, without reading it whole.

Who wrote a file is in its first bytes, its last, or a part that the first lead to. Of a
file behind a URL these are a few ranges, of a compressed one what its begin inflates to.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from stepscope.errors import StoreError
from stepscope.formats.database import opened
from stepscope.store.found import Source
from stepscope.store.identify import GZIP_MAGIC
from stepscope.store.read import read_pieces
from stepscope.urls import is_url

_WINDOW_BYTES: Final = 1 << 16
#: Requests for one file: one that hides who wrote it behind more keeps it to itself.
MOST_REQUESTS: Final = 32
# How far a compressed file is inflated: here, and behind a URL, where each byte is fetched.
_INFLATED_BYTES: Final = 16 << 20
_FETCHED_BYTES: Final = 1 << 18
# A file of this size is copied for those who need one on this machine.
_COPIED_BYTES: Final = 4 << 20
_DATABASE: Final = b"SQLite format 3\0"
# What a database has at its begin: its schema, and tables that were made with it.
_SCHEMA_BYTES: Final = 1 << 20
_MOST_TABLES: Final = 8
_LARGEST_DATABASE_BYTES: Final = 1 << 42


@contextmanager
def look_at(source: Source) -> Iterator[Look]:
    """A look at one file, which may be a folder of tables."""
    if is_url(source.path):
        yield _Far(source)
    elif Path(source.path).is_dir():
        yield Look(source)
    else:
        with Path(source.path).open("rb") as file:
            yield _Near(source, file)


class Look:
    """Parts of one file; see ``formats.format.Peek``."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._window = (0, b"")
        self._inflating: _Inflating | None = None

    def at(self, begin: int, size: int) -> bytes:
        """Bytes of the file from a place on; fewer where it ends, or looking goes too far."""
        if self._inflating is not None:
            return self._inflating.at(self.stored, begin, size)
        first, known = self._window
        if not known and self._is_compressed():
            return self.at(begin, size)
        if begin < first or begin + size > first + len(known):
            first, known = self._window = begin, self._stored(begin, max(size, _WINDOW_BYTES))
        return known[begin - first : begin - first + size]

    def _is_compressed(self) -> bool:
        """Have the first bytes, and see what they are."""
        known = self._stored(0, _WINDOW_BYTES)
        self._window = 0, known
        if known.startswith(GZIP_MAGIC):
            self._inflating = _Inflating()
        return self._inflating is not None

    def tail(self, size: int) -> bytes:
        """The last bytes; none of a compressed file."""
        self.at(0, 1)
        begin = max(self._source.size_bytes - size, 0)
        return self._stored(begin, size) if self._inflating is None else b""

    @contextmanager
    def on_disk(self, tables: str) -> Iterator[Path]:
        """The file, or of a database the pages that matter; see ``formats.format.Peek``."""
        if self._is_at_hand():
            with read_pieces(self._source.path).on_disk() as path:
                yield path
            return
        head = self.at(0, _SCHEMA_BYTES)
        page = int.from_bytes(head[16:18], "big")
        size = (65536 if page == 1 else page) * int.from_bytes(head[28:32], "big")
        if not head.startswith(_DATABASE) or size > _LARGEST_DATABASE_BYTES:
            raise StoreError("The file is too large for a look at it.", where=self._source.path)
        import tempfile

        with tempfile.TemporaryDirectory(prefix="stepscope-") as folder:
            path = Path(folder) / "begin"
            with path.open("wb") as file:
                file.write(head)
                file.truncate(max(size, len(head)))
            with opened(path, title="SQLite database", file="") as database:
                pages = database.first_pages(tables)[:_MOST_TABLES]
            with path.open("r+b") as file:
                for begin, end in pages:
                    file.seek(begin)
                    file.write(self.at(begin, end - begin))
            yield path

    def _is_at_hand(self) -> bool:
        """Whether the file as a whole is had cheaply."""
        return True

    def _stored(self, begin: int, size: int) -> bytes:
        """Bytes as they are stored; none of a folder."""
        return b""

    def stored(self, begin: int, size: int) -> bytes:
        """The same, where they may be looked at."""
        return self._stored(begin, size) if begin < self._farthest() else b""

    def _farthest(self) -> int:
        return self._source.size_bytes


class _Near(Look):
    """A file of this machine."""

    def __init__(self, source: Source, file: BinaryIO) -> None:
        super().__init__(source)
        self._open = file

    def _stored(self, begin: int, size: int) -> bytes:
        self._open.seek(begin)
        return self._open.read(size)

    def _is_at_hand(self) -> bool:
        self.at(0, 1)
        return self._inflating is None


class _Far(Look):
    """A file behind a URL, or a folder of tables there."""

    _requests = 0

    def _stored(self, begin: int, size: int) -> bytes:
        from stepscope.store.remote import part_of

        end = begin + size
        if self._source.size_bytes > 0:
            end = min(end, self._source.size_bytes)
        self._requests += 1
        if end <= begin or self._requests > MOST_REQUESTS:
            return b""
        return part_of(self._source.path, begin, end)

    def _farthest(self) -> int:
        return _FETCHED_BYTES

    def _is_at_hand(self) -> bool:
        return 0 < self._source.size_bytes <= _COPIED_BYTES


class _Inflating:
    """What the begin of a compressed file inflates to, as far as it is asked for.

    It does not keep the look: in a circle all of this would wait for the garbage collector.
    """

    def __init__(self) -> None:
        self._decoder = zlib.decompressobj(wbits=31)
        self._inflated = bytearray()
        self._taken = 0

    def at(self, stored: Callable[[int, int], bytes], begin: int, size: int) -> bytes:
        """Bytes from a place on; fewer where they end, break, or are too far in."""
        end = min(begin + size, _INFLATED_BYTES)
        while len(self._inflated) < end and not self._decoder.eof:
            data = stored(self._taken, _WINDOW_BYTES)
            self._taken += len(data)
            try:
                self._inflated += self._decoder.decompress(data, _INFLATED_BYTES)
            except zlib.error:
                break
            if not data or self._decoder.unconsumed_tail:
                break
        return bytes(self._inflated[begin:end])
