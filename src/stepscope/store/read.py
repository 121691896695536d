"""The bytes of one recording: mapped where possible, inflated where not."""

from __future__ import annotations

import contextlib
import mmap
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from stepscope.errors import StoreError
from stepscope.store.identify import GZIP_MAGIC
from stepscope.store.local import unlistable
from stepscope.urls import is_url

CHUNK_BYTES = 1 << 20
# Deflate cannot expand further than this; a trailer that claims more is damaged or hostile.
_MAX_DEFLATE_RATIO = 1032

Progress = Callable[[int, int], None]


@dataclass
class Contents:
    """The uncompressed bytes of a file, until closed.

    Attributes:
        buffer: The bytes: a mapped file or memory.
        damage: Why the bytes end early ("" when they do not).
    """

    buffer: memoryview
    damage: str = ""
    _close: list[Callable[[], None]] = field(default_factory=list, repr=False)

    def close(self) -> None:
        """Let go of the bytes. Arrays still looking into them keep the memory until they go."""
        with contextlib.suppress(BufferError):
            self.buffer.release()
        while self._close:
            with contextlib.suppress(BufferError):
                self._close.pop()()

    def __enter__(self) -> Contents:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read(path: str, progress: Progress | None = None) -> Contents:
    """Open one file or URL for decoding.

    A plain local file is mapped; ``.gz`` (by content, not by name) and URLs are read into
    memory, with one mebibyte of overhead.

    Args:
        path: Local path or URL.
        progress: Called with (bytes read, bytes in the file) while inflating or downloading.

    Raises:
        StoreError: It cannot be read, or is empty.
    """
    if is_url(path):
        from stepscope.store.remote import open_binary

        stream, size = open_binary(path)
        with stream:
            return _from_stream(stream, size, 0, progress)
    try:
        with Path(path).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size == 0:
                raise _empty(path)
            if file.read(2) == GZIP_MAGIC:
                hint = _inflated_size(file, size)
                file.seek(0)
                return _from_stream(file, size, hint, progress)
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise _unreadable(path, error) from error
    return Contents(memoryview(mapped), _close=[mapped.close])


@dataclass
class Pieces:
    """The uncompressed bytes of a file, piece by piece, once.

    Attributes:
        damage: Why the bytes end early, known once they have ended ("" when they do not).
    """

    path: str
    progress: Progress | None = None
    damage: str = ""

    def __iter__(self) -> Iterator[bytes]:
        with self._stream() as (stream, size):
            chunks = _chunks(stream, size, self.progress)
            first = next(chunks, b"")
            if not first:
                raise _empty(self.path)
            rest = _after(first, chunks)
            if not first.startswith(GZIP_MAGIC):
                yield from rest
                return
            damage: list[str] = []
            yield from inflate(rest, damage)
            self.damage = damage[0] if damage else ""

    @contextlib.contextmanager
    def _stream(self) -> Iterator[tuple[BinaryIO, int]]:
        if is_url(self.path):
            from stepscope.store.remote import open_binary

            stream, size = open_binary(self.path)
            with stream:
                yield stream, size
            return
        with contextlib.ExitStack() as stack:
            try:
                file = stack.enter_context(Path(self.path).open("rb"))
            except OSError as error:
                raise _unreadable(self.path, error) from error
            yield file, os.fstat(file.fileno()).st_size


def read_pieces(path: str, progress: Progress | None = None) -> Pieces:
    """One file or URL to be read from begin to end, ``.gz`` (by content) inflated on the way.

    Args:
        path: Local path or URL.
        progress: Called with (bytes read, bytes in the file).
    """
    return Pieces(path, progress)


def _unreadable(path: str, error: OSError) -> StoreError:
    miss = unlistable(path, error)
    return StoreError(
        "The file cannot be read.", where=path, why=miss.reason, hint=miss.hint, slug=miss.slug
    )


def _empty(path: str) -> StoreError:
    return StoreError(
        "The file has 0 bytes.",
        where=path,
        why="The recording was larger than 2 GB, or the disk was full.",
        hint="Record fewer steps.",
        slug="empty-file",
    )


def _inflated_size(file: BinaryIO, size: int) -> int:
    """Size the gzip trailer claims (modulo 4 GiB, last member only): a hint for allocation."""
    file.seek(max(size - 4, 0))
    return min(int.from_bytes(file.read(4), "little"), size * _MAX_DEFLATE_RATIO)


def _from_stream(stream: BinaryIO, size: int, hint: int, progress: Progress | None) -> Contents:
    chunks = _chunks(stream, size, progress)
    first = next(chunks, b"")
    rest = _after(first, chunks)
    if not first.startswith(GZIP_MAGIC):
        return _gather(rest, size, [])
    damage: list[str] = []
    return _gather(inflate(rest, damage), hint, damage)


def _after(first: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from chunks


def _chunks(stream: BinaryIO, size: int, progress: Progress | None) -> Iterator[bytes]:
    done = 0
    while chunk := stream.read(CHUNK_BYTES):
        done += len(chunk)
        if progress:
            progress(done, size)
        yield chunk


def _gather(chunks: Iterable[bytes], hint: int, damage: list[str]) -> Contents:
    """Chunks into one buffer, allocated once where the hint is right."""
    whole = bytearray(hint)
    filled = 0
    for chunk in chunks:
        end = filled + len(chunk)
        whole[filled:end] = chunk
        filled = end
    del whole[filled:]
    return Contents(memoryview(whole).toreadonly(), damage[0] if damage else "")


def inflate(chunks: Iterable[bytes], damage: list[str]) -> Iterator[bytes]:
    """Inflate gzip members in turn; a broken stream ends early and says so in ``damage``."""
    decoder = before = zlib.decompressobj(wbits=31)
    data = b""
    seen = 0
    started = False
    try:
        for chunk in chunks:
            data = chunk
            while data:
                if decoder.eof:
                    if not data.startswith(GZIP_MAGIC[: len(data)]):
                        return  # padding after the last member
                    decoder = zlib.decompressobj(wbits=31)
                started = True
                before = decoder.copy()
                out = decoder.decompress(data, CHUNK_BYTES)
                if out:
                    yield out
                data = decoder.unused_data if decoder.eof else decoder.unconsumed_tail
            seen += len(chunk)
        if not decoder.eof:
            if started:
                yield decoder.flush()
            damage.append(
                f"The gzip stream is cut: it ends after {seen} bytes without its trailer."
            )
    except zlib.error as error:
        yield from _salvage(before, data)
        damage.append(f"The gzip stream is broken after byte {seen}: {error}.")


def _salvage(decoder: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    """What of ``data`` inflates before it breaks: the failing call itself gave nothing back."""
    with contextlib.suppress(zlib.error):
        for at in range(len(data)):
            yield decoder.decompress(data[at : at + 1])
