"""Memory that was freed, given back to the system."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any, Final

# Of malloc.h.
_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
_ARENA_MAX: Final = -8
_REUSED_BYTES: Final = 32 << 20  # the most that glibc takes


def share_one_arena() -> None:
    """Have all threads allocate from the same memory, for the rest of this process.

    By itself glibc gives each thread memory of its own, and what one has freed no other can use:
    tables that threads build beside each other then cost the sum of what each needs. For processes
    that are ours alone, before they have threads.
    """
    set_option = _libc_function("mallopt")
    if set_option is not None:
        set_option(_ARENA_MAX, 1)


def keep_freed() -> None:
    """Have arrays made of what others were made of before, for the rest of this process.

    By itself glibc maps each large array and unmaps it at once, so that the system clears new
    pages each time: a twentieth of a recording's processor time. ``give_back`` still returns what
    one phase leaves to the next. For processes that are ours alone.
    """
    set_option = _libc_function("mallopt")
    if set_option is not None:
        set_option(_MMAP_THRESHOLD, _REUSED_BYTES)
        set_option(_TRIM_THRESHOLD, 8 * _REUSED_BYTES)


def give_back() -> None:
    """Return what was freed.

    glibc keeps it, in pieces that the next columns do not fit into: without this a process that
    reads a file in phases needs the sum of their peaks. Takes some milliseconds; does nothing
    where the C library has no ``malloc_trim``.
    """
    trim = _libc_function("malloc_trim")
    if trim is not None:
        trim(0)


@cache
def _libc_function(name: str) -> Any:
    """A function of Linux's C library; None where there is none of this name."""
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
