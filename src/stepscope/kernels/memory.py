"""Memory that was freed, given back to the system."""

from __future__ import annotations

import ctypes
import sys
from typing import Final

_ARENA_MAX: Final = -8  # M_ARENA_MAX of malloc.h


def share_one_arena() -> None:
    """Have all threads allocate from the same memory, for the rest of this process.

    By itself glibc gives each thread memory of its own, and what one has freed no other can use:
    tables that threads build beside each other then cost the sum of what each needs. For processes
    that are ours alone, before they have threads.
    """
    if sys.platform == "linux":
        set_option = getattr(ctypes.CDLL(None), "mallopt", None)
        if set_option is not None:
            set_option(_ARENA_MAX, 1)


def give_back() -> None:
    """Return what was freed.

    glibc keeps it, in pieces that the next columns do not fit into: without this a process that
    reads a file in phases needs the sum of their peaks. Takes some milliseconds; does nothing
    where the C library has no ``malloc_trim``.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
