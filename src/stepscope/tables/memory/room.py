"""How much larger a batch a memory would hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# What stays free: sizes vary from step to step, and free memory is not in one piece.
_SPARE_FRAC: Final = 0.1


@dataclass(frozen=True, slots=True)
class BatchRoom:
    """How many times the recorded batch fits, with a tenth of the memory left free.

    Attributes:
        at_least: Factor if all memory in use at the peak grows with the batch.
        at_most: Factor if only temporary memory grows: (0.9 · capacity - least) / (peak - least),
            with ``least`` the lowest use; None without temporary memory.
    """

    at_least: float
    at_most: float | None


def batch_room(peak_bytes: int, least_bytes: int, capacity_bytes: int | None) -> BatchRoom | None:
    """The room of one memory; None where its capacity or its use is not known."""
    if not capacity_bytes or peak_bytes <= 0:
        return None
    usable = (1 - _SPARE_FRAC) * capacity_bytes
    grows = peak_bytes - least_bytes
    most = (usable - least_bytes) / grows if grows > 0 else None
    return BatchRoom(usable / peak_bytes, most)
