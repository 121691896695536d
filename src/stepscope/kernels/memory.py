"""Memory that was freed, given back to the system."""

from __future__ import annotations

import ctypes
import sys


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
