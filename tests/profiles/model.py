"""What a test says about a profile: planes, lines and events in microseconds, with typed stats.

    space(
        host(line("python", ("train", 0, 900, {"step_num": 0, "_r": 1}))),
        gpu(0, stream(7, ("sgemm", 400, 150, {"correlation_id": u(1000)}))),
    )

gives the bytes of an XSpace. ``draw`` (in ``drawing.py``) makes the same values from a picture.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tests.profiles.messages import XSpace


@dataclass(frozen=True, slots=True)
class Unsigned:
    """A stat stored as ``uint64_value``."""

    value: Any


@dataclass(frozen=True, slots=True)
class Ref:
    """A stat stored as ``ref_value``: its text is the name of another stat's metadata."""

    text: str


def u(value: Any) -> Unsigned:
    """An unsigned stat."""
    return Unsigned(value)


def ref(text: str) -> Ref:
    """A stat that refers to an interned string."""
    return Ref(text)


# int → int64, u(…) → uint64, float → double, str → str, ref(…) → ref, bytes → bytes
Value: TypeAlias = int | float | str | bytes | Unsigned | Ref
Stats: TypeAlias = Mapping[str, Any]
EventLike: TypeAlias = "Event | tuple[str, float, float] | tuple[str, float, float, Stats]"


@dataclass(frozen=True, slots=True)
class Event:
    """One event; times in µs relative to its line.

    Attributes:
        occurrences: Set for an aggregated event, which has no start.
    """

    name: str
    start_us: float
    duration_us: float
    stats: Stats = field(default_factory=dict)
    occurrences: int | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One line; ``id`` None is replaced by its place in the plane, from 1."""

    name: str
    events: tuple[Event, ...]
    id: int | None = None
    display_name: str = ""
    timestamp_ns: int = 0


@dataclass(frozen=True, slots=True)
class Kind:
    """What an event's metadata says beyond its name: shared by all events of that name."""

    display_name: str = ""
    stats: Stats = field(default_factory=dict)
    metadata: bytes = b""


@dataclass(frozen=True, slots=True)
class Plane:
    """One plane; ``kinds`` adds to the metadata of the events named."""

    name: str
    lines: tuple[Line, ...]
    stats: Stats = field(default_factory=dict)
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    id: int = 0


NVIDIA_A100: Stats = {
    "compute_cap_major": 8,
    "compute_cap_minor": 0,
    "device_vendor": "Nvidia",
    "clock_rate": 1_410_000,
    "core_count": 108,
    "memory_bandwidth": 1_555_000_000_000,
}


def line(
    name: str,
    *events: EventLike,
    id: int | None = None,
    display_name: str = "",
    timestamp_ns: int = 0,
) -> Line:
    """A line; events may be ``(name, start_us, duration_us[, stats])``."""
    made = tuple(event if isinstance(event, Event) else Event(*event) for event in events)
    return Line(name, made, id, display_name, timestamp_ns)


def stream(number: int, *events: EventLike, content: str = "Compute") -> Line:
    """A GPU stream, named as TensorFlow names it."""
    return line(f"Stream #{number}({content})", *events, id=number)


def plane(
    name: str,
    *lines: Line,
    stats: Stats | None = None,
    kinds: Mapping[str, Kind] | None = None,
    id: int = 0,
) -> Plane:
    """A plane of any name."""
    return Plane(name, lines, stats or {}, kinds or {}, id)


def host(
    *lines: Line, stats: Stats | None = None, kinds: Mapping[str, Kind] | None = None
) -> Plane:
    """The host's threads, ``/host:CPU``."""
    return plane("/host:CPU", *lines, stats=stats, kinds=kinds)


def gpu(
    index: int, *lines: Line, stats: Stats = NVIDIA_A100, kinds: Mapping[str, Kind] | None = None
) -> Plane:
    """A GPU; an A100 unless ``stats`` says otherwise."""
    return plane(f"/device:GPU:{index}", *lines, stats=stats, kinds=kinds, id=index + 1)


def environment(**stats: Value) -> Plane:
    """The plane of facts about the recording, ``Task Environment``."""
    return plane("Task Environment", stats=stats)


def space(
    *planes: Plane,
    hostnames: Iterable[str] = ("h",),
    errors: Iterable[str] = (),
    warnings: Iterable[str] = (),
) -> bytes:
    """The bytes of an XSpace with these planes, as google.protobuf writes them."""
    message = XSpace(hostnames=hostnames, errors=errors, warnings=warnings)
    for described in planes:
        _PlaneWriter(message.planes.add(), described).write()
    return bytes(message.SerializeToString())


class _PlaneWriter:
    """Fills one XPlane message, giving out metadata ids from 1 as names come up."""

    def __init__(self, message: Any, described: Plane) -> None:
        self.message = message
        self.described = described
        self.event_ids: dict[str, int] = {}
        self.stat_ids: dict[str, int] = {}

    def write(self) -> None:
        self.message.id = self.described.id
        self.message.name = self.described.name
        self.add_stats(self.message, self.described.stats)
        for name in self.described.kinds:
            self.event_id(name)
        for number, described in enumerate(self.described.lines, start=1):
            self.add_line(described, number)

    def add_line(self, described: Line, number: int) -> None:
        made = self.message.lines.add(
            id=number if described.id is None else described.id,
            name=described.name,
            display_name=described.display_name,
            timestamp_ns=described.timestamp_ns,
        )
        for event in described.events:
            added = made.events.add(
                metadata_id=self.event_id(event.name), duration_ps=picoseconds(event.duration_us)
            )
            if event.occurrences is None:
                added.offset_ps = picoseconds(event.start_us)
            else:
                added.num_occurrences = event.occurrences
            self.add_stats(added, event.stats)

    def add_stats(self, owner: Any, stats: Stats) -> None:
        for name, value in stats.items():
            stat = owner.stats.add(metadata_id=self.stat_id(name))
            if isinstance(value, Ref):
                stat.ref_value = self.stat_id(value.text)
            elif isinstance(value, Unsigned):
                stat.uint64_value = value.value
            elif isinstance(value, int):
                stat.int64_value = value
            elif isinstance(value, float):
                stat.double_value = value
            elif isinstance(value, bytes):
                stat.bytes_value = value
            elif isinstance(value, str):
                stat.str_value = value
            else:
                raise TypeError(f"{name}: a stat cannot be {value!r}")

    def event_id(self, name: str) -> int:
        if name not in self.event_ids:
            number = self.event_ids[name] = len(self.event_ids) + 1
            entry = self.message.event_metadata[number]
            entry.id, entry.name = number, name
            kind = self.described.kinds.get(name, Kind())
            entry.display_name, entry.metadata = kind.display_name, kind.metadata
            self.add_stats(entry, kind.stats)
        return self.event_ids[name]

    def stat_id(self, name: str) -> int:
        if name not in self.stat_ids:
            number = self.stat_ids[name] = len(self.stat_ids) + 1
            entry = self.message.stat_metadata[number]
            entry.id, entry.name = number, name
        return self.stat_ids[name]


def picoseconds(us: float) -> int:
    """Microseconds to whole picoseconds."""
    return round(us * 1_000_000)
