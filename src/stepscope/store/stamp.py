"""What changes when a file is written: to notice that one was written while it was read."""

from __future__ import annotations

from pathlib import Path

from stepscope.errors import StoreError
from stepscope.store.remote import VERSIONS, reading
from stepscope.urls import file_system, is_url


def stamp(path: str) -> tuple[str, ...]:
    """The version of a file's bytes, only to be compared.

    Raises:
        StoreError: It is not there, or does not answer.
    """
    if is_url(path):
        with reading(path):
            system, inside = file_system(path, StoreError)
            system.invalidate_cache(inside)
            info = system.info(inside)
        return tuple(str(info.get(key)) for key in ("size", *VERSIONS))
    try:
        found = Path(path).stat()
    except OSError as error:
        raise StoreError(
            "The recording cannot be read.",
            where=path,
            why=f"The system says: {error.strerror or error}.",
            hint="Restore the file, or look again: it may have been moved.",
            slug="unreadable-path",
        ) from error
    return str(found.st_size), str(found.st_mtime_ns), str(found.st_ino)
