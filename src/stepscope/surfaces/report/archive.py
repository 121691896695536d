"""Members of a report, each packed by itself, in the base64 of one inert element."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

FORMAT: Final = 1
_LEVEL: Final = 9


class Archive:
    """Packed members by name. A member is unpacked alone, so that the first page needs one."""

    def __init__(self) -> None:
        self._members: dict[str, bytes] = {}

    @property
    def size_bytes(self) -> int:
        """What the members take in the file."""
        return sum(len(text) for text in self._members.values())

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def put(self, name: str, data: bytes) -> int:
        """Add a member; returns what it takes in the file."""
        # No time stamp: the same answers give the same bytes.
        packed = base64.b64encode(gzip.compress(data, _LEVEL, mtime=0))
        self._members[name] = packed
        return len(packed)

    def put_json(self, name: str, value: Any) -> int:
        """Add a value as JSON; returns what it takes in the file."""
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return self.put(name, text.encode())

    def drop(self, names: Sequence[str]) -> None:
        """Take members out again."""
        for name in names:
            self._members.pop(name, None)

    def manifest(self, notes: Sequence[str]) -> str:
        """What is inside and where, and what is not, as base64 of JSON."""
        places: dict[str, tuple[int, int]] = {}
        at = 0
        for name, text in self._members.items():
            places[name] = (at, len(text))
            at += len(text)
        value: Mapping[str, Any] = {"format": FORMAT, "notes": list(notes), "members": places}
        return base64.b64encode(json.dumps(value, ensure_ascii=False).encode()).decode()

    def packed(self) -> str:
        """All members one after the other: an alphabet without ``<``."""
        return b"".join(self._members.values()).decode()
