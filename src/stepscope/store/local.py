"""Files of this machine: listing, first bytes, mapped or inflated contents."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from stepscope.records import dataclass, field
from stepscope.store.found import Miss
from stepscope.store.tree import Answer, Entry, EntryKind

_ABSENT: Final = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


def is_there(path: Path) -> bool:
    """Whether there is a file or folder of this name.

    Unlike ``Path.exists``, which since Python 3.14 takes every error for "no", such as a closed
    folder on the way.

    Raises:
        OSError: The system cannot tell.
    """
    try:
        path.stat()
    except OSError as error:
        if error.errno in _ABSENT:
            return False
        raise
    return True


@dataclass(frozen=True)
class LocalTree:
    """A folder of this machine.

    Links that lead out of ``root`` are reported, not followed; links within it are skipped
    because the walk meets their target anyway.
    """

    root: Path
    remote: bool = field(default=False, init=False)

    def scan(self, folder: str) -> Iterator[Entry]:
        """Entries of a folder in name order; raises ``OSError`` where it cannot be listed."""
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
        for entry in entries:
            yield self._linked(entry) if entry.is_symlink() else _plain(entry)

    def head(self, entry: Entry, size: int) -> bytes:
        """The first ``size`` bytes of a file."""
        with Path(entry.path).open("rb") as file:
            return file.read(size)

    def map_entries(
        self, look: Callable[[Entry], Answer], entries: Iterable[Entry]
    ) -> list[Answer]:
        """What ``look`` says of each file, in order."""
        return list(map(look, entries))

    def _linked(self, entry: os.DirEntry[str]) -> Entry:
        target = Path(os.path.realpath(entry.path))
        try:
            found = is_there(target)
        except OSError as error:  # a target of too long a name, or behind a closed folder
            return Entry(entry.path, entry.name, "other", miss=unlistable(entry.path, error))
        if not found:
            miss = Miss(
                entry.path,
                "broken-link",
                f"A symbolic link to {target}, which is not there.",
                "Restore the target or remove the link.",
            )
        elif target.is_relative_to(self.root):
            return Entry(entry.path, entry.name, "other")
        else:
            miss = Miss(
                entry.path,
                "outside-link",
                f"A symbolic link out of the folder, to {target}; it was not followed.",
                f"Open {target} itself.",
            )
        return Entry(entry.path, entry.name, "other", miss=miss)


def _plain(entry: os.DirEntry[str]) -> Entry:
    if entry.is_dir(follow_symlinks=False):
        return Entry(entry.path, entry.name, "folder")
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError as error:
        return Entry(entry.path, entry.name, "other", miss=unlistable(entry.path, error))
    kind: EntryKind = "file" if stat.S_ISREG(status.st_mode) else "other"
    return Entry(entry.path, entry.name, kind, status.st_size, status.st_mtime)


def unlistable(path: str, error: OSError) -> Miss:
    """The miss for a file or folder the system does not let us see."""
    if isinstance(error, PermissionError):
        return Miss(
            path,
            "permission-denied",
            "This user may not read it.",
            "Make it readable (chmod) or run as its owner.",
        )
    if isinstance(error, FileNotFoundError):
        return Miss(path, "no-such-path", "It does not exist.", "Check the spelling.")
    if isinstance(error, IsADirectoryError):
        return Miss(
            path,
            "unreadable-path",
            "It is a folder, not a file.",
            "Name one of its files; `stepscope ls` lists them.",
        )
    return Miss(
        path,
        "io-error",
        f"The system says: {error.strerror or error}.",
        "Check the disk or the mount.",
    )
