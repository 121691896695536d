"""Bytes ⇄ files: finding recordings in any layout, reading them, writing safely."""

from stepscope.store.discover import by_reason, find, nothing_found, search
from stepscope.store.found import Found, Miss, Run, Source
from stepscope.store.read import Contents, Pieces, read, read_pieces

__all__ = [
    "Contents",
    "Found",
    "Miss",
    "Pieces",
    "Run",
    "Source",
    "by_reason",
    "find",
    "nothing_found",
    "read",
    "read_pieces",
    "search",
]
