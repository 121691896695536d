"""A program's heap over its run: what is live when, and when it is fullest.

The compiler's own heap trace is replayed where the file has it. Where it has none (most GPU and
CPU compilers record none) lifetimes are worked out from the program: a buffer is live from the
instruction that defines it to the last one that reads it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from stepscope.records import dataclass
from stepscope.tables.hlo.buffers import ALLOC, FREE, SHARE_WITH, BufferPlan, HeapEvent
from stepscope.tables.hlo.module import HloModule, Instruction

HeapSource = Literal["heap trace", "lifetimes", "none"]
# Instructions whose result is (part of) their operand's memory.
_ALIASES = frozenset({"bitcast", "get-tuple-element", "tuple", "opt-barrier", "add-dependency"})


@dataclass(frozen=True, slots=True)
class Heap:
    """One heap, replayed.

    Attributes:
        source: Where the events come from.
        instructions: The instruction at each step.
        heap_bytes, unpadded_bytes: In use before each step; one more element, after the last.
        spans: ``{buffer id: (first step, step after the last)}``.
        peak_step: The step before which the heap is fullest.
        peak_buffers: Buffers live then, in the order they were allocated.
        is_sound: False when the trace frees more than it allocates, or more than any memory has.
    """

    source: HeapSource
    instructions: list[str]
    heap_bytes: list[int]
    unpadded_bytes: list[int]
    spans: dict[int, tuple[int, int]]
    peak_step: int
    peak_buffers: tuple[int, ...]
    is_sound: bool

    @property
    def peak_bytes(self) -> int:
        """The most that is ever in use."""
        return self.heap_bytes[self.peak_step]

    @property
    def peak_unpadded_bytes(self) -> int:
        """What of the peak is data rather than padding."""
        return self.unpadded_bytes[self.peak_step]


#: No memory is larger; sizes in damaged programs may be, and their sums no 64 bits hold.
MOST_BYTES: Final = 1 << 61


def bounded(size_bytes: int) -> int:
    """A size, or the largest there can be."""
    return max(min(size_bytes, MOST_BYTES), -MOST_BYTES)


def simulate(module: HloModule, plan: BufferPlan, color: int) -> Heap:
    """The heap of one memory space."""
    trace = _trace_of(plan, color)
    if trace is not None:
        return replay(trace, plan, module, "heap trace")
    events = _lifetimes(module, plan, color)
    return replay(events, plan, module, "lifetimes" if events else "none")


def unpadded_bytes(module: HloModule, plan: BufferPlan, buffer_id: int) -> int:
    """Bytes of a buffer's value without padding (a tuple's table of pointers has none)."""
    buffer = plan.buffers[buffer_id]
    instruction = module.instructions.get(buffer.instruction)
    if instruction is None:
        return buffer.size_bytes
    shape = instruction.shape.at(buffer.shape_index)
    return buffer.size_bytes if shape.parts else min(shape.bytes, buffer.size_bytes)


def replay(
    events: Iterable[HeapEvent], plan: BufferPlan, module: HloModule, source: HeapSource
) -> Heap:
    """Run heap events and watch the sum."""
    return _Replay(plan, module).run(events, source)


class _Replay:
    """State of one replay: live buffers by canonical id, with how many share each."""

    def __init__(self, plan: BufferPlan, module: HloModule) -> None:
        self._plan = plan
        self._module = module
        self._canonical: dict[int, int] = {}
        self._sharers: dict[int, int] = {}
        self._live: dict[int, None] = {}
        self._opened: dict[int, int] = {}
        self._spans: dict[int, tuple[int, int]] = {}
        self._sizes: dict[int, tuple[int, int]] = {}

    def run(self, events: Iterable[HeapEvent], source: HeapSource) -> Heap:
        heap, bare = [0], [0]
        names: list[str] = []
        peak_step = 0
        peak_buffers: tuple[int, ...] = ()
        sound = True
        for step, event in enumerate(events):
            change = self._apply(event, step)
            names.append(event.instruction)
            heap.append(bounded(heap[-1] + change[0]))
            bare.append(bounded(bare[-1] + change[1]))
            sound &= 0 <= heap[-1] < MOST_BYTES
            if heap[-1] > heap[peak_step]:
                peak_step, peak_buffers = step + 1, tuple(self._live)
        for buffer in self._live:
            self._spans[buffer] = (self._opened[buffer], len(names))
        return Heap(source, names, heap, bare, self._spans, peak_step, peak_buffers, sound)

    def _apply(self, event: HeapEvent, step: int) -> tuple[int, int]:
        """The change in (padded, unpadded) bytes."""
        buffer = event.buffer_id
        if buffer not in self._plan.buffers:
            return 0, 0
        if event.kind == ALLOC:
            self._canonical[buffer] = buffer
            return self._open(buffer, step)
        if event.kind == SHARE_WITH:
            first = self._canonical.get(event.canonical_id, event.canonical_id)
            if first not in self._plan.buffers:
                return 0, 0
            self._canonical[buffer] = first
            return self._open(first, step)
        if event.kind == FREE:
            return self._release(self._canonical.get(buffer, buffer), step)
        return 0, 0

    def _open(self, first: int, step: int) -> tuple[int, int]:
        self._sharers[first] = self._sharers.get(first, 0) + 1
        if first in self._live:
            return 0, 0
        self._live[first] = None
        self._opened.setdefault(first, step)
        return self._size(first)

    def _release(self, first: int, step: int) -> tuple[int, int]:
        self._sharers[first] = self._sharers.get(first, 0) - 1
        if self._sharers[first] > 0 or first not in self._live:
            return 0, 0
        del self._live[first]
        self._spans[first] = (self._opened[first], step)
        padded, bare = self._size(first)
        return -padded, -bare

    def _size(self, buffer: int) -> tuple[int, int]:
        if buffer not in self._sizes:
            bare = unpadded_bytes(self._module, self._plan, buffer)
            self._sizes[buffer] = (self._plan.buffers[buffer].size_bytes, bare)
        return self._sizes[buffer]


def _trace_of(plan: BufferPlan, color: int) -> tuple[HeapEvent, ...] | None:
    """The trace of a memory space: one of a temporary allocation, else the one with most of it."""
    temporary = {
        id_
        for allocation in plan.allocations
        if allocation.color == color and not allocation.is_indefinite
        for id_, _offset, _size in allocation.assigned
    }
    for trace in plan.traces:
        if trace and trace[0].buffer_id in temporary:
            return trace
    best, most = None, 0
    for trace in plan.traces:
        ids = (event.buffer_id for event in trace)
        count = sum(1 for id_ in ids if id_ in plan.buffers and plan.buffers[id_].color == color)
        if count > most:
            best, most = trace, count
    return best


def _lifetimes(module: HloModule, plan: BufferPlan, color: int) -> list[HeapEvent]:
    """Heap events of the temporary buffers, from when values are defined and last read."""
    if module.entry is None:
        return []
    place = _places(module)
    last_reads: dict[int, int] = {}
    starts: dict[int, list[int]] = {}
    ends: dict[int, list[int]] = {}
    for allocation in plan.allocations:
        if allocation.color != color or allocation.is_indefinite:
            continue
        for id_, _offset, _size in allocation.assigned:
            buffer = plan.buffers.get(id_)
            value = module.instructions.get(buffer.instruction) if buffer else None
            if value is None or value.id not in place:
                continue
            last = _last_read(module, place, value.id, last_reads)
            starts.setdefault(place[value.id], []).append(id_)
            ends.setdefault(max(last, place[value.id]), []).append(id_)
    events: list[HeapEvent] = []
    for step, instruction in enumerate(module.entry.instructions):
        events += [HeapEvent(ALLOC, id_, instruction.name, 0) for id_ in starts.get(step, ())]
        events += [HeapEvent(FREE, id_, instruction.name, 0) for id_ in ends.get(step, ())]
    return events


def _places(module: HloModule) -> dict[int, int]:
    """The step of each instruction: its place in the entry, or that of what calls it."""
    assert module.entry is not None  # asked before
    place: dict[int, int] = {}
    seen: set[int] = set()
    for step, instruction in enumerate(module.entry.instructions):
        waiting: list[Instruction] = [instruction]
        while waiting:
            one = waiting.pop()
            place[one.id] = step
            for computation in module.called(one):
                if computation.id not in seen:
                    seen.add(computation.id)
                    waiting += computation.instructions
    return place


def _last_read(module: HloModule, place: dict[int, int], id_: int, known: dict[int, int]) -> int:
    """The last step that reads a value's memory, also through views of it; 0 when none does.

    Args:
        module: Where the instruction is.
        place: The step of each instruction.
        id_: The instruction that makes the value.
        known: What was found before, so that many values in one tuple do not each walk it.
    """
    begun: set[int] = set()
    waiting = [id_]
    while waiting:
        one = waiting.pop()
        if one in known:
            continue
        users = module.users.get(one, ())
        views = [user for user in users if module.by_id[user].opcode in _ALIASES]
        if one not in begun:
            begun.add(one)
            # First its views, then again; of a view of itself no more is asked.
            waiting += [one, *(view for view in views if view not in begun)]
            continue
        reads = [place.get(user, 0) for user in users]
        known[one] = max([*reads, *(known.get(view, 0) for view in views)], default=0)
    return known[id_]
