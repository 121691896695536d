"""The compiler's plan of a program's memory: buffers, allocations and the heap's trace."""

from __future__ import annotations

from stepscope.errors import DecodeError
from stepscope.records import dataclass
from stepscope.tables.hlo.module import HloModule, ints_of
from stepscope.wire.read import values

# Kinds of heap events.
ALLOC, FREE, SHARE_WITH = 0, 1, 2


@dataclass(frozen=True, slots=True)
class LogicalBuffer:
    """A value that needs memory.

    Attributes:
        size_bytes: Bytes it needs, padding included.
        color: The memory space: 0 device memory, others on-chip or host memory.
        instruction, shape_index: The value: (a part of) the result of an instruction.
    """

    id: int
    size_bytes: int
    color: int
    instruction: str
    shape_index: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Allocation:
    """A block of memory that several buffers may share in turn.

    Attributes:
        assigned: (logical buffer id, offset, size) of the buffers placed in it.
    """

    index: int
    size_bytes: int
    color: int
    is_thread_local: bool
    is_parameter: bool
    is_constant: bool
    maybe_live_out: bool
    assigned: tuple[tuple[int, int, int], ...]

    @property
    def is_indefinite(self) -> bool:
        """Whether it lives as long as the program runs (reference §8.5)."""
        return self.is_thread_local or self.is_parameter or self.is_constant or self.maybe_live_out

    @property
    def group(self) -> str:
        """What a person calls it."""
        if self.is_parameter:
            return "Parameter"
        if self.maybe_live_out:
            return "Output"
        if self.is_thread_local:
            return "Thread-local"
        return "Constant" if self.is_constant else "Temporary"


@dataclass(frozen=True, slots=True)
class HeapEvent:
    """One step of the heap: ``kind`` is ALLOC, FREE or SHARE_WITH (``canonical_id``)."""

    kind: int
    buffer_id: int
    instruction: str
    canonical_id: int


@dataclass(frozen=True, slots=True)
class BufferPlan:
    """All of it.

    Attributes:
        traces: Heap events of each simulated heap, in program order.
    """

    buffers: dict[int, LogicalBuffer]
    allocations: tuple[Allocation, ...]
    traces: tuple[tuple[HeapEvent, ...], ...]

    @property
    def colors(self) -> tuple[int, ...]:
        """Memory spaces that hold anything."""
        return tuple(sorted({one.color for one in self.allocations}))


def buffer_plan(module: HloModule) -> BufferPlan | None:
    """The plan of a module; None when the file has none, or a damaged one."""
    if not module.buffer_assignment:
        return None
    try:
        return _parse(module)
    except DecodeError:
        return None


def _parse(module: HloModule) -> BufferPlan:
    names = {one.id: one.name for one in module.by_id.values()}
    buffers: dict[int, LogicalBuffer] = {}
    allocations: list[Allocation] = []
    traces: list[tuple[HeapEvent, ...]] = []
    for number, value in values(module.buffer_assignment):
        if not isinstance(value, bytes):
            continue
        if number == 1:
            buffer = _buffer(value, names)
            buffers[buffer.id] = buffer
        elif number == 3:
            allocations.append(_allocation(value))
        elif number == 4:
            events = (v for n, v in values(value) if n == 1 and isinstance(v, bytes))
            traces.append(tuple(_event(event) for event in events))
    return BufferPlan(buffers, tuple(allocations), tuple(traces))


def _buffer(data: bytes, names: dict[int, str]) -> LogicalBuffer:
    numbers: dict[int, int] = {}
    instruction = ""
    index: tuple[int, ...] = ()
    for number, value in values(data):
        if isinstance(value, int):
            numbers[number] = value
        elif number == 3:
            instruction, index = _location(value, names)
    return LogicalBuffer(
        numbers.get(1, 0), numbers.get(2, 0), numbers.get(4, 0), instruction, index
    )


def _location(data: bytes, names: dict[int, str]) -> tuple[str, tuple[int, ...]]:
    """Older compilers name the instruction, newer ones give its id."""
    name, id_ = "", 0
    index: list[int | bytes] = []
    for number, value in values(data):
        if number == 2 and isinstance(value, bytes):
            name = value.decode("utf-8", "replace")
        elif number == 3:
            index.append(value)
        elif number == 4 and isinstance(value, int):
            id_ = value
    return name or names.get(id_, ""), ints_of(index)


def _allocation(data: bytes) -> Allocation:
    numbers: dict[int, int] = {}
    assigned: list[tuple[int, int, int]] = []
    for number, value in values(data):
        if isinstance(value, int):
            numbers[number] = value
        elif number == 9:
            one = {n: v for n, v in values(value) if isinstance(v, int)}
            assigned.append((one.get(1, 0), one.get(2, 0), one.get(3, 0)))
    return Allocation(
        index=numbers.get(1, 0),
        size_bytes=numbers.get(2, 0),
        color=numbers.get(8, 0),
        is_thread_local=bool(numbers.get(3)),
        is_parameter=bool(numbers.get(5)),
        is_constant=bool(numbers.get(12)),
        maybe_live_out=bool(numbers.get(7)),
        assigned=tuple(assigned),
    )


def _event(data: bytes) -> HeapEvent:
    numbers: dict[int, int] = {}
    name = ""
    for number, value in values(data):
        if isinstance(value, int):
            numbers[number] = value
        elif number == 4:
            name = value.decode("utf-8", "replace")
    return HeapEvent(numbers.get(1, 0), numbers.get(2, 0), name, numbers.get(5, 0))
