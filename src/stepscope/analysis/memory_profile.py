"""Memory profile: use of each memory over time, its peak, and what held the bytes then."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from stepscope import how_to_record
from stepscope.columns.space import I64
from stepscope.registry import Help, Need, Tool
from stepscope.result import Column, Diagnostic, Result, Row, Table, columns_of, ms
from stepscope.tables.core.planes import DEVICE_KINDS, plane_kind
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.memory.allocations import (
    UNKNOWN,
    Allocations,
    allocations,
    has_allocations,
    peak_event,
)
from stepscope.tables.memory.breakdown import BEFORE, Holding, holdings
from stepscope.tables.memory.programs import ProgramMemory, has_program_memory, program_memories
from stepscope.tables.memory.room import BatchRoom, batch_room
from stepscope.tables.memory.samples import MemorySamples, has_memory_samples, memory_samples

ALLOCATOR = "allocator events"
COMPILED = "HLO buffer assignment"
SAMPLES = "sampled counter"
_DEVICE_NUMBER = re.compile(r"(?:^|_)(\d+)(?:_|$)")
_FAR_PS = 1 << 62


AllocatedIn = Annotated[
    str, Column("Allocated in", kind="name", help="What enclosed it, where no op is recorded.")
]


class MemoryTimeRow(Row):
    """The state of a memory after one event of its allocator."""

    memory: Annotated[str, Column("Memory", kind="category")]
    time_ms: Annotated[float, Column("Time", unit="ms", kind="time")]
    event: Annotated[str, Column("Event", kind="category", help="allocation, deallocation, sample")]
    requested_bytes: Annotated[
        int, Column("Requested", unit="B", kind="bytes", help="Negative when given back.")
    ]
    allocation_bytes: Annotated[
        int, Column("Allocated", unit="B", kind="bytes", help="With rounding; negative as above.")
    ]
    op_name: Annotated[
        str, Column("Op", kind="name", help="Of a deallocation: the op that had allocated.")
    ]
    step: Annotated[int, Column("Step", kind="number")]
    region_type: Annotated[
        str,
        Column("Region", kind="category", help="temp, output, persist/dynamic as recorded."),
    ]
    data_type: Annotated[str, Column("Data type", kind="category")]
    shape: Annotated[str, Column("Shape", kind="text")]
    allocated_in: AllocatedIn
    in_use_bytes: Annotated[
        int, Column("In use", unit="B", kind="bytes", help="Stack and heap after the event.")
    ]
    stack_bytes: Annotated[int, Column("Stack", unit="B", kind="bytes")]
    heap_bytes: Annotated[int, Column("Heap", unit="B", kind="bytes")]
    free_bytes: Annotated[int, Column("Free", unit="B", kind="bytes")]
    fragmentation_frac: Annotated[
        float,
        Column("Fragmentation", unit="%", kind="ratio", help="1 - largest free piece / free."),
    ]
    address: Annotated[str, Column("Address", kind="text", hidden=True)]


class MemoryHoldingRow(Row):
    """Blocks that are alike and were held at the peak."""

    memory: Annotated[str, Column("Memory", kind="category")]
    op_name: Annotated[str, Column("Op", kind="name")]
    allocation_bytes: Annotated[int, Column("Allocated", unit="B", kind="bytes", sort="desc")]
    requested_bytes: Annotated[int, Column("Requested", unit="B", kind="bytes")]
    occurrences: Annotated[int, Column("Occurrences", kind="count", help="Blocks.")]
    region_type: Annotated[str, Column("Region", kind="category")]
    data_type: Annotated[str, Column("Data type", kind="category")]
    shape: Annotated[str, Column("Shape", kind="text")]
    allocated_in: AllocatedIn
    share_frac: Annotated[float, Column("Share of peak", unit="%", kind="ratio")]
    origin: Annotated[
        str,
        Column(
            "Origin",
            kind="category",
            help="recorded: its allocation was seen; before recording: only its size is known; "
            "compiled: laid out by the compiler.",
        ),
    ]
    kept_bytes: Annotated[
        int,
        Column("Never freed", unit="B", kind="bytes", help="Until the recording ended."),
    ]
    first_ms: Annotated[
        float, Column("Held since", unit="ms", kind="time", help="When the oldest was allocated.")
    ]


@dataclass(frozen=True, slots=True)
class Options:
    """Options of memory_profile."""

    memory: Annotated[str, Help("Only this memory (its id); empty for all.")] = ""
    points: Annotated[
        int,
        Help("Points of the timeline per memory; the highest use of each interval; 0: all."),
    ] = 2000
    from_ms: Annotated[float | None, Help("Begin of the timeline; the first event if absent.")] = (
        None
    )
    to_ms: Annotated[float | None, Help("End of the timeline; the last event if absent.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySystem:
    """One memory: what the profile says about its use, and about its peak.

    Attributes:
        id: The allocator's name or the device's number; after the host's where there are several.
        host: Host it belongs to.
        device: Device the memory is on, "" when it is the host's or not known.
        source: Where the numbers come from.
        allocations, deallocations: Events in the recording; None without allocator events.
        peak_bytes: Highest use (stack and heap) in the recording; what a program needs when
            compiled.
        peak_time_ms: When that was, from the recording's origin; None when compiled.
        peak_step: The step it fell into; None outside of steps.
        stack_bytes, heap_bytes, free_bytes, fragmentation_frac: State at the peak.
        capacity_bytes: Stack, heap and free at the peak: what the allocator may use at most.
        batch_room: How many times the batch fits; None where the capacity is not known.
        lifetime_peak_bytes: Highest use since the program started, also before the recording.
        begin_bytes, end_bytes: Use after the first and after the last event.
        before_recording_bytes: Bytes at the peak that were allocated before the recording.
        breakdown: What held the bytes at the peak; sums to ``peak_bytes``.
    """

    id: str
    host: str
    device: str = ""
    source: str
    allocations: int | None = None
    deallocations: int | None = None
    peak_bytes: int
    peak_time_ms: float | None = None
    peak_step: int | None = None
    stack_bytes: int | None = None
    heap_bytes: int | None = None
    free_bytes: int | None = None
    fragmentation_frac: float | None = None
    capacity_bytes: int | None = None
    batch_room: BatchRoom | None = None
    lifetime_peak_bytes: int | None = None
    begin_bytes: int | None = None
    end_bytes: int | None = None
    before_recording_bytes: int | None = None
    breakdown: Table[MemoryHoldingRow]


@dataclass(frozen=True, kw_only=True)
class MemoryProfile(Result):
    """Use of each memory over time, its peak, and which ops held the bytes at the peak.

    Attributes:
        memories: One per memory, the fullest first.
        breakdown: The breakdowns of all memories as one table.
        timeline: Use over time, one row per event shown, by memory and time.
        timeline_events: Events in the range of the timeline, before thinning.
    """

    tool = "memory_profile"
    memories: tuple[MemorySystem, ...]
    breakdown: Table[MemoryHoldingRow]
    timeline: Table[MemoryTimeRow]
    timeline_events: int


def memory_profile(profile: Profile, options: Options = Options()) -> MemoryProfile:
    """Peaks, breakdowns and timelines of the memories of all hosts."""
    found: list[MemorySystem] = []
    series: list[dict[str, list[Any]]] = []
    notes: list[Diagnostic] = []
    known: list[str] = []
    events = 0
    for host in profile.hosts:
        prefix = f"{host.name}: " if len(profile.hosts) > 1 else ""
        for source in _sources(host, prefix):
            known.append(source.id)
            if options.memory in ("", source.id):
                found.append(source.summary())
                chosen, count = source.thinned(options)
                series.append(source.rows(chosen))
                events += count
    if not found and options.memory:
        text = f"There is no memory {options.memory!r}; there are {', '.join(known)}."
        notes.append(Diagnostic("no-such-memory", "warning", text))
    notes += [_excess(memory) for memory in found if _excess_bytes(memory) > 0]
    found.sort(key=lambda memory: (-memory.peak_bytes, memory.id))
    return MemoryProfile(
        memories=tuple(found),
        breakdown=_joined(MemoryHoldingRow, [dict(memory.breakdown.columns) for memory in found]),
        timeline=_joined(MemoryTimeRow, series),
        timeline_events=events,
        diagnostics=tuple(notes),
    )


def _excess_bytes(memory: MemorySystem) -> int:
    return int(sum(memory.breakdown["allocation_bytes"])) - memory.peak_bytes


def _excess(memory: MemorySystem) -> Diagnostic:
    text = (
        f"{memory.id}: the allocations seen exceed the bytes in use at the peak by "
        f"{_excess_bytes(memory)} bytes; deallocations are missing from the recording, or threads "
        "recorded out of order."
    )
    return Diagnostic("memory-events-disagree", "warning", text, memory.host)


def _joined(schema: type[Row], parts: list[dict[str, Any]]) -> Table[Any]:
    return Table(schema, {name: [v for p in parts for v in p[name]] for name in columns_of(schema)})


def _sources(
    host: Host, prefix: str
) -> Sequence[_AllocatorMemory | _SampledMemory | _CompiledMemory]:
    """The memories of a host from the best source it has."""
    events = allocations(host)
    if events is not None:
        return [
            _AllocatorMemory(host, events, memory, prefix + name)
            for memory, name in enumerate(events.memories)
        ]
    compiled = program_memories(host)
    if compiled:
        return [_CompiledMemory(host, program, prefix) for program in compiled]
    return [_SampledMemory(host, one, prefix + one.name) for one in memory_samples(host)]


@dataclass(frozen=True, slots=True)
class _AllocatorMemory:
    """One memory of a host's allocator events."""

    host: Host
    events: Allocations
    memory: int
    id: str

    @property
    def own(self) -> I64:
        """The memory's events, in time order."""
        rows: I64 = np.flatnonzero(self.events.memory == self.memory)
        return rows

    def summary(self) -> MemorySystem:
        events, own = self.events, self.own
        peak = peak_event(events, self.memory)
        held = holdings(events, self.memory, peak)
        use = int(events.in_use_bytes[peak])
        free = _known(events.free_bytes[peak])
        count = int(events.is_allocation[own].sum())
        capacity = None if free is None else use + free
        fragmentation = float(events.fragmentation[peak])
        return MemorySystem(
            id=self.id,
            host=self.host.name,
            device=_device_of(self.host, events.memories[self.memory]),
            source=ALLOCATOR,
            allocations=count,
            deallocations=len(own) - count,
            peak_bytes=use,
            peak_time_ms=ms(int(events.time_ps[peak])),
            peak_step=_known(events.step[peak]),
            stack_bytes=int(events.stack_bytes[peak]),
            heap_bytes=int(events.heap_bytes[peak]),
            free_bytes=free,
            fragmentation_frac=None if np.isnan(fragmentation) else fragmentation,
            capacity_bytes=capacity,
            batch_room=batch_room(use, int(events.in_use_bytes[own].min()), capacity),
            lifetime_peak_bytes=max(use, int(events.lifetime_peak_bytes[own].max())),
            begin_bytes=int(events.in_use_bytes[own[0]]),
            end_bytes=int(events.in_use_bytes[own[-1]]),
            before_recording_bytes=sum(h.allocated_bytes for h in held if h.origin == BEFORE),
            breakdown=_breakdown(self.id, held, use),
        )

    def thinned(self, options: Options) -> tuple[I64, int]:
        own = self.own
        kept, count = _thinned(self.events.time_ps[own], self.events.in_use_bytes[own], options)
        return own[kept], count

    def rows(self, chosen: I64) -> dict[str, list[Any]]:
        events = self.events
        taken = events.is_allocation[chosen]
        sign = np.where(taken, 1, -1)

        def known(values: I64) -> list[int | None]:
            return [_known(value) for value in values[chosen].tolist()]

        def signed(values: I64) -> list[int | None]:
            return [
                None if value is None else value * int(s)
                for value, s in zip(known(values), sign.tolist(), strict=True)
            ]

        return {
            "memory": [self.id] * len(chosen),
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


@dataclass(frozen=True, slots=True)
class _SampledMemory:
    """One memory known by a sampled counter."""

    host: Host
    samples: MemorySamples
    id: str

    def summary(self) -> MemorySystem:
        use = self.samples.in_use_bytes
        peak = len(use) - 1 - int(use[::-1].argmax())
        return MemorySystem(
            id=self.id,
            host=self.host.name,
            device=_device_of(self.host, self.samples.name),
            source=SAMPLES,
            peak_bytes=int(use[peak]),
            peak_time_ms=ms(int(self.samples.time_ps[peak])),
            begin_bytes=int(use[0]),
            end_bytes=int(use[-1]),
            breakdown=Table.empty(MemoryHoldingRow),
        )

    def thinned(self, options: Options) -> tuple[I64, int]:
        return _thinned(self.samples.time_ps, self.samples.in_use_bytes, options)

    def rows(self, chosen: I64) -> dict[str, list[Any]]:
        count = len(chosen)
        rows: dict[str, list[Any]] = {name: [None] * count for name in columns_of(MemoryTimeRow)}
        blank = ("op_name", "region_type", "data_type", "shape", "allocated_in", "address")
        return rows | {
            **{name: [""] * count for name in blank},
            "memory": [self.id] * count,
            "time_ms": (self.samples.time_ps[chosen] / 1e9).tolist(),
            "event": ["sample"] * count,
            "in_use_bytes": self.samples.in_use_bytes[chosen].tolist(),
        }


@dataclass(frozen=True, slots=True)
class _CompiledMemory:
    """What one program needs in one memory space, as the compiler laid it out."""

    host: Host
    program: ProgramMemory
    prefix: str

    @property
    def id(self) -> str:
        space = f", memory space {self.program.space}" if self.program.space else ""
        return f"{self.prefix}{self.program.program}{space}"

    def summary(self) -> MemorySystem:
        total = self.program.total_bytes
        return MemorySystem(
            id=self.id,
            host=self.host.name,
            source=COMPILED,
            peak_bytes=total,
            breakdown=_breakdown(self.id, list(self.program.holdings), total),
        )

    def thinned(self, _options: Options) -> tuple[I64, int]:
        return np.zeros(0, dtype=np.int64), 0

    def rows(self, _chosen: I64) -> dict[str, list[Any]]:
        return {name: [] for name in columns_of(MemoryTimeRow)}


def _breakdown(memory: str, held: list[Holding], peak_bytes: int) -> Table[MemoryHoldingRow]:
    return Table(
        MemoryHoldingRow,
        {
            "memory": [memory] * len(held),
            "op_name": [one.op for one in held],
            "allocation_bytes": [one.allocated_bytes for one in held],
            "requested_bytes": [one.requested_bytes for one in held],
            "occurrences": [one.blocks for one in held],
            "region_type": [one.region for one in held],
            "data_type": [one.data_type for one in held],
            "shape": [one.shape for one in held],
            "allocated_in": [one.context for one in held],
            "share_frac": [one.allocated_bytes / peak_bytes if peak_bytes else 0.0 for one in held],
            "origin": [one.origin for one in held],
            "kept_bytes": [one.kept_bytes for one in held],
            "first_ms": [None if one.first_ps is None else ms(one.first_ps) for one in held],
        },
    )


def _thinned(time: I64, use: I64, options: Options) -> tuple[I64, int]:
    """Events of the wanted range, at most ``points``: of each interval the one of highest use.

    Returns:
        Their places, ascending, and how many there are before thinning.
    """
    begin = int(time[0]) if options.from_ms is None else _ps(options.from_ms)
    end = int(time[-1]) if options.to_ms is None else _ps(options.to_ms)
    low = int(np.searchsorted(time, begin, side="left"))
    high = int(np.searchsorted(time, end, side="right"))
    places = np.arange(low, max(high, low), dtype=np.int64)
    if options.points <= 0 or len(places) <= options.points:
        return places, len(places)
    # As float: a product of two spans in ps does not fit 64 bits.
    share = (time[low:high] - begin) / max(end - begin, 1)
    interval = np.minimum((share * options.points).astype(np.int64), options.points - 1)
    order = np.lexsort((places, use[low:high], interval))
    last = np.flatnonzero(np.diff(interval[order], append=options.points))
    kept: I64 = places[order[last]]
    return kept, len(places)


def _ps(time_ms: float) -> int:
    """Milliseconds as ps; what lies beyond every recording as a time that does, too."""
    return int(min(max(time_ms * 1e9, -_FAR_PS), _FAR_PS))


def _known(value: Any) -> int | None:
    return None if int(value) == UNKNOWN else int(value)


def _device_of(host: Host, memory: str) -> str:
    """The device a memory's name means: "GPU_1_bfc" and "1" are device 1 of its kind."""
    devices = [
        plane.name.removeprefix("/device:")
        for plane in host.space.planes
        if plane_kind(plane.name) in DEVICE_KINDS
    ]
    named = next((device for device in devices if f"/device:{device}:" in f"{memory}:"), "")
    number = _DEVICE_NUMBER.search(memory)
    if named or number is None or memory.lower().startswith(("gpu_host", "xla_gpu_host", "cpu")):
        return named
    kinds = [device for device in devices if device.split(":")[-1] == number[1]]
    wanted = memory.partition("_")[0].upper()
    return next((d for d in kinds if d.startswith(wanted)), kinds[0] if kinds else "")


def _has_memory(profile: Profile) -> bool:
    return any(
        has_allocations(host) or has_program_memory(host) or has_memory_samples(host)
        for host in profile.hosts
    )


TOOL = Tool(
    id="memory_profile",
    short="memory",
    title="Memory",
    group="Resources",
    run=memory_profile,
    options=Options,
    result=MemoryProfile,
    needs=(
        Need(
            met=_has_memory,
            missing="No allocator reported its events, no program came with its buffer assignment, "
            "and no memory counter was sampled.",
            record=how_to_record.MEMORY,
        ),
    ),
)
