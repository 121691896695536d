"""The events of an allocator, as a program that takes and gives back would leave them."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.profiles.model import Event

_ROUND = 256


@dataclass
class Heap:
    """A made-up allocator: ``take`` and ``give`` append events with the state after them.

    Attributes:
        name: Its name (or number), written as ``name_stat``.
        limit: Bytes it may hand out; None writes neither free bytes nor fragmentation.
        stack: Bytes reserved.
        in_use: Bytes on the heap now.
        fragmentation: What it says of itself.
    """

    name: str | int
    limit: int | None = 1 << 30
    stack: int = 0
    in_use: int = 0
    name_stat: str = "allocator_name"
    fragmentation: float = 0.25
    events: list[Event] = field(default_factory=list)
    blocks: dict[int, int] = field(default_factory=dict)
    peak: int = 0

    def take(self, at_us: float, address: int, size: int, **labels: object) -> None:
        """Allocate ``size`` bytes, rounded up to 256."""
        rounded = -(-size // _ROUND) * _ROUND
        self.blocks[address] = rounded
        self.in_use += rounded
        self.peak = max(self.peak, self.in_use)
        sizes = {"requested_bytes": size, "allocation_bytes": rounded, "addr": address}
        self._append("MemoryAllocation", at_us, sizes | labels)

    def give(
        self, at_us: float, address: int, *, size: int | None = None, say_size: bool = True
    ) -> None:
        """Free the block at an address; ``size`` where it was allocated before the recording."""
        freed = self.blocks.pop(address, size or 0)
        self.in_use -= freed
        sizes: dict[str, object] = {"addr": address}
        if say_size:
            sizes |= {"requested_bytes": freed, "allocation_bytes": freed}
        self._append("MemoryDeallocation", at_us, sizes)

    def _append(self, name: str, at_us: float, sizes: dict[str, object]) -> None:
        state: dict[str, object] = {
            self.name_stat: self.name,
            "bytes_reserved": self.stack,
            "bytes_allocated": self.in_use,
            "peak_bytes_in_use": self.peak,
        }
        if self.limit is not None:
            state["bytes_available"] = self.limit - self.stack - self.in_use
            state["fragmentation"] = self.fragmentation
        self.events.append(Event(name, at_us, 0, state | sizes))
