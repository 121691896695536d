"""Bytes ⇄ files: finding recordings in any layout, reading them, writing safely."""

from stepscope.store.atomic import write_atomic
from stepscope.store.described import described, described_all
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
    "described",
    "described_all",
    "find",
    "nothing_found",
    "read",
    "read_pieces",
    "search",
    "write_atomic",
]
