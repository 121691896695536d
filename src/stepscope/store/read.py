"""The bytes of one recording, as they were when it was opened: read or inflated into memory."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from io import FileIO
from pathlib import Path
from typing import BinaryIO, Final

from stepscope.errors import StoreError
from stepscope.limits import Budget, current
from stepscope.records import dataclass
from stepscope.store.identify import GZIP_MAGIC
from stepscope.store.local import unlistable
from stepscope.urls import is_url

CHUNK_BYTES = 1 << 20
# What a size in a trailer or a listing is believed before the bytes arrive.
_BELIEVED_BYTES: Final = 64 << 20
_READ_BYTES: Final = 16 << 20

ReadProgress = Callable[[int, int], None]


@dataclass
class Contents:
    """The uncompressed bytes of a file, until closed.

    They are memory of this process: what happens to the file later does not reach them.

    Attributes:
        buffer: The bytes.
        damage: Why the bytes end early or do not fit together ("" when they do).
        memory: Where they are, if pages of it can be given back.
    """

    buffer: memoryview
    damage: str = ""
    memory: mmap.mmap | None = None

    def close(self) -> None:
        """Let go of the bytes. Arrays still looking into them keep the memory until they go."""
        with contextlib.suppress(BufferError):
            self.buffer.release()
        if self.memory is not None:
            with contextlib.suppress(BufferError):
                self.memory.close()

    def forget(self, stretches: Iterable[tuple[int, int]]) -> None:
        """Give the memory of these bytes back to the system; they may read as 0 from now on.

        Args:
            stretches: Begin and end of each.
        """
        if self.memory is None or not hasattr(mmap, "MADV_DONTNEED"):
            return
        for begin, end in stretches:
            first = -(-begin // mmap.PAGESIZE) * mmap.PAGESIZE
            size = end // mmap.PAGESIZE * mmap.PAGESIZE - first
            if size > 0:
                self.memory.madvise(mmap.MADV_DONTNEED, first, size)

    def blank(self, stretches: Iterable[tuple[int, int]]) -> None:
        """Make these bytes 0.

        Args:
            stretches: Begin and end of each.
        """
        with memoryview(self.buffer.obj) as memory:
            for begin, end in stretches:
                memory[begin:end] = bytes(end - begin)

    def __enter__(self) -> Contents:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read(path: str, progress: ReadProgress | None = None) -> Contents:
    """Read one file or URL for decoding.

    A file that is cut or overwritten while it is mapped ends every program that looks into it, so
    nothing is mapped: bytes are read once. ``.gz`` (by content, not by name) is inflated.

    Args:
        path: Local path or URL.
        progress: Called with (bytes read, bytes in the file) meanwhile.

    Raises:
        LimitError: It inflates beyond what a recording does.
        StoreError: It cannot be read, or is empty.
    """
    if is_url(path):
        from stepscope.store.remote import open_binary, reading

        with reading(path):
            stream, size = open_binary(path)
            with stream:
                return _read_stream(stream, size, progress, path)
    try:
        with Path(path).open("rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            if size == 0:
                raise _empty(path)
            if file.read(2) == GZIP_MAGIC:
                file.seek(0)
                return _read_stream(file, size, progress, path)
            file.seek(0)
            current().open(path, size)
            return _snapshot(file, size, progress)
    except OSError as error:
        raise _unreadable(path, error) from error


@dataclass
class Pieces:
    """The uncompressed bytes of a file, piece by piece, once.

    Attributes:
        damage: Why the bytes end early, known once they have ended ("" when they do not).
    """

    path: str
    progress: ReadProgress | None = None
    damage: str = ""

    def __iter__(self) -> Iterator[bytes]:
        with self._stream() as (stream, size):
            chunks = _chunks(stream, size, self.progress)
            first = next(chunks, b"")
            if not first:
                raise _empty(self.path)
            budget = current()
            budget.open(self.path, max(size, len(first)))
            damage: list[str] = []
            rest = _after(first, chunks)
            is_packed = first.startswith(GZIP_MAGIC)
            yield from _counted(inflate(rest, damage) if is_packed else rest, budget)
            self.damage = damage[0] if damage else ""

    @contextlib.contextmanager
    def on_disk(self) -> Iterator[Path]:
        """The bytes as a file of this machine: the file itself, or an inflated copy for a while.

        A recording that is a folder is the folder; of one behind a URL its files are copied.
        """
        if not is_url(self.path):
            if Path(self.path).is_dir():
                files = (one for one in Path(self.path).iterdir() if one.is_file())
                current().open(self.path, sum(one.stat().st_size for one in files))
                yield Path(self.path)
                return
            try:
                with Path(self.path).open("rb") as file:
                    is_plain = file.read(2) != GZIP_MAGIC
            except OSError as error:
                raise _unreadable(self.path, error) from error
            if is_plain:
                current().open(self.path, Path(self.path).stat().st_size)
                yield Path(self.path)
                return
        import tempfile

        with tempfile.TemporaryDirectory(prefix="stepscope-") as folder:
            copy = Path(folder) / "copy"
            inside = self._files_inside()
            if inside:
                copy.mkdir()
                for name, url in inside:
                    Pieces(url)._write(copy / name)
            else:
                self._write(copy)
            yield copy

    def _files_inside(self) -> list[tuple[str, str]]:
        if not is_url(self.path):
            return []
        from stepscope.store.remote import files_inside

        return files_inside(self.path)

    def _write(self, copy: Path) -> None:
        with copy.open("wb") as out:
            for piece in self:
                out.write(piece)

    @contextlib.contextmanager
    def _stream(self) -> Iterator[tuple[BinaryIO, int]]:
        if is_url(self.path):
            from stepscope.store.remote import open_binary, reading

            with reading(self.path):
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


def read_pieces(path: str, progress: ReadProgress | None = None) -> Pieces:
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
        why="Usually the recording exceeded 2 GB or the disk was full.",
        hint="Record fewer steps.",
        slug="empty-file",
    )


def _snapshot(file: FileIO, size: int, progress: ReadProgress | None) -> Contents:
    """The first ``size`` bytes of a file, and whether it held still meanwhile."""
    before = os.fstat(file.fileno())
    memory = _memory(size)
    view, filled = memoryview(memory), 0
    while filled < size:
        with view[filled : filled + _READ_BYTES] as room:
            count = file.readinto(room)
        if not count:
            break
        filled += count
        if progress:
            progress(filled, size)
    after = os.fstat(file.fileno())
    # A recording that goes on is appended to: what was there at first has not changed by it.
    has_changed = after.st_size < size or (
        after.st_size == before.st_size and after.st_mtime_ns != before.st_mtime_ns
    )
    damage = ""
    if filled < size:
        damage = f"The file was cut while it was read: its last {size - filled} bytes are missing."
    elif has_changed:
        damage = "The file was written to while it was read: its bytes may not fit together."
    return Contents(view[:filled].toreadonly(), damage, memory)


def _memory(size: int) -> mmap.mmap:
    """So many bytes that can be given back page by page, which those of a ``bytearray`` cannot."""
    if hasattr(os, "sysconf") and size > os.sysconf("SC_PHYS_PAGES") * mmap.PAGESIZE:
        raise OSError(errno.ENOMEM, "the file is larger than this machine's memory")
    if os.name == "nt":
        return mmap.mmap(-1, size)
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a kernel without them
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


def _read_stream(stream: BinaryIO, size: int, progress: ReadProgress | None, path: str) -> Contents:
    chunks = _chunks(stream, size, progress)
    first = next(chunks, b"")
    rest = _after(first, chunks)
    budget = current()
    budget.open(path, max(size, len(first)))
    if not first.startswith(GZIP_MAGIC):
        return _gather(_counted(rest, budget), size, [])
    damage: list[str] = []
    return _gather(_counted(inflate(rest, damage), budget), 0, damage)


def _counted(chunks: Iterable[bytes], budget: Budget) -> Iterator[bytes]:
    for chunk in chunks:
        budget.read(len(chunk))
        yield chunk


def _after(first: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from chunks


def _chunks(stream: BinaryIO, size: int, progress: ReadProgress | None) -> Iterator[bytes]:
    done = 0
    while chunk := stream.read(CHUNK_BYTES):
        done += len(chunk)
        if progress:
            progress(done, size)
        yield chunk


def _gather(chunks: Iterable[bytes], hint: int, damage: list[str]) -> Contents:
    """Chunks as one buffer; a hint of its size saves copies, but need not be true."""
    whole = bytearray(min(hint, _BELIEVED_BYTES))
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
