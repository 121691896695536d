"""Writing files so that a reader sees the old one or the new one, never half of it."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from stepscope.errors import StoreError


def write_atomic(path: Path, data: bytes | Iterable[bytes]) -> None:
    """Write ``data`` to ``path``: a temporary file beside it, synced, then renamed over it.

    A link is followed, so that it stays one. A device or a pipe (``/dev/stdout``) is written to as
    it is: a file in its place would take it from the whole machine.

    Raises:
        StoreError: The system refuses; the old file is as it was.
    """
    chunks = [data] if isinstance(data, bytes) else data
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            with path.open("wb") as device:
                device.writelines(chunks)
        else:
            _replace(path.resolve(), chunks)
    except BrokenPipeError:
        raise  # the reader of a pipe has enough, which is not a failure
    except OSError as error:
        raise StoreError(
            "The file cannot be written.",
            where=str(path),
            why=f"The system says: {error.strerror or error}.",
            hint="Name another place, or see to room and write access at this one.",
            slug="cannot-write",
        ) from error


def _replace(path: Path, chunks: Iterable[bytes]) -> None:
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    with contextlib.suppress(FileExistsError):  # a file is in the way, as mkstemp says better
        path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = _temporary_beside(path)
    try:
        with os.fdopen(handle, "wb") as file:
            _keep_mode(path, file.fileno())
            file.writelines(chunks)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync_folder(path.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def _keep_mode(path: Path, handle: int) -> None:
    """Give the new file the mode of the one it replaces: what was private stays so."""
    if hasattr(os, "fchmod"):
        with contextlib.suppress(FileNotFoundError):
            os.fchmod(handle, stat.S_IMODE(path.stat().st_mode))


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut, where a folder can be synced."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _temporary_beside(path: Path) -> tuple[int, Path]:
    """A new file in the same folder, with the mode that any new file has.

    ``tempfile.mkstemp`` makes private ones, and what mode to give them then is only told by
    ``os.umask``, which takes it from all threads of the program for a moment.
    """
    while True:
        temporary = path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")
        with contextlib.suppress(FileExistsError):
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
            return os.open(temporary, flags, 0o666), temporary
