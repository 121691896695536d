"""Bytes ⇄ files: finding recordings in any layout, reading them, writing safely."""

from stepscope.store.atomic import write_atomic
from stepscope.store.discover import by_reason, find, nothing_found, search
from stepscope.store.found import Found, Miss, Run, Source
from stepscope.store.read import Contents, read

__all__ = [
    "Contents",
    "Found",
    "Miss",
    "Run",
    "Source",
    "by_reason",
    "find",
    "nothing_found",
    "read",
    "search",
    "write_atomic",
]
