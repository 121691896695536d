"""Memories of devices whose allocator says how much it may use, for the rules about memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stepscope.analysis.memory_profile import MemoryProfile

# Allocators of the host's memory, pinned or not.
_HOST = ("gpu_host", "xla_gpu_host", "cpu", "mklcpu")
# PyTorch's caching allocator says what it has reserved so far, which grows: that is no limit.
_GROWING = ("torch_",)


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """One memory at its peak.

    Attributes:
        id: As memory_profile names it.
        peak_bytes, capacity_bytes, free_bytes: At the peak.
        used_frac: ``peak_bytes`` of ``capacity_bytes``.
        fragmentation_frac: 1 - largest free piece / free bytes; None where not recorded.
        peak_time_ms: When; None where not recorded.
        holders: Ops that held most at the peak, each with its bytes.
    """

    id: str
    peak_bytes: int
    capacity_bytes: int
    free_bytes: int
    used_frac: float
    fragmentation_frac: float | None
    peak_time_ms: float | None
    holders: tuple[tuple[str, int], ...]


def device_memories(profile: MemoryProfile) -> list[DeviceMemory]:
    """The memories of devices with a known capacity, the fullest first."""
    found = []
    for one in profile.memories:
        no_limit = one.id.rpartition(": ")[2].lower().startswith(_HOST + _GROWING)
        if no_limit or not one.capacity_bytes or one.peak_bytes is None:
            continue
        held = list(one.breakdown.records())
        held.sort(key=lambda row: -row.allocation_bytes)
        found.append(
            DeviceMemory(
                id=one.id,
                peak_bytes=one.peak_bytes,
                capacity_bytes=one.capacity_bytes,
                free_bytes=one.free_bytes or 0,
                used_frac=one.peak_bytes / one.capacity_bytes,
                fragmentation_frac=one.fragmentation_frac,
                peak_time_ms=one.peak_time_ms,
                holders=tuple(
                    (
                        row.op_name or row.allocated_in or row.origin,
                        row.allocation_bytes,
                    )
                    for row in held[:3]
                ),
            )
        )
    found.sort(key=lambda one: -one.used_frac)
    return found


def gib(size: float) -> str:
    """Bytes as a person reads them: "1.5 GiB", "12 MiB"."""
    return f"{size / 2**30:.3g} GiB" if size >= 2**30 else f"{size / 2**20:.3g} MiB"
