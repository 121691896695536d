"""The file of a recording, appended to chunk by chunk; a kill loses those not yet written.

An XSpace followed by an XSpace is an XSpace, so the file can be opened at any moment, and a torn
last chunk costs no other. If the disk refuses a chunk, the recording moves to the system's
temporary folder and says so.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import time
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from stepscope.capture.file import logdir as places
from stepscope.capture.recorder import Note
from stepscope.errors import CaptureError
from stepscope.records import dataclass, field
from stepscope.urls import is_url

Pieces = Iterable[bytes | memoryview]
_COPY_BYTES: Final = 4 << 20

# On Windows as it is, not as text; elsewhere not through a link that has taken the file's place.
_SAFELY: Final = getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)


@dataclass(slots=True)
class Writer:
    """A recording's file, and its final place.

    Attributes:
        path: The file being written.
        url: Where it is copied to at the end; "" when ``path`` is its place.
        run: Name of the run.
        notes: What went wrong on the way.
        size: Bytes in the file.
    """

    path: Path
    url: str
    run: str
    notes: list[Note] = field(default_factory=list)
    size: int = 0
    _ends: list[int] = field(default_factory=list, repr=False)

    @classmethod
    def open(cls, logdir: str, run: str | None = None, stem: str | None = None) -> Writer:
        """Create the file in a log directory, or elsewhere if that fails (see ``notes``).

        Raises:
            CaptureError: A URL without a file system for it.
        """
        run = run or places.run_name()
        stem = stem or places.file_stem()
        if is_url(logdir):
            url, run = _free_url(logdir, run, stem)
            path = places.create_spare(run, stem)
            return cls(path, url, run)
        folder = Path(places.run_folder(str(Path(logdir).expanduser().absolute()), run))
        try:
            path = places.create(folder, stem)
        except OSError as error:
            path = places.create_spare(run, stem)
            return cls(path, "", run, [_elsewhere(f"{folder} cannot be written", error, path)])
        return cls(path, "", path.parent.name)

    @property
    def place(self) -> str:
        """The final place of the recording."""
        return self.url or str(self.path)

    @property
    def begin_ns(self) -> int:
        """When the oldest chunk that is kept begins, since 1970; 0: all are kept."""
        return 0

    def append(self, pieces: Pieces) -> None:
        """Append a chunk, here or, if the disk refuses, elsewhere.

        Raises:
            OSError: There is no room elsewhere either; what was complete still is.
        """
        data = b"".join(pieces)
        try:
            self._write(data)
        except OSError as error:
            with self._moved(error) as before:
                if not before.is_symlink():  # what that leads to was not written here
                    shutil.copyfile(before, self.path)
                self._write(data)

    def extend(self, file: Path, size: int) -> None:
        """Append the first ``size`` bytes of a file.

        Raises:
            OSError: It cannot be read, or there is no room; what was there still is.
        """
        with file.open("rb") as source, self.path.open("r+b") as target:
            try:
                target.seek(self.size)
                left = size
                while piece := source.read(min(left, _COPY_BYTES)):
                    target.write(piece)
                    left -= len(piece)
                target.flush()
            except OSError:
                with contextlib.suppress(OSError):
                    target.truncate(self.size)
                raise
        self.size += size - left
        self._ends.append(self.size)

    def replace(self, pieces: Pieces) -> None:
        """Replace all that was written by one whole XSpace.

        Raises:
            OSError: There is no room anywhere; what was there still is.
        """
        data = b"".join(pieces)
        try:
            self._swap(data)
        except OSError as error:
            with self._moved(error):
                self._swap(data)

    def deliver(self) -> None:
        """Upload the file to its URL, if it has one; if that fails, note where the file is."""
        if not self.url:
            return
        try:
            places.upload(self.path, self.url)
        except Exception as error:  # every file system raises its own kinds
            self.notes.append(_elsewhere(f"{self.url} cannot be written", error, self.path))
            self.url = ""
        else:
            self.discard()

    def discard(self) -> None:
        """Remove the file, and its folder when nothing else is in it."""
        places.remove(self.path)

    def _write(self, data: bytes) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | _SAFELY, 0o666)
        try:
            self._see_what_is_left(handle)
            rest = memoryview(data)
            os.lseek(handle, self.size, os.SEEK_SET)
            while rest:
                rest = rest[os.write(handle, rest) :]
        except OSError:
            # Half a chunk is useless; removing it frees space on the disk.
            with contextlib.suppress(OSError):
                os.ftruncate(handle, self.size)
            raise
        finally:
            os.close(handle)
        self.size += len(data)
        self._ends.append(self.size)

    def _see_what_is_left(self, handle: int) -> None:
        """Continue after the last whole chunk of a file that was removed or truncated.

        The system would fill the missing part with zeros, which nothing could read.
        """
        size = os.fstat(handle).st_size
        if size >= self.size:
            return
        self._ends = [end for end in self._ends if end <= size]
        self.size = self._ends[-1] if self._ends else 0
        os.ftruncate(handle, self.size)
        text = f"{self.path} was removed or truncated while it was written: its contents are lost."
        self.notes.append(Note("chunk-lost", "error", text))

    def _swap(self, data: bytes) -> None:
        # A name that nobody can guess, made new: in a folder that others may write to, a link
        # under a known name would lead to a file of theirs or ours.
        temporary = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}.tmp")
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFELY
            with os.fdopen(os.open(temporary, flags, 0o666), "wb") as file:
                file.write(data)
            temporary.replace(self.path)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
        self.size = len(data)
        self._ends = [self.size]

    @contextlib.contextmanager
    def _moved(self, error: OSError) -> Iterator[Path]:
        """Go on in the system's temporary folder; gives the file it was before.

        Raises:
            OSError: It has no room either: all is as it was, and nothing is left behind.
        """
        before, size = self.path, self.size
        try:
            self.path = places.create_spare(self.run, before.name.removesuffix(places.SUFFIX))
            yield before
        except OSError as refused:
            if self.path != before:
                places.remove(self.path)
            self.path, self.size = before, size
            # One sentence for every chunk that is lost, without the names of what is gone again.
            raise OSError(refused.errno, refused.strerror, str(before)) from refused
        self.notes.append(_elsewhere(f"{before} cannot be written", error, self.path))
        places.remove(before)


def _free_url(logdir: str, run: str, stem: str) -> tuple[str, str]:
    nth, name = 1, run
    while True:
        url = f"{places.run_folder(logdir, name)}/{stem}{places.SUFFIX}"
        try:
            taken = places.exists(url)
        except CaptureError:
            raise
        except Exception:  # each file system raises its own kinds: not reachable now
            taken = False  # reported when the file is delivered
        if not taken:
            return url, name
        nth += 1
        name = f"{run}_{nth}"


def _elsewhere(what: str, error: Exception, path: Path) -> Note:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return Note("kept-elsewhere", "error", f"{what} ({reason}): the recording is kept in {path}.")


class Ring(Writer):
    """The last chunks of a recording, in memory until they are saved.

    Args:
        logdir: Where they would go, for messages.
        seconds: How far back chunks are kept.
        max_bytes: Memory for them; the newest is kept in any case.
    """

    def __init__(self, logdir: str, seconds: float, max_bytes: int) -> None:
        super().__init__(Path(logdir), "", "")
        self._seconds, self._max_bytes = seconds, max_bytes
        # The begin of the file; then when each chunk ended, and its bytes.
        self._head = b""
        self._begin_ns = 0
        self._chunks: deque[tuple[int, bytes]] = deque()

    @property
    def begin_ns(self) -> int:
        """When the oldest chunk that is kept begins, since 1970."""
        return self._begin_ns

    def append(self, pieces: Pieces) -> None:
        """Keep a chunk, and forget those that are too old or too many."""
        data, now_ns = b"".join(pieces), time.time_ns()
        if not self._head:
            self._head, self._begin_ns = data, now_ns
            return
        self._chunks.append((now_ns, data))
        self.size += len(data)
        oldest_ns = now_ns - int(self._seconds * 1e9)
        while len(self._chunks) > 1 and (
            self.size > self._max_bytes or self._chunks[0][0] < oldest_ns
        ):
            self._begin_ns, forgotten = self._chunks.popleft()
            self.size -= len(forgotten)

    def save(self, file: Writer, tail: Pieces) -> None:
        """Write what is kept into a file, with what ends it.

        Raises:
            OSError: There is no room for it anywhere.
        """
        file.append([self._head, *(data for _, data in self._chunks), *tail])

    def discard(self) -> None:
        """Forget everything."""
        self._chunks.clear()
        self.size = 0
