"""What recording the shapes of ops costs of the heap.

With shapes PyTorch's profiler keeps a small object of each tensor until it ends. Where tensors are
of the host and large, these lie in the holes that freed tensors leave, so that the next tensor does
not fit there: the process grows by gigabytes in seconds, and spends its time on new pages.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import Final

# A heap with so much more in pieces than when the recording began is one of those.
_MOST_BYTES: Final = 256 << 20


class _MallInfo(ctypes.Structure):
    """glibc's ``struct mallinfo2``; ``fordblks`` is what is free of the heap, in bytes."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
            "fordblks", "keepcost",
        )
    ]  # fmt: skip


def free_bytes() -> int | None:
    """How much of the heap is free; None where the allocator does not say (glibc ≥ 2.33 does)."""
    if sys.platform != "linux":
        return None
    try:
        asked = ctypes.CDLL(None).mallinfo2
    except (OSError, AttributeError):
        return None
    asked.restype = _MallInfo
    return int(asked().fordblks)


_STATM: Final = Path("/proc/self/statm")


def resident_bytes() -> int:
    """The process's memory that is resident; 0 where the system does not say."""
    try:
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


class HeapWatch:
    """Tells when a heap has come to lie in pieces since the watch began."""

    def __init__(self) -> None:
        self._free_bytes = free_bytes()
        self._seen_bytes = 0 if self._free_bytes is None else resident_bytes()

    def is_in_pieces(self) -> bool:
        """Whether it is; cheap where the process has not grown since it was asked last."""
        if self._free_bytes is None:
            return False
        resident = resident_bytes()
        if resident < self._seen_bytes + _MOST_BYTES // 2:
            return False
        self._seen_bytes = resident
        return (free_bytes() or 0) > self._free_bytes + _MOST_BYTES
