"""Memory that was freed, given back to the system.

glibc keeps it, in pieces that the next columns do not fit into: a process that reads a file in
phases then needs the sum of their peaks.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Final

_MMAP_THRESHOLD: Final = -3  # M_MMAP_THRESHOLD of malloc.h
_LARGE_BYTES: Final = 4 << 20


def return_large() -> None:
    """Have large arrays returned as soon as they are freed, for the rest of this process.

    By itself glibc does so only until it has seen one freed. For processes that are ours alone.
    """
    if sys.platform == "linux":
        set_option = getattr(ctypes.CDLL(None), "mallopt", None)
        if set_option is not None:
            set_option(_MMAP_THRESHOLD, _LARGE_BYTES)


def give_back() -> None:
    """Return what was freed. Takes some milliseconds; does nothing without ``malloc_trim``."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
