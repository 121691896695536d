"""First bytes of files behind URLs, kept while their files stay as they are.

To tell what a file is takes a request of its first bytes. A server looks into its folder again and
again, and files that have not changed since are not asked twice.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Final

from stepscope.store.tree import Entry

#: What is kept at most, of all files together.
MOST_BYTES: Final = 64 << 20


class Heads:
    """First bytes by file and version, the longest unused of which go when there is no room."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._found: OrderedDict[tuple[str, int, str], tuple[int, bytes]] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def get(self, entry: Entry, size: int) -> bytes | None:
        """The first ``size`` bytes; None where they are not known of this version."""
        with self._lock:
            asked, head = self._found.get(_key(entry), (-1, b""))
            if asked < size and not 0 <= entry.size_bytes <= asked:
                return None
            self._found.move_to_end(_key(entry))
            return head[:size]

    def keep(self, entry: Entry, size: int, head: bytes) -> None:
        """Remember what a file gave when asked for its first ``size`` bytes."""
        if not entry.version:  # nobody could tell whether it is still the same
            return
        with self._lock:
            _, before = self._found.pop(_key(entry), (0, b""))
            self._bytes -= len(before)
            self._found[_key(entry)] = size, head
            self._bytes += len(head)
            while self._bytes > self._most_bytes:
                _, (_, oldest) = self._found.popitem(last=False)
                self._bytes -= len(oldest)


def _key(entry: Entry) -> tuple[str, int, str]:
    return entry.path, entry.size_bytes, entry.version
