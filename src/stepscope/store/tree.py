"""What discovery needs from a file system, so that local disks and URLs are searched alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, Protocol, TypeVar

from stepscope.records import dataclass
from stepscope.store.found import Miss

EntryKind = Literal["file", "folder", "other"]
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a folder.

    Attributes:
        kind: "file", "folder", or "other" (links, sockets: not looked into).
        modified: Seconds since 1970; 0 when unknown.
        version: Another one after each change of the file; "" when unknown.
        miss: Set where the entry itself is worth a report.
    """

    path: str
    name: str
    kind: EntryKind
    size_bytes: int = -1
    modified: float = 0.0
    miss: Miss | None = None
    version: str = ""


class Tree(Protocol):
    """A file system with folders."""

    @property
    def remote(self) -> bool:
        """Whether reading first bytes costs a network round trip."""

    def scan(self, folder: str) -> Iterable[Entry]:
        """Entries of a folder in name order; ``OSError`` where it cannot be listed."""

    def head(self, entry: Entry, size: int) -> bytes:
        """The first ``size`` bytes of a file; ``OSError`` where it cannot be read."""

    def map_entries(
        self, look: Callable[[Entry], Answer], entries: Iterable[Entry]
    ) -> list[Answer]:
        """What ``look`` says of each file, in order; where reading waits, side by side."""
