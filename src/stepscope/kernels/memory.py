"""Memory that was freed, given back to the system."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any, Final

_ARENA_MAX: Final = -8  # M_ARENA_MAX of malloc.h


def share_one_arena() -> None:
    """Have all threads allocate from the same memory, for the rest of this process.

    By itself glibc gives each thread memory of its own, and what one has freed no other can use:
    tables that threads build beside each other then cost the sum of what each needs. For processes
    that are ours alone, before they have threads.
    """
    set_option = _of_libc("mallopt")
    if set_option is not None:
        set_option(_ARENA_MAX, 1)


def give_back() -> None:
    """Return what was freed.

    glibc keeps it, in pieces that the next columns do not fit into: without this a process that
    reads a file in phases needs the sum of their peaks. Takes some milliseconds; does nothing
    where the C library has no ``malloc_trim``.
    """
    trim = _of_libc("malloc_trim")
    if trim is not None:
        trim(0)


@cache
def _of_libc(name: str) -> Any:
    """A function of Linux's C library; None where there is none of this name."""
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
