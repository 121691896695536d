"""Memories of devices whose allocator says how much it may use, for the rules about memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stepscope.advice.render import phrase
from stepscope.records import dataclass
from stepscope.tables.core.thresholds import NEARLY_ALL_FRAC

if TYPE_CHECKING:
    from stepscope.analysis.memory_profile import MemoryProfile

# Allocators of the host's memory, pinned or not.
_HOST = ("gpu_host", "xla_gpu_host", "cpu", "mklcpu")
# PyTorch's caching allocator reports what it has reserved so far, which grows: not a limit.
_GROWING = ("torch_",)


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """One memory at its peak.

    Attributes:
        id: As memory_profile names it.
        name: The same for a sentence: allocators without a name have the number of their device.
        peak_bytes: Highest use, also before the recording where the allocator remembers it.
        capacity_bytes, free_bytes: At the highest use within the recording.
        used_frac: ``peak_bytes`` of ``capacity_bytes``.
        fragmentation_frac: 1 - largest free piece / free bytes; None where not recorded.
        peak_time_ms: When; None where not recorded.
        holders: Ops that held most at the peak, each with its bytes; none where the highest use
            was before the recording.
    """

    id: str
    name: str
    peak_bytes: int
    capacity_bytes: int
    free_bytes: int
    used_frac: float
    fragmentation_frac: float | None
    peak_time_ms: float | None
    holders: tuple[tuple[str, int], ...]

    @property
    def subject(self) -> str:
        """Its name at the beginning of a sentence."""
        return self.name[:1].upper() + self.name[1:] if self.name.startswith("the ") else self.name


def device_memories(profile: MemoryProfile) -> list[DeviceMemory]:
    """The memories of devices with a known capacity, the fullest first."""
    found = []
    for one in profile.memories:
        no_limit = one.id.rpartition(": ")[2].lower().startswith(_HOST + _GROWING)
        if no_limit or not one.capacity_bytes or one.peak_bytes is None:
            continue
        peak = max(one.peak_bytes, one.lifetime_peak_bytes or 0)
        held = list(one.breakdown.records()) if one.peak_bytes >= NEARLY_ALL_FRAC * peak else []
        held.sort(key=lambda row: -row.allocation_bytes)
        found.append(
            DeviceMemory(
                id=one.id,
                name=_name(one.id),
                peak_bytes=peak,
                capacity_bytes=one.capacity_bytes,
                free_bytes=one.free_bytes or 0,
                used_frac=peak / one.capacity_bytes,
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


def _name(id_: str) -> str:
    """A memory in a sentence: "GPU_0_bfc", "the memory of device 1"; with its host where many."""
    host, colon, own = id_.rpartition(": ")
    return phrase("memory_of", of_host=host + colon, number=own) if own.isdecimal() else id_
