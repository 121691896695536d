"""What the allocator held after each event, worked back from what it held at the snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.formats.torch_memory.trace import ACTIONS, I64, MemoryTrace, whole
from stepscope.records import dataclass, field

I32 = NDArray[np.int32]

_ALLOC, _FREE = ACTIONS.index("alloc"), ACTIONS.index("free_completed")
_RESERVES: Final = [ACTIONS.index(one) for one in ("segment_alloc", "segment_map")]
_RETURNS: Final = [ACTIONS.index(one) for one in ("segment_free", "segment_unmap")]
_MOST_BYTES: Final = (1 << 63) - 1
_ACTIVE: Final = ("active_allocated", "active_pending_free", "active_awaiting_free")


@dataclass
class State:
    """A device's memory at the moment of the snapshot.

    Attributes:
        reserved_bytes, allocated_bytes: In segments, and of those in use.
        segments: How many.
        free_bytes, largest_free_bytes: In free blocks, and in the largest of them.
        blocks: Address, size, and codes of stack and line of each block in use.
    """

    reserved_bytes: int = 0
    allocated_bytes: int = 0
    segments: int = 0
    free_bytes: int = 0
    largest_free_bytes: int = 0
    blocks: list[tuple[int, int, int, int]] = field(default_factory=list)

    @property
    def fragmentation(self) -> float:
        """1 - largest free block / free bytes; NaN where nothing is free."""
        return 1 - self.largest_free_bytes / self.free_bytes if self.free_bytes else float("nan")


def states(segments: Any, trace: MemoryTrace) -> dict[int, State]:
    """The state of each device that has segments."""
    found: dict[int, State] = {}
    blocks: set[int] = set()
    for segment in _distinct_dicts(segments, set()):
        state = found.setdefault(max(whole(segment.get("device", 0)), 0), State())
        state.segments += 1
        state.reserved_bytes = _sum(state.reserved_bytes, _size(segment.get("total_size")))
        at = whole(segment.get("address"))
        for block in _distinct_dicts(segment.get("blocks"), blocks):
            at = _add_block(state, block, at, trace)
    return found


def _distinct_dicts(values: Any, seen: set[int]) -> Iterator[dict[Any, Any]]:
    """The dicts of a list, each object once in all lists: no allocator has one block twice."""
    for value in values if isinstance(values, list) and id(values) not in seen else ():
        if isinstance(value, dict) and id(value) not in seen:
            seen.add(id(value))
            yield value
    seen.add(id(values))


def _add_block(state: State, block: dict[Any, Any], at: int, trace: MemoryTrace) -> int:
    """Count one block; where the next begins."""
    size = _size(block.get("size"))
    # Old snapshots give blocks in order, without their addresses.
    at = whole(block["address"]) if "address" in block else at
    if block.get("state") in _ACTIVE:
        frames = block.get("frames")
        history = block.get("history")
        if frames is None and isinstance(history, list) and history:
            frames = history[0].get("frames") if isinstance(history[0], dict) else None
        state.allocated_bytes = _sum(state.allocated_bytes, size)
        state.blocks.append((at, size, *trace.stack(frames)))
    else:
        state.free_bytes = _sum(state.free_bytes, size)
        state.largest_free_bytes = max(state.largest_free_bytes, size)
    return _sum(at, size)


def _size(value: Any) -> int:
    return max(whole(value), 0)


def _sum(left: int, right: int) -> int:
    return min(left + right, _MOST_BYTES)


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """Memory of one device over time, one row per allocation and deallocation.

    Attributes:
        size_bytes: Positive taken, negative given back.
        address, time_ns, stack, line, kind: Of each; the last three are codes of the trace's texts.
        allocated_bytes, reserved_bytes: After each.
        before: How many of the first rows stand for what was taken before the recording.
    """

    size_bytes: I64
    address: I64
    time_ns: I64
    stack: I32
    line: I32
    kind: I32
    allocated_bytes: I64
    reserved_bytes: I64
    before: int


def held(events: dict[str, NDArray[Any]], state: State) -> Held:
    """What a device held.

    The ring of events may begin long after the program did. What its first events give back, and
    what lives at the snapshot without having been taken in it, was taken before: it comes at the
    begin, so that sums are what the allocator had.

    Args:
        events: Of this device, in order; with ``time_ns``. They are taken out.
        state: Of the device at the end.
    """
    action = events.pop("action")
    rows = np.flatnonzero((action == _ALLOC) | (action == _FREE)).astype(np.int32)
    is_alloc = action[rows] == _ALLOC
    reserved_bytes = _reserved(action, events["size"], rows, state)
    times_ns = events.pop("time_ns")
    start = int(times_ns[0]) if len(times_ns) else 0
    times_ns = times_ns[rows]
    # Of all events at once no more is kept than these that matter.
    size, address = np.maximum(events.pop("size")[rows], 0), events.pop("addr")[rows]
    stack, line, kind = (events.pop(name)[rows] for name in ("stack", "line", "kind"))
    del action, rows
    begun, ended = _ends(address, is_alloc)
    early = np.flatnonzero(~is_alloc & ~begun)
    blocks = _blocks_before(state, address[is_alloc & ~ended])
    early_sizes, early_addresses = size[early], address[early]
    del begun, ended
    np.negative(size, out=size, where=~is_alloc)
    before = len(early) + len(blocks)
    none = np.zeros(len(early), np.int32)
    codes = blocks[:, 2:].astype(np.int32)
    signed = np.concatenate([early_sizes, blocks[:, 1], size])
    del size
    return Held(
        signed,
        np.concatenate([early_addresses, blocks[:, 0], address]),
        np.concatenate([np.full(before, start), times_ns]),
        np.concatenate([none, codes[:, 0], stack]),
        np.concatenate([none, codes[:, 1], line]),
        np.concatenate([np.zeros(before, np.int32), kind]),
        np.cumsum(signed),
        np.concatenate([np.full(before, reserved_bytes[0]), reserved_bytes[1:]]),
        before,
    )


def _reserved(action: NDArray[Any], size: I64, rows: I32, state: State) -> I64:
    """What was reserved before all events, and after each of these rows."""
    changes = np.flatnonzero(np.isin(action, [*_RESERVES, *_RETURNS]))
    signed = np.maximum(size[changes], 0)
    signed[np.isin(action[changes], _RETURNS)] *= -1
    # Of broken sizes nothing sensible is left; sums of them wrap.
    after = np.concatenate([np.zeros(1, np.int64), np.cumsum(signed)])
    after -= after[-1:].copy()
    after += state.reserved_bytes
    found = after[np.searchsorted(changes, rows, side="right")]
    return np.concatenate([after[:1], found])


def _ends(address: I64, is_alloc: I64) -> tuple[I64, I64]:
    """Which deallocations have their allocation before them, and which allocations end."""
    order = np.argsort(address, kind="stable")
    same = np.zeros(len(order), bool)
    same[1:] = address[order][1:] == address[order][:-1]
    after_alloc = np.zeros(len(order), bool)
    after_alloc[1:] = same[1:] & is_alloc[order][:-1] & ~is_alloc[order][1:]
    begun = np.zeros(len(order), bool)
    begun[order] = after_alloc
    ended = np.zeros(len(order), bool)
    ended[order[:-1]] = after_alloc[1:]
    return begun, ended


def _blocks_before(state: State, living: I64) -> I64:
    """Blocks in use that no event took: address, size, stack, line."""
    blocks = np.asarray(state.blocks, np.int64).reshape(-1, 4)
    return blocks[~np.isin(blocks[:, 0], living)]
