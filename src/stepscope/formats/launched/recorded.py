"""A recording of threads, calls and devices as columns, before it becomes planes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import coded
from stepscope.errors import FormatError
from stepscope.formats.packed import compact
from stepscope.formats.xspace.plane_writer import Value
from stepscope.records import dataclass, field

I64 = NDArray[np.int64]
#: Integers in as few bytes as hold them.
Ints = NDArray[np.signedinteger[Any]]
Bool = NDArray[np.bool_]

#: A text, launch or thread that is not known.
NONE: Final = -1
#: Launch numbers of one process are below this; the process is above.
_PROCESS_SHIFT: Final = 32

HostKind = Literal["range", "call", "other"]
DeviceKind = Literal["kernel", "copy", "set", "graph", "wait"]


@dataclass(frozen=True, slots=True, eq=False)
class NamedValues:
    """A named value of some events.

    Attributes:
        name: What the stat is called.
        values: One per event; codes of ``LaunchedRecording.texts`` for texts.
        has: Which events have it.
        is_text: Whether values are codes of texts.
    """

    name: str
    values: NDArray[Any]
    has: Bool
    is_text: bool = False

    def narrowed(self) -> NamedValues:
        """The same in as few bytes as it needs."""
        # What rows without the value have there is never read.
        values = self.values if self.has.all() else np.where(self.has, self.values, 0)
        return NamedValues(self.name, compact(values), compact(self.has), self.is_text)


@dataclass(frozen=True, slots=True)
class HostThread:
    """A thread: its process, its number, and what it is called ("" unknown)."""

    process: int
    number: int
    name: str = ""


@dataclass(frozen=True, slots=True)
class Stream:
    """A queue of a device's work.

    Attributes:
        device: Number of the device on its host.
        number: Of the stream within its process and device.
        process: Index of the process, to tell streams of one number apart.
        name: What the program calls it; "" for nothing.
    """

    device: int
    number: int
    process: int = 0
    name: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class HostEvents:
    """What threads did.

    Attributes:
        kind: "range" (marked by the program, may be an op), "call" (of the device's runtime or
            driver), or "other" (the system's calls, the profiler's own work).
        thread: Row in ``LaunchedRecording.threads`` of each.
        name: Code of each name.
        start_ns, duration_ns: On the recorder's clock.
        launch: Unique number of what a call launched, 0 for nothing; empty where none is a call.
        columns: What else is known.
    """

    kind: HostKind
    thread: Ints
    name: Ints
    start_ns: Ints
    duration_ns: Ints
    launch: Ints
    columns: tuple[NamedValues, ...] = ()

    def __len__(self) -> int:
        return len(self.start_ns)

    def narrowed(self) -> HostEvents:
        """The same in as few bytes as it needs."""
        return HostEvents(
            self.kind,
            compact(self.thread),
            compact(self.name),
            compact(self.start_ns),
            compact(self.duration_ns),
            compact(self.launch),
            tuple(one.narrowed() for one in self.columns if one.has.any()),
        )


@dataclass(frozen=True, slots=True, eq=False)
class DeviceWork:
    """What devices did.

    Attributes:
        kind: "kernel", "copy", "set" (of memory), "graph" (a replay whose kernels were not
            recorded) or "wait" (of a stream; no work).
        stream: Row in ``LaunchedRecording.streams`` of each.
        name: Code of each name.
        display: Code of what a person sees instead of the name, ``NONE`` for the name.
        start_ns, duration_ns: On the recorder's clock.
        launch: Number of the call that launched each, 0 for unknown.
        columns: What else is known.
    """

    kind: DeviceKind
    stream: Ints
    name: Ints
    start_ns: Ints
    duration_ns: Ints
    launch: Ints
    columns: tuple[NamedValues, ...] = ()
    display: Ints | None = None

    def __len__(self) -> int:
        return len(self.start_ns)

    def narrowed(self) -> DeviceWork:
        """The same in as few bytes as it needs."""
        return DeviceWork(
            self.kind,
            compact(self.stream),
            compact(self.name),
            compact(self.start_ns),
            compact(self.duration_ns),
            compact(self.launch),
            tuple(one.narrowed() for one in self.columns if one.has.any()),
            None if self.display is None else compact(self.display),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Counter:
    """Samples of one counter.

    Attributes:
        device: Number of the device; -1 for the host.
        name: Of the counter.
        time_ns, value: Of each sample.
        unit: "%" and so on; "" unknown.
    """

    device: int
    name: str
    time_ns: I64
    value: NDArray[Any]
    unit: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class MemoryEvents:
    """Memory of devices that was taken and given back.

    Attributes:
        allocator: Name of the allocator of each, as a code of ``LaunchedRecording.texts``.
        time_ns: When.
        size_bytes: Positive taken, negative given back.
        address: Where.
        launch: Number of the call that did it, 0 for unknown.
    """

    allocator: I64
    time_ns: I64
    size_bytes: I64
    address: I64
    launch: I64

    def __len__(self) -> int:
        return len(self.time_ns)


class DistinctTexts:
    """Every distinct text once, by code."""

    def __init__(self) -> None:
        self.list: list[str] = []
        self._codes: dict[str, int] = {}

    def code(self, text: str) -> int:
        """The code of a text."""
        known = self._codes.get(text)
        if known is None:
            known = self._codes[text] = len(self.list)
            self.list.append(text)
        return known

    def codes(self, texts: Iterable[str]) -> I64:
        """The codes of several texts."""
        return np.asarray([self.code(text) for text in texts], np.int64)


@dataclass
class LaunchedRecording:
    """A recording.

    Attributes:
        title: What kind of file it came from, for reports.
        texts: Of all names and values.
        threads, streams: What rows of events count.
        host, device: Tables of events, one or more of each kind.
        counters, allocations: As above.
        facts: Properties of each device, under the names that XSpaces have for them.
        host_facts: Properties of the recording.
        origin: Which tool's file it was and what such files cannot hold, in sentences.
        unix_ns: What 0 of the recorder's clock is on the wall clock; None where unknown.
        warnings: What a reader of numbers must know, in sentences.
    """

    title: str
    texts: DistinctTexts = field(default_factory=DistinctTexts)
    threads: list[HostThread] = field(default_factory=list)
    streams: list[Stream] = field(default_factory=list)
    host: list[HostEvents] = field(default_factory=list)
    device: list[DeviceWork] = field(default_factory=list)
    counters: list[Counter] = field(default_factory=list)
    allocations: list[MemoryEvents] = field(default_factory=list)
    facts: dict[int, dict[str, Value]] = field(default_factory=dict)
    host_facts: dict[str, Value] = field(default_factory=dict)
    origin: str = ""
    unix_ns: int | None = None
    warnings: list[str] = field(default_factory=list)

    def cut_off(self, damage: str, missing: str, *, file: str) -> None:
        """Note that the text could not be read to its end; "" where it could.

        Args:
            damage: Why not.
            missing: What is missing for that.
            file: Name for reports.

        Raises:
            FormatError: Nothing came before.
        """
        if not damage:
            return
        if not self.count:
            raise FormatError(self.title, damage, file=file)
        self.warnings.append(
            f"The text cannot be read to its end ({damage}): {missing} are missing, and totals "
            "are lower bounds."
        )

    def thread_rows(self, process: I64, number: I64) -> I64:
        """Rows of ``threads`` for these (process, number); new ones are added without a name."""
        known = {(one.process, one.number): row for row, one in enumerate(self.threads)}

        def row(pair: list[int]) -> int:
            key = (pair[0], pair[1])
            if key not in known:
                known[key] = len(self.threads)
                self.threads.append(HostThread(*key))
            return known[key]

        return by_row((process, number), row)

    def stream_rows(self, device: I64, number: I64, process: I64) -> I64:
        """Rows of ``streams`` for these (device, number, process); new ones are added."""
        known = {(one.device, one.number, one.process): row for row, one in enumerate(self.streams)}

        def row(found: list[int]) -> int:
            key = (max(found[0], 0), found[1], found[2])
            if key not in known:
                known[key] = len(self.streams)
                self.streams.append(Stream(*key))
            return known[key]

        return by_row((device, number, process), row)

    def text_column(
        self, name: str, columns: Sequence[I64], text: Callable[[list[int]], str]
    ) -> NamedValues:
        """A text made of several numbers, once for each combination of them; "" is none.

        Args:
            name: Of the stat.
            columns: The numbers of each event.
            text: What becomes of them.
        """
        code = by_row(columns, lambda one: self.texts.code(text(one)))
        empty = self.texts.code("")
        return NamedValues(name, code, code != empty, is_text=True)

    def add(self, events: HostEvents | DeviceWork) -> None:
        """A table of events, kept in as few bytes as it needs."""
        if isinstance(events, HostEvents):
            self.host.append(events.narrowed())
        else:
            self.device.append(events.narrowed())

    @property
    def count(self) -> int:
        """Events of all kinds."""
        sizes = [len(one) for one in self.host] + [len(one) for one in self.device]
        sizes += [len(one) for one in self.allocations]
        return sum(sizes) + sum(len(one.time_ns) for one in self.counters)


def by_row(columns: Sequence[I64], value: Callable[[list[int]], int]) -> I64:
    """A value for each row of some columns, asked for once for each combination in them."""
    if not len(columns[0]):
        return np.zeros(0, np.int64)
    code = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        # Most columns of most tables are the same on every row.
        if (column != column[0]).any():
            used, inverse = coded(column)
            code = coded(code * len(used) + inverse)[1]
    first = np.unique(code, return_index=True)[1]
    rows = np.stack([column[first] for column in columns]).T.tolist()
    return np.asarray([value(one) for one in rows], np.int64)[code]


def launch_numbers(process: I64, number: I64) -> I64:
    """Launch numbers that are unique in the file: those of the first process stay as they are.

    Args:
        process: Index of the process of each, from 0.
        number: What its recorder counts; 0 and below are none.
    """
    is_one = (number > 0) & (number < 1 << _PROCESS_SHIFT)
    return np.where(is_one, (process << _PROCESS_SHIFT) | number, 0)
