"""What a search of a path found: runs of recordings, and the files that nearly were.

Plain values; ``discover`` makes them, ``session`` and the surfaces read them.
"""

from __future__ import annotations

import re
from datetime import datetime

from stepscope.records import dataclass
from stepscope.utf8 import shown

_TIMESTAMP = re.compile(r"(\d{4})_(\d\d)_(\d\d)_(\d\d)_(\d\d)_(\d\d)")


@dataclass(frozen=True, slots=True)
class Source:
    """One file that holds (or should hold) an XSpace.

    Attributes:
        path: Where it is: a local path or a URL, as the system takes it.
        host: Host name, from the file's name, as it is shown.
        size_bytes: Size as stored.
        modified: Modification time, seconds since 1970 (0 when unknown).
        format: "xspace", or the id of one of ``formats.FORMATS``.
        note: What a reader must know of how the file was placed; "" for nothing.
        companions: Files of other formats in its folder, which may be of the same run.
        apart: Which files of other formats in its folder are not shown with it, and why; "" for
            none.
    """

    path: str
    host: str
    size_bytes: int
    modified: float
    format: str = "xspace"
    note: str = ""
    companions: tuple[Source, ...] = ()
    apart: str = ""


@dataclass(frozen=True, slots=True)
class Miss:
    """A file or folder that looks like part of a recording but cannot be opened.

    Attributes:
        path: Where it is.
        slug: Kind of miss; an anchor in ``docs/errors.md``.
        reason: One sentence: what it is, or what is wrong with it.
        hint: One sentence: what to do.
        size_bytes: Size as stored (-1 when unknown).
    """

    path: str
    slug: str
    reason: str
    hint: str
    size_bytes: int = -1

    def __post_init__(self) -> None:
        for name in ("path", "reason", "hint"):  # they are shown, and name files
            object.__setattr__(self, name, shown(getattr(self, name)))


@dataclass(frozen=True, slots=True)
class Run:
    """One recording: the files of one folder, one per host.

    Attributes:
        id: Unique within the search, stable, readable: the folder relative to the root.
        path: The folder, as the system takes it.
        sources: Its files in host order; host names are unique within a run.
    """

    id: str
    path: str
    sources: tuple[Source, ...]

    @property
    def hosts(self) -> tuple[str, ...]:
        """Host names."""
        return tuple(source.host for source in self.sources)

    @property
    def size_bytes(self) -> int:
        """Size of all files as stored."""
        return sum(source.size_bytes for source in self.sources)

    @property
    def modified(self) -> float:
        """Newest modification time of its files."""
        return max((source.modified for source in self.sources), default=0.0)

    @property
    def recorded(self) -> float:
        """When it was recorded: the time in the folder's name if it has one, else ``modified``.

        Copying a log directory resets modification times, so the name is believed first.
        """
        match = _TIMESTAMP.search(self.id.rsplit("/", 1)[-1])
        if match:
            try:
                return datetime(*(int(part) for part in match.groups())).timestamp()  # type: ignore[arg-type]  # exactly six groups
            except (ValueError, OverflowError):
                pass
        return self.modified


@dataclass(frozen=True, slots=True)
class Found:
    """Everything a search saw.

    Attributes:
        root: The path searched, as an absolute path or URL.
        runs: Newest first.
        misses: Near misses, in path order.
        folders: Number of folders looked at.
        files: Number of files looked at.
        notes: Limits that cut the search short, in sentences; empty when it was complete.
    """

    root: str
    runs: tuple[Run, ...]
    misses: tuple[Miss, ...]
    folders: int
    files: int
    notes: tuple[str, ...] = ()
