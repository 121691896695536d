"""Performance counters: what the hardware counters of devices counted, sample by sample."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import DATA_OCCURRENCES, I64, Bool
from stepscope.records import dataclass
from stepscope.registry import Help, Tool
from stepscope.result import Column, Diagnostic, Result, Row, Table, columns_of, ms
from stepscope.tables.core.distinct_rows import distinct_rows
from stepscope.tables.core.exact_numbers import Readings, as_column, joined
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.device.perf_counters import (
    SampleTexts,
    chip_of,
    counter_samples,
    left_out,
)

F64 = NDArray[np.float64]
# Texts of a sample; ``chip_key`` is equal where the chip is the same one.
_WORDS = ("host", "chip", "chip_key", "device", "kernel", "counter", "counter_set", "description")
_READINGS = ("least", "mean", "most", "total", "last")
# This many names are listed where none fits.
_NAMED = 8


class PerfCounterRow(Row):
    """One counter, over all of its samples."""

    counter: Annotated[str, Column("Counter", kind="name")]
    counter_set: Annotated[
        str, Column("Set", kind="category", help="Group, as the recorder names it.")
    ]
    samples: Annotated[int, Column("Samples", kind="count")]
    chips: Annotated[int, Column("Chips", kind="count", help="Chips on which it was sampled.")]
    least: Annotated[float, Column("Least", kind="number")]
    mean: Annotated[float, Column("Mean", kind="number")]
    most: Annotated[float, Column("Most", kind="number")]
    total: Annotated[float, Column("Total", kind="number", help="Sum of all samples on all chips.")]
    last: Annotated[float, Column("Last", kind="number", help="Latest sample of any chip.")]
    description: Annotated[
        str,
        Column(
            "Description",
            kind="text",
            help="The recorder's text, or the hardware's name of the counter.",
        ),
    ]


class CounterSampleRow(Row):
    """One sample of one counter."""

    host: Annotated[str, Column("Host", kind="category")]
    chip: Annotated[
        str,
        Column(
            "Chip",
            kind="category",
            help="Number in the session or of the device; the plane's name without either.",
        ),
    ]
    device: Annotated[str, Column("Device", kind="category", help="Plane it was recorded on.")]
    kernel: Annotated[
        str,
        Column(
            "Kernel",
            kind="name",
            help="Kernel or range that was counted: the name of the sample's line.",
        ),
    ]
    sample: Annotated[int, Column("Sample", kind="number", help="Number on the sample's line.")]
    counter: Annotated[str, Column("Counter", kind="name")]
    value: Annotated[float, Column("Value", kind="number", help="Recorded integer or fraction.")]
    digits: Annotated[
        str,
        Column(
            "All digits",
            kind="text",
            hidden=True,
            help="All digits of an integer beyond 2^53, which a page rounds; else empty.",
        ),
    ]
    start_ms: Annotated[float, Column("Start", unit="ms", kind="time", sort="asc")]
    duration_us: Annotated[
        float, Column("Duration", unit="µs", kind="time", help="0 if read at one moment.")
    ]
    counter_set: Annotated[str, Column("Set", kind="category")]
    description: Annotated[str, Column("Description", kind="text", hidden=True)]


@dataclass(frozen=True, slots=True)
class Options:
    """Options of perf_counters."""

    chip: Annotated[str, Help('Only this chip, or device: "3", "TPU:0"; empty for all.')] = ""
    counter_set: Annotated[str, Help("Only counters of this set; empty for all.")] = ""
    counter: Annotated[
        str, Help("Only counters whose name contains this text, in any case; empty for all.")
    ] = ""
    max_samples: Annotated[
        int, Help("List at most this many samples, the earliest; 0 for all. Totals are over all.")
    ] = 100_000


@dataclass(frozen=True, kw_only=True)
class PerfCounters(Result):
    """What the hardware counters of GPUs and TPUs counted: each counter, and each sample of it.

    Counters of hosts and of Stepscope's own telemetry do not belong to a device's hardware; they
    are on the timeline.

    Attributes:
        headline: Number of counters and samples, in one sentence.
        counters: Counters, by set and name. Sums of integers are exact.
        samples: Samples by time, at most ``max_samples``.
    """

    tool = "perf_counters"
    headline: str
    counters: Table[PerfCounterRow]
    samples: Table[CounterSampleRow]


@dataclass(frozen=True, eq=False, slots=True)
class _Samples:
    """Samples of all hosts.

    Attributes:
        words: ``_WORDS`` by name.
        sample: Id of the line.
        start_ps, duration_ps: NaN for events without a place in time.
    """

    words: dict[str, SampleTexts]
    sample: I64
    start_ps: F64
    duration_ps: F64
    readings: Readings

    def __len__(self) -> int:
        return len(self.sample)

    def take(self, places: I64 | Bool | slice) -> _Samples:
        """Those at these places."""
        return _Samples(
            {name: SampleTexts(one.codes[places], one.words) for name, one in self.words.items()},
            self.sample[places],
            self.start_ps[places],
            self.duration_ps[places],
            self.readings.take(places),
        )

    def texts(self, name: str) -> list[str]:
        """A text of each."""
        one = self.words[name]
        listed: list[str] = np.asarray([*one.words, ""], dtype=object)[one.codes].tolist()
        return listed

    def text(self, name: str, place: int) -> str:
        """A text of one."""
        one = self.words[name]
        return one.words[int(one.codes[place])]

    def where(self, name: str, wanted: Callable[[str], bool]) -> Bool:
        """Those whose text is wanted."""
        one = self.words[name]
        found: Bool = np.asarray([*map(wanted, one.words), False], dtype=bool)[one.codes]
        return found

    def known(self, name: str) -> list[str]:
        """The texts that samples have."""
        one = self.words[name]
        return sorted(one.words[code] for code in np.unique(one.codes).tolist())


def perf_counters(profile: Profile, options: Options = Options()) -> PerfCounters:
    """The counters of all devices of all hosts."""
    every = _joined([_host_samples(host) for host in profile.hosts])
    chosen = every.take(_chosen(every, options))
    # In order of time, those without a time last; equal times stay in the order of the file.
    chosen = chosen.take(np.argsort(chosen.start_ps, kind="stable"))
    listed = chosen.take(slice(options.max_samples if options.max_samples > 0 else None))
    counters = _counters(chosen)
    return PerfCounters(
        headline=_headline(chosen, counters),
        counters=counters,
        samples=_sample_table(listed),
        diagnostics=tuple(_diagnostics(profile, every, chosen, len(listed))),
    )


def _host_samples(host: Host) -> _Samples:
    space, found = host.space, counter_samples(host)
    events, rows = space.events, found.rows
    line_plane = np.asarray([line.plane for line in space.lines] or [0], dtype=np.int64)
    line_id = np.asarray([line.id for line in space.lines] or [0], dtype=np.int64)
    plane = line_plane[found.line]
    chips = {row: chip_of(host, row) for row in np.unique(plane).tolist()}
    keys = {
        row: one.label if one.is_global else f"{host.name}/{one.label}"
        for row, one in chips.items()
    }
    lines, names = space.lines, space.event_metadata.name
    is_timed = events.data[rows] != DATA_OCCURRENCES
    return _Samples(
        words={
            "host": _said(np.zeros(len(rows), np.int64), lambda _row: host.name),
            "chip": _said(plane, lambda row: chips[row].label),
            "chip_key": _said(plane, keys.__getitem__),
            "device": _said(plane, lambda row: chips[row].device),
            "kernel": _said(found.line, lambda row: lines[row].name or lines[row].label),
            "counter": _said(found.counter.astype(np.int64), names.__getitem__),
            "counter_set": found.sets,
            "description": found.description,
        },
        sample=line_id[found.line],
        start_ps=np.where(is_timed, events.start_ps[rows], np.nan),
        duration_ps=np.where(is_timed, space.length_ps[rows], np.nan),
        readings=found.readings,
    )


def _said(rows: I64, text: Callable[[int], str]) -> SampleTexts:
    """The text of what each row of another table stands for."""
    distinct, codes = np.unique(rows, return_inverse=True)
    return SampleTexts(codes.astype(np.int64), [text(row) for row in distinct.tolist()])


def _joined(hosts: Sequence[_Samples]) -> _Samples:
    """All samples one after the other; equal texts have equal codes."""
    words = {}
    for name in _WORDS:
        codes: dict[str, int] = {}
        parts = [np.zeros(0, dtype=np.int64)]
        for one in (host.words[name] for host in hosts):
            new = np.asarray([codes.setdefault(w, len(codes)) for w in one.words], dtype=np.int64)
            parts.append(new[one.codes])
        words[name] = SampleTexts(np.concatenate(parts), list(codes))
    nothing = np.zeros(0)
    return _Samples(
        words,
        np.concatenate([nothing.astype(np.int64), *(host.sample for host in hosts)]),
        np.concatenate([nothing, *(host.start_ps for host in hosts)]),
        np.concatenate([nothing, *(host.duration_ps for host in hosts)]),
        joined([host.readings for host in hosts]),
    )


def _chosen(every: _Samples, options: Options) -> Bool:
    found = np.ones(len(every), dtype=bool)
    if options.chip:
        found &= every.where("chip", options.chip.__eq__) | every.where(
            "device", options.chip.__eq__
        )
    if options.counter_set:
        found &= every.where("counter_set", options.counter_set.__eq__)
    if options.counter:
        text = options.counter.casefold()
        found &= every.where("counter", lambda name: text in name.casefold())
    return found


def _counters(samples: _Samples) -> Table[PerfCounterRow]:
    """One row for each counter of each set; ``samples`` are in order of time."""
    counter, counter_set = samples.words["counter"], samples.words["counter_set"]
    first, group = distinct_rows((counter_set.codes, counter.codes))
    once, _pair = distinct_rows((group, samples.words["chip_key"].codes))
    chips = np.bincount(group[once], minlength=len(first))
    is_described = samples.where("description", bool)
    is_timed = ~np.isnan(samples.start_ps)
    ends = np.cumsum(np.bincount(group, minlength=len(first)))[:-1]
    found = []
    for row, places in enumerate(np.split(np.argsort(group, kind="stable"), ends)[: len(first)]):
        readings, timed = samples.readings.take(places), places[is_timed[places]]
        # The first of those that have a description, else the first, which says "".
        speaker = places[int(np.argmax(is_described[places]))]
        found.append(
            {
                "counter": counter.words[counter.codes[first[row]]],
                "counter_set": counter_set.words[counter_set.codes[first[row]]],
                "samples": len(places),
                "chips": int(chips[row]),
                **asdict(readings.span()),
                "last": samples.readings.at(int(timed[-1] if len(timed) else places[-1])),
                "description": samples.text("description", int(speaker)),
            }
        )
    found.sort(key=lambda one: (one["counter_set"], one["counter"]))
    columns: dict[str, Any] = {
        name: [one[name] for one in found] for name in columns_of(PerfCounterRow)
    }
    for name in _READINGS:
        columns[name] = as_column(columns[name])
    return Table(PerfCounterRow, columns)


def _sample_table(samples: _Samples) -> Table[CounterSampleRow]:
    return Table(
        CounterSampleRow,
        {
            **{name: samples.texts(name) for name in _WORDS if name != "chip_key"},
            "sample": samples.sample,
            "value": samples.readings.column(),
            "digits": samples.readings.digits(),
            "start_ms": samples.start_ps / 1e9,
            "duration_us": samples.duration_ps / 1e6,
        },
    )


def _headline(samples: _Samples, counters: Table[PerfCounterRow]) -> str:
    if not len(samples):
        return "No sample of a hardware counter is left to show."
    chips = len(np.unique(samples.words["chip_key"].codes))
    text = (
        f"{_several(len(counters), 'hardware counter')} on {_several(chips, 'chip')}, "
        f"{_several(len(samples), 'sample')}"
    )
    timed = ~np.isnan(samples.start_ps)
    start, end = samples.start_ps[timed], (samples.start_ps + samples.duration_ps)[timed]
    over_ms = ms(end.max() - start.min()) if len(start) else 0.0
    if over_ms > 0:
        text += f" over {over_ms:,.3g} ms"
    spans = zip(counters["least"], counters["most"], strict=True)
    never = sum(least == 0 and most == 0 for least, most in spans)
    if never == 0:
        return f"{text}."
    return (
        f"{text}; {never:,} of the counters never left 0."
        if len(counters) > 1
        else f"{text}, all 0."
    )


def _several(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _diagnostics(
    profile: Profile, every: _Samples, chosen: _Samples, listed: int
) -> Iterable[Diagnostic]:
    if len(every) and not len(chosen):
        known = {
            "chips": every.known("chip"),
            "devices": every.known("device"),
            "sets": every.known("counter_set"),
            "counters": every.known("counter"),
        }
        there = "; ".join(f"{what} {_some(names)}" for what, names in known.items())
        message = f"No sample matches the options. There are {there}."
        yield Diagnostic("no-such-counter", "warning", message)
    if listed < len(chosen):
        message = (
            f"The {listed:,} earliest of {len(chosen):,} samples are listed; chip, counter_set and "
            "counter choose among them, max_samples lists more. The table by counter is over all."
        )
        yield Diagnostic("samples-cut", "info", message)
    for host in profile.hosts:
        for text in left_out(host):
            message = f"The recorder left out samples that were not numbers: {text}."
            yield Diagnostic("samples-left-out", "info", message, host.name)


def _some(names: Sequence[str]) -> str:
    """The first of many names."""
    shown = [name or '""' for name in names[:_NAMED]]
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(shown) + more


TOOL = Tool(
    id="perf_counters",
    short="counters",
    title="Hardware Counters",
    tab="Units",
    run=perf_counters,
    options=Options,
    result=PerfCounters,
)
