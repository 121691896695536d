"""Memory profile: use of each memory over time, its peak, and what held the bytes then."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import numpy as np

from stepscope.columns.space import I64
from stepscope.records import dataclass, replace
from stepscope.registry import Help, Tool
from stepscope.result import Column, Diagnostic, Result, Row, Table, columns_of, ms
from stepscope.tables.core.planes import DEVICE_KINDS, plane_kind
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.memory import course
from stepscope.tables.memory.allocations import (
    UNKNOWN,
    Allocations,
    allocations,
    event_columns,
    peak_event,
)
from stepscope.tables.memory.breakdown import BEFORE, Holding, holding_columns, holdings
from stepscope.tables.memory.places import HolderKind, holder_labels, recorded_kinds

if TYPE_CHECKING:
    from stepscope.tables.memory.programs import ProgramMemory
    from stepscope.tables.memory.samples import MemorySamples

ALLOCATOR = "allocator events"
COMPILED = "HLO buffer assignment"
SAMPLES = "sampled counter"
_Columns = dict[str, list[Any]]
# What the layers of a memory show: moments, and how many holders have a layer of their own.
_LAYER_POINTS, _LAYERS = 320, 6


MemoryName = Annotated[
    str,
    Column(
        "Memory",
        kind="category",
        help="The framework's name. TensorFlow's bfc_cpu_allocator_for_gpu is host memory.",
    ),
]
FreedMs = Annotated[
    float,
    Column(
        "Freed by",
        unit="ms",
        kind="time",
        help="Time of the last deallocation of these blocks; empty if one is never freed.",
    ),
]
AllocatedIn = Annotated[
    str, Column("Allocated in", kind="name", help="The enclosing event, if no op is recorded.")
]

_DEVICE_NUMBER: Final = re.compile(r"(?:^|_)(\d+)(?:_|$)")

# What stays free: sizes vary from step to step, and free memory is not in one piece.
_SPARE_FRAC: Final = 0.1


class MemoryTimeRow(Row):
    """The state of a memory after one event of its allocator.

    Attributes:
        allocated_in: Enclosing event, if no op is recorded.
    """

    memory: MemoryName
    time_ms: Annotated[float, Column("Time", unit="ms", kind="time")]
    event: Annotated[str, Column("Event", kind="category", help="allocation, deallocation, sample")]
    requested_bytes: Annotated[
        int, Column("Requested", unit="B", kind="bytes", help="Negative for deallocations.")
    ]
    allocation_bytes: Annotated[
        int,
        Column(
            "Allocated", unit="B", kind="bytes", help="With rounding; negative for deallocations."
        ),
    ]
    op_name: Annotated[
        str, Column("Op", kind="name", help="For a deallocation, the op that had allocated.")
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
    """Blocks that are alike and were held at the peak, or at the moment asked for.

    Attributes:
        allocated_in: Enclosing event, if no op is recorded.
    """

    memory: MemoryName
    op_name: Annotated[str, Column("Op", kind="name")]
    allocation_bytes: Annotated[int, Column("Allocated", unit="B", kind="bytes", sort="desc")]
    requested_bytes: Annotated[int, Column("Requested", unit="B", kind="bytes")]
    occurrences: Annotated[int, Column("Occurrences", kind="count", help="Number of blocks.")]
    region_type: Annotated[str, Column("Region", kind="category")]
    data_type: Annotated[str, Column("Data type", kind="category")]
    shape: Annotated[str, Column("Shape", kind="text")]
    allocated_in: AllocatedIn
    share_frac: Annotated[
        float, Column("Share", unit="%", kind="ratio", help="Share of the memory in use.")
    ]
    origin: Annotated[
        str,
        Column(
            "Origin",
            kind="category",
            help="recorded, before recording (only its size is known), or compiled.",
        ),
    ]
    kept_bytes: Annotated[
        int,
        Column(
            "Never freed",
            unit="B",
            kind="bytes",
            help="Bytes still held at the end of the recording.",
        ),
    ]
    first_ms: Annotated[
        float, Column("Held since", unit="ms", kind="time", help="Time of the oldest allocation.")
    ]
    freed_ms: FreedMs


class MemoryHolderRow(Row):
    """What blocks are for that were held at the peak, or at the moment asked for."""

    memory: MemoryName
    holder: Annotated[str, Column("Held by", kind="name")]
    held_bytes: Annotated[int, Column("Held", unit="B", kind="bytes", sort="desc")]
    share_frac: Annotated[
        float, Column("Share", unit="%", kind="ratio", help="Share of the memory in use.")
    ]
    blocks: Annotated[int, Column("Blocks", kind="count")]
    freed_ms: FreedMs


class MemoryLayerRow(Row):
    """What one holder held of a memory at one moment."""

    memory: MemoryName
    time_ms: Annotated[float, Column("Time", unit="ms", kind="time")]
    holder: Annotated[str, Column("Held by", kind="name")]
    held_bytes: Annotated[int, Column("Held", unit="B", kind="bytes")]


@dataclass(frozen=True, slots=True)
class Options:
    """Options of memory_profile."""

    memory: Annotated[str, Help("Only this memory (its id); empty for all.")] = ""
    points: Annotated[
        int,
        Help("Points per memory, most where its use changes: highest and last of each; 0: all."),
    ] = 2000
    from_ms: Annotated[float | None, Help("Begin of the timeline; the first event if absent.")] = (
        None
    )
    to_ms: Annotated[float | None, Help("End of the timeline; the last event if absent.")] = None
    at_ms: Annotated[
        float | None, Help("List memory held at this moment instead of at the peak.")
    ] = None
    by: Annotated[
        HolderKind,
        Help(
            "How to group holders: by op (as one over layers that repeat), the region, the "
            "data type, PyTorch's module or the name scope, or the line of the program."
        ),
    ] = "op"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySystem:
    """One memory: what the profile says about its use, and about its peak.

    Attributes:
        id: Name of the allocator or number of the device; with the host if there are several.
        host: Host that it belongs to.
        device: Device that has the memory; "" for host memory, or if unknown.
        source: Source of the numbers.
        allocations: Allocations in the recording; None without allocator events.
        deallocations: Deallocations in the recording; None without allocator events.
        peak_bytes: Highest use (stack and heap) in the recording; what a program needs when
            compiled.
        peak_time_ms: Time of the peak, from the recording's origin; None for a compiled program.
        peak_step: Step in which the peak lies; None outside of steps.
        stack_bytes: Stack at the peak.
        heap_bytes: Heap at the peak.
        free_bytes: Free memory of the allocator at the peak.
        fragmentation_frac: Fragmentation at the peak: 1 - largest free block / free.
        capacity_bytes: Limit of the allocator: stack, heap and free memory at the peak.
        batch_room: Factor by which the batch can grow; None if the capacity is unknown.
        lifetime_peak_bytes: Highest use since the program started, including the time before the
            recording.
        begin_bytes: Use after the first event.
        end_bytes: Use after the last event.
        before_recording_bytes: Bytes at the peak that were allocated before the recording.
        changes: Range in which the use changes; None without times.
        moment_ms: Time of ``breakdown`` and ``holders``: the peak, or the last event up to
            ``at_ms``.
        moment_bytes: Use at that time.
        kinds: Values of ``by`` with data; empty without allocator events.
        layered: Holders in ``layers``, in the order of its rows.
        breakdown: Holders of the bytes at ``moment_ms``; they sum to ``moment_bytes``.
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
    changes: course.Changes | None = None
    moment_ms: float | None = None
    moment_bytes: int
    kinds: tuple[str, ...] = ()
    layered: tuple[str, ...] = ()
    breakdown: Table[MemoryHoldingRow]


@dataclass(frozen=True, kw_only=True)
class MemoryProfile(Result):
    """Use of each memory over time, its peak, and which ops held the bytes at the peak.

    Attributes:
        memories: One per memory, the fullest first.
        breakdown: Breakdowns of all memories as one table.
        holders: The bytes at ``moment_ms``, grouped by ``by``.
        layers: Use over time by the largest holders; at each moment they sum to the use.
        timeline: Use over time, one row per event, by memory and time.
        timeline_events: Number of events in the range of the timeline, before thinning.
    """

    tool = "memory_profile"
    memories: tuple[MemorySystem, ...]
    breakdown: Table[MemoryHoldingRow]
    holders: Table[MemoryHolderRow]
    layers: Table[MemoryLayerRow]
    timeline: Table[MemoryTimeRow]
    timeline_events: int


def memory_profile(profile: Profile, options: Options = Options()) -> MemoryProfile:
    """Peaks, breakdowns and timelines of the memories of all hosts."""
    found: list[MemorySystem] = []
    series: list[dict[str, list[Any]]] = []
    held: list[tuple[_Columns, _Columns]] = []
    notes: list[Diagnostic] = []
    known, events = list[str](), 0
    for host in profile.hosts:
        prefix = f"{host.name}: " if len(profile.hosts) > 1 else ""
        added = () if (seen := allocations(host)) is None else seen.added_up
        notes += [Diagnostic("memory-added-up", "info", prefix + one) for one in added]
        for source in _sources(host, prefix):
            known.append(source.id)
            if options.memory in ("", source.id):
                found.append(source.summary(options))
                if isinstance(source, _AllocatorMemory):
                    at_once, over_time, names = source.held(options)
                    held.append((at_once, over_time))
                    found[-1] = replace(found[-1], layered=names)
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
        holders=_joined(MemoryHolderRow, [holders for holders, _ in held]),
        layers=_joined(MemoryLayerRow, [layers for _, layers in held]),
        timeline=_joined(MemoryTimeRow, series),
        timeline_events=events,
        diagnostics=tuple(notes),
    )


def _excess_bytes(memory: MemorySystem) -> int:
    return int(sum(memory.breakdown["allocation_bytes"])) - memory.moment_bytes


def _excess(memory: MemorySystem) -> Diagnostic:
    text = (
        f"{memory.id}: the allocations seen exceed the bytes in use by {_excess_bytes(memory)} "
        "bytes; deallocations are missing from the recording, or threads recorded out of order."
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
    from stepscope.tables.memory.programs import program_memories
    from stepscope.tables.memory.samples import memory_samples

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

    def moment(self, options: Options) -> int:
        """The event that holders are listed after: that of the peak, or the last until then."""
        if options.at_ms is None:
            return peak_event(self.events, self.memory)
        own = self.own
        until = int(
            np.searchsorted(self.events.time_ps[own], course.moment_ps(options.at_ms), side="right")
        )
        return int(own[max(until - 1, 0)])

    def summary(self, options: Options) -> MemorySystem:
        events, own = self.events, self.own
        peak, moment = peak_event(events, self.memory), self.moment(options)
        held = holdings(events, self.memory, peak)
        live = held if moment == peak else holdings(events, self.memory, moment)
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
            changes=course.changes(events.time_ps[own], events.in_use_bytes[own]),
            moment_ms=ms(int(events.time_ps[moment])),
            moment_bytes=int(events.in_use_bytes[moment]),
            kinds=recorded_kinds(self.host),
            breakdown=_breakdown(self.id, live, int(events.in_use_bytes[moment])),
        )

    def held(self, options: Options) -> tuple[_Columns, _Columns, tuple[str, ...]]:
        """Columns of holders at the moment, and of layers; which holders those tell apart."""
        events, moment = self.events, self.moment(options)
        labels = holder_labels(self.host, options.by)
        live = course.holders(events, self.memory, moment, labels)
        chosen, _count = self.thinned(replace(options, points=_LAYER_POINTS))
        laid = course.layers(events, self.memory, chosen, labels, _LAYERS)
        at_once = course.holder_columns(live, int(events.in_use_bytes[moment]))
        over_time = laid.columns(events.time_ps[chosen])
        return (
            {"memory": [self.id] * len(live)} | at_once,
            {"memory": [self.id] * laid.held_bytes.size} | over_time,
            tuple(laid.names),
        )

    def thinned(self, options: Options) -> tuple[I64, int]:
        own = self.own
        kept, count = _shown(self.events.time_ps[own], self.events.in_use_bytes[own], options)
        return own[kept], count

    def rows(self, chosen: I64) -> dict[str, list[Any]]:
        return {"memory": [self.id] * len(chosen)} | event_columns(self.events, chosen)


@dataclass(frozen=True, slots=True)
class _SampledMemory:
    """One memory known by a sampled counter."""

    host: Host
    samples: MemorySamples
    id: str

    def summary(self, _options: Options) -> MemorySystem:
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
            changes=course.changes(self.samples.time_ps, use),
            moment_ms=ms(int(self.samples.time_ps[peak])),
            moment_bytes=int(use[peak]),
            breakdown=Table.empty(MemoryHoldingRow),
        )

    def thinned(self, options: Options) -> tuple[I64, int]:
        return _shown(self.samples.time_ps, self.samples.in_use_bytes, options)

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

    def summary(self, _options: Options) -> MemorySystem:
        total = self.program.total_bytes
        return MemorySystem(
            id=self.id,
            host=self.host.name,
            source=COMPILED,
            peak_bytes=total,
            moment_bytes=total,
            breakdown=_breakdown(self.id, list(self.program.holdings), total),
        )

    def thinned(self, _options: Options) -> tuple[I64, int]:
        return np.zeros(0, dtype=np.int64), 0

    def rows(self, _chosen: I64) -> dict[str, list[Any]]:
        return {name: [] for name in columns_of(MemoryTimeRow)}


def _breakdown(memory: str, held: list[Holding], in_use_bytes: int) -> Table[MemoryHoldingRow]:
    columns = holding_columns(held, in_use_bytes)
    return Table(MemoryHoldingRow, {"memory": [memory] * len(held)} | columns)


def _shown(time: I64, use: I64, options: Options) -> tuple[I64, int]:
    return course.shown(time, use, options.from_ms, options.to_ms, options.points)


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


def batch_room(peak_bytes: int, least_bytes: int, capacity_bytes: int | None) -> BatchRoom | None:
    """The room of one memory; None where its capacity or its use is not known."""
    if not capacity_bytes or peak_bytes <= 0:
        return None
    usable = (1 - _SPARE_FRAC) * capacity_bytes
    grows = peak_bytes - least_bytes
    most = (usable - least_bytes) / grows if grows > 0 else None
    return BatchRoom(usable / peak_bytes, most)


TOOL = Tool(
    id="memory_profile",
    short="memory",
    title="Memory",
    tab="Over time",
    run=memory_profile,
    options=Options,
    result=MemoryProfile,
)
