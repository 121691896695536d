"""Allocator events of a host: what was allocated and freed, when, by which op, and what that left.

Allocators record an instant per allocation and deallocation with the state they are in *after* it
(reference §7). Here each event is one row in time order, every deallocation knows the allocation
it ends, and every event the next one at its address, over the whole recording: what is alive at
any moment follows without walking it.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any, Final

import numpy as np

from stepscope.columns import StatColumn, distinct, nest, rows_of, stats_by_name
from stepscope.columns.space import I32, I64, Bool
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.schema.numbers import whole_number
from stepscope.tables.core.distinct_rows import distinct_rows
from stepscope.tables.core.planes import PlaneKind, planes
from stepscope.tables.core.presence import any_event
from stepscope.tables.core.processes import processes
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.steps.attribution import found_steps

F64 = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
I8 = np.ndarray[tuple[int, ...], np.dtype[np.int8]]
# Numbers that an event does not say.
UNKNOWN = -1
_MEMORY_ID = (names.ALLOCATOR_NAME, names.DEVICE_ORDINAL, names.INDEX_ON_HOST)
_STATS = (
    *_MEMORY_ID,
    names.BYTES_RESERVED,
    names.BYTES_ALLOCATED,
    names.BYTES_AVAILABLE,
    names.FRAGMENTATION,
    names.PEAK_BYTES_IN_USE,
    names.REQUESTED_BYTES,
    names.ALLOCATION_BYTES,
    names.ADDRESS,
    names.TF_OP,
    names.REGION_TYPE,
    names.DATA_TYPE,
    names.SHAPE,
)
# What recorders write for a C string that was not there.
_ABSENT = frozenset({"(null)", "null", ""})

# Deeper nesting than this is a cycle of a broken recording, or not worth naming.
_MOST_LEVELS: Final = 512

# TensorFlow's numbers of element types (``types.proto``), as allocator events carry them.
_TYPE_NAMES: Final = (
    "",
    "float",
    "double",
    "int32",
    "uint8",
    "int16",
    "int8",
    "string",
    "complex64",
    "int64",
    "bool",
    "qint8",
    "quint8",
    "qint32",
    "bfloat16",
    "qint16",
    "quint16",
    "uint16",
    "complex128",
    "half",
    "resource",
    "variant",
    "uint32",
    "uint64",
    "float8_e5m2",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e4m3b11fnuz",
    "float8_e5m2fnuz",
    "int4",
    "uint4",
    "int2",
    "uint2",
)
# A reference to a variable of a type has the type's number plus this.
_REFERENCE: Final = 100


@dataclass(frozen=True, eq=False, slots=True)
class AllocationLabels:
    """One text per event: ``texts[codes[i]]``; the first text is "" (not recorded)."""

    codes: I32
    texts: list[str]

    def of(self, event: int) -> str:
        """The text of one event."""
        return self.texts[int(self.codes[event])]

    def taken(self, source: I64) -> AllocationLabels:
        """The same texts, with the code of ``source[i]`` for event i (its own where negative)."""
        return AllocationLabels(np.where(source >= 0, self.codes[source], self.codes), self.texts)


@dataclass(frozen=True, eq=False, slots=True)
class Allocations:
    """Allocator events in time order.

    ``UNKNOWN`` (or NaN) stands for what an event does not say.

    Attributes:
        rows: Event rows.
        time_ps: When.
        memory: Index into ``memories``.
        memories: Ids of the memories: the allocator's name, or the device's number.
        is_allocation: Whether bytes were taken (else given back).
        address: Where the bytes are, ``UNKNOWN`` when not said.
        requested_bytes, allocated_bytes: Size asked for, and taken with rounding.
        stack_bytes, heap_bytes, free_bytes: State of the memory after the event.
        fragmentation: 1 - largest free piece / free bytes, after the event.
        lifetime_peak_bytes: Highest use since the allocator began.
        op, region, data_type, shape: What the bytes are for; a deallocation has the labels of
            the allocation it ends.
        context: What encloses the event on its thread, for events without an op.
        step: Number of the step it falls into, ``UNKNOWN`` outside.
        begun_by: For a deallocation, the event that allocated its bytes (``UNKNOWN``: before the
            recording). ``UNKNOWN`` for allocations.
        next_here: The next event at the same address of the same memory, ``UNKNOWN`` at the last.
        paired_by_size: Memories of which the recorder says neither addresses nor bytes in use:
            deallocations end the latest allocation of their size, and bytes are added up.
    """

    rows: I64
    time_ps: I64
    memory: I32
    memories: list[str]
    is_allocation: Bool
    address: I64
    requested_bytes: I64
    allocated_bytes: I64
    stack_bytes: I64
    heap_bytes: I64
    free_bytes: I64
    fragmentation: F64
    lifetime_peak_bytes: I64
    op: AllocationLabels
    region: AllocationLabels
    data_type: AllocationLabels
    shape: AllocationLabels
    context: AllocationLabels
    step: I64
    begun_by: I64
    next_here: I64
    paired_by_size: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.time_ps)

    @property
    def added_up(self) -> tuple[str, ...]:
        """A sentence for each memory of ``paired_by_size``."""
        return tuple(
            f"{memory}: neither addresses nor bytes in use were recorded. Sizes are added up from "
            "the begin of the recording, and a deallocation counts for the latest allocation of "
            "its size."
            for memory in self.paired_by_size
        )

    @property
    def in_use_bytes(self) -> I64:
        """Stack and heap after each event."""
        total: I64 = self.stack_bytes + self.heap_bytes
        return total


class _Values:
    """Stats of chosen events, by name."""

    def __init__(self, columns: dict[str, StatColumn], rows: I64) -> None:
        self._columns = columns
        self._rows = rows

    def _where(self, name: str) -> tuple[StatColumn, I64, Bool]:
        column = self._columns[name]
        place = np.searchsorted(column.rows, self._rows)
        place[place == len(column)] = 0
        has = column.rows[place] == self._rows if len(column) else np.zeros(len(place), np.bool_)
        return column, place, has

    def ints(self, name: str, default: int = UNKNOWN) -> I64:
        column, place, has = self._where(name)
        found = np.full(len(place), default, dtype=np.int64)
        found[has] = column.ints[place[has]]
        return found

    def floats(self, name: str) -> F64:
        column, place, has = self._where(name)
        found = np.full(len(place), np.nan)
        found[has] = column.floats[place[has]]
        return found

    def labels(self, name: str, as_text: Callable[[str], str] = str) -> AllocationLabels:
        """Texts of a stat; different texts of the same meaning become one."""
        column, place, has = self._where(name)
        index: dict[str, int] = {"": 0}
        per_text = []
        for text in column.texts.values:
            clean = "" if text in _ABSENT else as_text(text)
            per_text.append(index.setdefault(clean, len(index)))
        codes = np.zeros(len(place), dtype=np.int32)
        if has.any():
            codes[has] = np.asarray(per_text, dtype=np.int32)[column.texts.codes[place[has]]]
        return AllocationLabels(codes, list(index))


@derived
def allocations(host: Host) -> Allocations | None:
    """The host's allocator events; None when it has none."""
    rows, is_allocation = _memory_events(host)
    if len(rows) == 0:
        return None
    space = host.space
    order = np.argsort(space.events.start_ps[rows], kind="stable")
    rows, is_allocation = rows[order], is_allocation[order]
    values = _Values(stats_by_name(space, _STATS), rows)
    memory = _name_processes(host, rows, _memory_of(values))
    address = values.ints(names.ADDRESS)
    requested, allocated = values.ints(names.REQUESTED_BYTES), values.ints(names.ALLOCATION_BYTES)
    in_use = values.ints(names.BYTES_ALLOCATED)
    size = np.where(allocated >= 0, allocated, requested)
    lacks = _without(memory.codes, address) & _without(memory.codes, in_use)
    place = np.where(lacks, _paired(memory.codes, size, is_allocation), address)
    begun_by, next_here = _linked(memory.codes, place, is_allocation)
    in_use = np.where(lacks, _added_up(memory.codes, size, is_allocation, begun_by), in_use)
    op = values.labels(names.TF_OP)
    return Allocations(
        rows=rows,
        time_ps=space.events.start_ps[rows],
        memory=memory.codes,
        memories=memory.texts,
        is_allocation=is_allocation,
        address=address,
        requested_bytes=_inherited(requested, begun_by),
        allocated_bytes=_inherited(size, begun_by),
        stack_bytes=np.maximum(values.ints(names.BYTES_RESERVED, 0), 0),
        heap_bytes=np.maximum(in_use, 0),
        free_bytes=values.ints(names.BYTES_AVAILABLE),
        fragmentation=values.floats(names.FRAGMENTATION),
        lifetime_peak_bytes=values.ints(names.PEAK_BYTES_IN_USE),
        op=op.taken(begun_by),
        region=values.labels(names.REGION_TYPE).taken(begun_by),
        data_type=values.labels(names.DATA_TYPE, _data_type_name).taken(begun_by),
        shape=values.labels(names.SHAPE).taken(begun_by),
        context=_context(host, rows, op).taken(begun_by),
        step=_step_of(host, space.events.start_ps[rows]),
        begun_by=begun_by,
        next_here=next_here,
        paired_by_size=tuple(memory.texts[code] for code in distinct(memory.codes[lacks]).tolist()),
    )


def has_allocations(host: Host) -> bool:
    """Whether ``allocations`` has any."""
    entries = _kind_of_entries(host) > 0
    return any_event(host, range(len(host.space.lines)), entries=entries, timed=False)


def _memory_events(host: Host) -> tuple[I64, Bool]:
    """Rows of the allocator events on host threads, and whether each is an allocation."""
    kind_of_entry = _kind_of_entries(host)
    metadata = host.space.events.metadata
    rows = rows_of(metadata, kind_of_entry > 0)
    return rows, kind_of_entry[metadata[rows]] == 1


def _kind_of_entries(host: Host) -> I8:
    """Per row of ``Space.event_metadata``: 1 an allocation, 2 a deallocation, 0 anything else."""
    metadata, kinds = host.space.event_metadata, planes(host).plane_kind
    allocation = names.MEMORY_EVENTS[0]
    kind_of_entry = np.zeros(max(len(metadata), 1), dtype=np.int8)
    for row, (name, plane) in enumerate(zip(metadata.name, metadata.plane.tolist(), strict=True)):
        if name in names.MEMORY_EVENTS and kinds[plane] is PlaneKind.HOST:
            kind_of_entry[row] = 1 if name == allocation else 2
    return kind_of_entry


def _memory_of(values: _Values) -> AllocationLabels:
    """The memory of each event: its allocator's name, else its device's number."""
    texts: dict[str, int] = {}
    codes: I32 | None = None
    for stat in _MEMORY_ID:
        labels = values.labels(stat)
        lut = np.asarray([texts.setdefault(t, len(texts)) for t in labels.texts], dtype=np.int32)
        given = lut[labels.codes]
        codes = given if codes is None else np.where(codes == texts[""], given, codes)
    assert codes is not None
    used, dense = np.unique(codes, return_inverse=True)
    known = list(texts)
    return AllocationLabels(
        dense.astype(np.int32), [known[code] or "memory" for code in used.tolist()]
    )


def _name_processes(host: Host, rows: I64, memory: AllocationLabels) -> AllocationLabels:
    """The memories, of which each process has its own; a child's are named with its number."""
    known = processes(host)
    if len(known.suffix) == 1:
        return memory
    size = len(memory.texts)
    used, dense = np.unique(
        known.of_rows(host, rows).astype(np.int64) * size + memory.codes, return_inverse=True
    )
    texts = [f"{memory.texts[code % size]}{known.suffix[code // size]}" for code in used.tolist()]
    return AllocationLabels(dense.astype(np.int32), texts)


def _without(memory: I32, values: I64) -> Bool:
    """Events of the memories of which no event has a value."""
    known = np.zeros(int(memory.max(initial=-1)) + 1, np.bool_)
    known[memory[values != UNKNOWN]] = True
    return ~known[memory]


def _paired(memory: I32, size: I64, is_allocation: Bool) -> I64:
    """Numbers that stand for addresses where none was recorded.

    A deallocation ends the latest allocation of its size that still lives: both have the number of
    how many of that size lived meanwhile.
    """
    order = np.lexsort((np.arange(len(size)), size, memory))
    living = np.cumsum(np.where(is_allocation[order], 1, -1))
    starts = np.ones(len(order), np.bool_)
    starts[1:] = (memory[order][1:] != memory[order][:-1]) | (size[order][1:] != size[order][:-1])
    first = np.maximum.accumulate(np.where(starts, np.arange(len(order)), 0))
    before = living[first] - np.where(is_allocation[order], 1, -1)[first]
    level = np.empty(len(order), np.int64)
    level[order] = living - before + ~is_allocation[order]
    return distinct_rows([size, level])[1]


def _added_up(memory: I32, size: I64, is_allocation: Bool, begun_by: I64) -> I64:
    """Bytes in use after each event, where no event says them.

    What is given back without having been taken was there before the recording.
    """
    found = np.zeros(len(size), np.int64)
    change = np.where(is_allocation, 1, -1) * np.maximum(size, 0)
    is_early = ~is_allocation & (begun_by < 0)
    for code in distinct(memory).tolist():
        own = memory == code
        found[own] = np.cumsum(change[own]) - int(change[own & is_early].sum())
    return found


def _linked(memory: I32, address: I64, is_allocation: Bool) -> tuple[I64, I64]:
    """Per event, the allocation it ends and the next event at its address."""
    count = len(address)
    order = np.lexsort((np.arange(count), address, memory))
    here = (memory[order][1:] == memory[order][:-1]) & (address[order][1:] == address[order][:-1])
    here &= address[order][1:] != UNKNOWN
    before, after = order[:-1][here], order[1:][here]
    next_here = np.full(count, UNKNOWN, dtype=np.int64)
    next_here[before] = after
    begun_by = np.full(count, UNKNOWN, dtype=np.int64)
    ends = is_allocation[before] & ~is_allocation[after]
    begun_by[after[ends]] = before[ends]
    return begun_by, next_here


def _inherited(values: I64, begun_by: I64) -> I64:
    """Values, with those a deallocation does not say taken from its allocation."""
    taken: I64 = np.where((values < 0) & (begun_by >= 0), values[begun_by], values)
    return taken


def _context(host: Host, rows: I64, op: AllocationLabels) -> AllocationLabels:
    """What encloses the events that name no op; "" for those that do."""
    nameless = np.flatnonzero(op.codes == 0)
    codes = np.zeros(len(rows), dtype=np.int32)
    if len(nameless) == 0:
        return AllocationLabels(codes, [""])
    codes[nameless], texts = _enclosing_names(host, rows[nameless])
    return AllocationLabels(codes, texts)


def _step_of(host: Host, time: I64) -> I64:
    found = np.full(len(time), UNKNOWN, dtype=np.int64)
    known = found_steps(host)
    if known is None or len(known) == 0:
        return found
    place = np.searchsorted(known.start_ps, time, side="right") - 1
    inside = (place >= 0) & (time < known.end_ps[np.maximum(place, 0)])
    found[inside] = known.markers.num[place[inside]]
    return found


def alive_at(found: Allocations, memory: int, event: int) -> I64:
    """Allocations of a memory that hold their bytes right after an event of it, in time order."""
    index = np.arange(event + 1)
    held = found.is_allocation[: event + 1] & (found.memory[: event + 1] == memory)
    after = found.next_here[: event + 1]
    held &= (after == UNKNOWN) | (after > event)
    alive: I64 = index[held]
    return alive


def freed_later(found: Allocations, memory: int, event: int) -> I64:
    """Deallocations after an event whose bytes were allocated before the recording."""
    index = np.arange(event + 1, len(found))
    later = ~found.is_allocation[event + 1 :] & (found.memory[event + 1 :] == memory)
    later &= found.begun_by[event + 1 :] == UNKNOWN
    candidates: I64 = index[later]
    # A block freed twice without an allocation between has lost an event: the first free counts.
    known = found.next_here[: len(found)]
    repeated = known[known >= 0]
    first = ~np.isin(candidates, repeated)
    return candidates[first]


def peak_event(found: Allocations, memory: int) -> int:
    """The event after which the most bytes of a memory are in use (the last of equals)."""
    own = np.flatnonzero(found.memory == memory)
    use = found.in_use_bytes[own]
    return int(own[len(own) - 1 - int(use[::-1].argmax())])


def event_columns(events: Allocations, chosen: I64) -> dict[str, list[Any]]:
    """One row per chosen event: its sizes with their signs, its labels, the state after it."""
    taken = events.is_allocation[chosen]
    sign = np.where(taken, 1, -1).tolist()

    def known(values: I64) -> list[int | None]:
        return [None if value == UNKNOWN else value for value in values[chosen].tolist()]

    def signed(values: I64) -> list[int | None]:
        pairs = zip(known(values), sign, strict=True)
        return [None if value is None else value * one for value, one in pairs]

    return {
        "time_ms": (events.time_ps[chosen] / 1e9).tolist(),
        "event": ["allocation" if one else "deallocation" for one in taken.tolist()],
        "requested_bytes": signed(events.requested_bytes),
        "allocation_bytes": signed(events.allocated_bytes),
        "op_name": [events.op.of(event) for event in chosen],
        "step": known(events.step),
        "region_type": [events.region.of(event) for event in chosen],
        "data_type": [events.data_type.of(event) for event in chosen],
        "shape": [events.shape.of(event) for event in chosen],
        "allocated_in": [events.context.of(event) for event in chosen],
        "in_use_bytes": events.in_use_bytes[chosen].tolist(),
        "stack_bytes": events.stack_bytes[chosen].tolist(),
        "heap_bytes": events.heap_bytes[chosen].tolist(),
        "free_bytes": known(events.free_bytes),
        "fragmentation_frac": events.fragmentation[chosen].tolist(),
        "address": [
            "" if value == UNKNOWN else f"0x{value & (1 << 64) - 1:x}"
            for value in events.address[chosen].tolist()
        ],
    }


def _enclosing_names(host: Host, rows: I64) -> tuple[I32, list[str]]:
    """What encloses each event on its thread: "jitted function, innermost event".

    PJRT (JAX, XLA) allocates all buffers of a program at once, outside of any op. What encloses
    the event then tells more than nothing: the jitted function and the runtime's phase.

    Returns:
        Codes into texts; code 0 is "" (nothing encloses it).
    """
    space = host.space
    select = space.on_lines(distinct(space.lines_of(rows)).tolist())
    parent = nest(
        space.events.start_ps, space.events.duration_ps, space.line_begin, select=select
    ).parent.astype(np.int64)
    is_memory, is_function = (
        np.asarray([test(name) for name in space.event_metadata.name], dtype=bool)
        for test in (_is_memory, _is_function)
    )
    metadata = space.events.metadata
    innermost = np.full(len(rows), -1, dtype=np.int64)
    function = np.full(len(rows), -1, dtype=np.int64)
    above = parent[rows]
    for _level in range(_MOST_LEVELS):
        inside = np.flatnonzero(above >= 0)
        if len(inside) == 0:
            break
        name = metadata[above[inside]]
        new = inside[(innermost[inside] < 0) & ~is_memory[name]]
        innermost[new] = metadata[above[new]]
        new = inside[(function[inside] < 0) & is_function[name]]
        function[new] = metadata[above[new]]
        above[inside] = np.where(function[inside] < 0, parent[above[inside]], -1)
    return _labels(function, innermost, space.event_metadata.name)


def _labels(function: I64, innermost: I64, known: list[str]) -> tuple[I32, list[str]]:
    first, codes = distinct_rows((function, innermost))
    texts = {"": 0}
    lut = []
    for pair in zip(function[first].tolist(), innermost[first].tolist(), strict=True):
        words = dict.fromkeys(known[code] for code in pair if code >= 0)
        lut.append(texts.setdefault(", ".join(words), len(texts)))
    return np.asarray(lut, dtype=np.int32)[codes], list(texts)


def _is_memory(name: str) -> bool:
    return name in names.MEMORY_EVENTS


def _is_function(name: str) -> bool:
    return name.startswith(names.PJIT_FUNCTION)


def _data_type_name(text: str) -> str:
    """The name of an element type given as a number; "" for none; other texts as they are."""
    number = whole_number(text)
    if number is None or number < 0:
        return text
    base = number - _REFERENCE if number > _REFERENCE else number
    if base >= len(_TYPE_NAMES):
        return f"type {number}"
    return _TYPE_NAMES[base] + ("_ref" if number > _REFERENCE else "")


def type_with_most_bytes(found: Allocations, ops: AbstractSet[str]) -> str:
    """Return the data type of most bytes that these ops allocate; "" unknown."""
    of_ops = np.asarray([op in ops for op in found.op.texts], dtype=bool)[found.op.codes]
    chosen = of_ops & found.is_allocation
    sizes = np.maximum(found.allocated_bytes[chosen], 0)
    held = np.bincount(found.data_type.codes[chosen], sizes, len(found.data_type.texts))
    return found.data_type.texts[int(held.argmax())] if held.any() else ""
