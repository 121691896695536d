"""Summaries kept from one opening of a pod to the next: beside the recordings, or in a cache.

A key has the recording's path, size and time, so a recording that was written again is summarised
again. The cache is a folder per user; what is old and over ``MOST_BYTES`` goes when more is added.
"""

from __future__ import annotations

import contextlib
import os
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal

from stepscope.errors import StoreError
from stepscope.records import dataclass
from stepscope.store.atomic import write_atomic
from stepscope.store.found import Source
from stepscope.urls import is_url

#: Where summaries go: this user's cache, beside the recordings, or nowhere.
KeptWhere = Literal["cache", "beside", "no"]
PLACES: Final[tuple[KeptWhere, ...]] = ("cache", "beside", "no")
#: What the cache holds at most.
MOST_BYTES: Final = 10_000_000_000
_SUFFIX: Final = ".stepscope-summary"


@dataclass(frozen=True, slots=True)
class Kept:
    """Where summaries of recordings are kept.

    Attributes:
        place: See ``KeptWhere``.
        version: Of summaries: those of other versions are not found.
    """

    place: KeptWhere
    version: int

    def read(self, source: Source) -> bytes | None:
        """The kept summary of a recording as it is now; None if there is none."""
        if self.place == "no":
            return None
        with contextlib.suppress(OSError):
            return self._path(source).read_bytes()
        return None

    def write(self, source: Source, data: bytes) -> None:
        """Keep a summary; it is not an error that a cache cannot be written."""
        if self.place == "no":
            return
        try:
            write_atomic(self._path(source), data)
        except StoreError:
            if self.place == "beside":
                raise

    def _path(self, source: Source) -> Path:
        key = f"{source.path}\0{source.size_bytes}\0{source.modified!r}\0{self.version}"
        name = sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:32]
        if self.place == "beside":
            path = Path(source.path)
            return path.parent / ".stepscope" / f"{path.name}.{name[:8]}{_SUFFIX}"
        return cache_folder() / name[:2] / f"{name}{_SUFFIX}"

    def check(self, sources: tuple[Source, ...]) -> None:
        """Refuse to write beside recordings that are behind a URL.

        Raises:
            StoreError: One of them is.
        """
        if self.place == "beside" and any(is_url(source.path) for source in sources):
            raise StoreError(
                "Summaries cannot be kept beside recordings behind a URL.",
                where=next(source.path for source in sources if is_url(source.path)),
                hint="Take --keep cache: it knows them by size and time.",
                slug="keep-beside",
            )


def cache_folder() -> Path:
    """This user's folder for summaries (``$XDG_CACHE_HOME/stepscope/summaries``)."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "stepscope" / "summaries"


def shrink(most_bytes: int = MOST_BYTES) -> None:
    """Remove the oldest summaries of the cache beyond a size."""
    found = []
    for path in cache_folder().glob(f"*/*{_SUFFIX}"):
        with contextlib.suppress(OSError):
            status = path.stat()
            found.append((status.st_mtime, status.st_size, path))
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= most_bytes:
            break
        with contextlib.suppress(OSError):
            path.unlink()
            total -= size
