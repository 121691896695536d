"""Hardware counters of devices: every sample on the planes of GPUs and TPUs.

Three recorders write them, in two forms:

* An event with the stat ``counter_value`` is a sample of the counter it is named after. TPUs and
  CUPTI's range profiler write these; the line is the kernel or range, its id the sample.
* On a device's line of counters, the first stat that is a number is the value. CUPTI's periodic
  sampling (PM sampling) and its readings of power and temperature write these: the event has the
  counter's name for people, the stat its name for the hardware.

Where: ``PopulateRangeProfilingEvents`` and ``PopulateCounterLine`` in XLA's
xla/backends/profiler/gpu/cupti_collector.cc. Counters of hosts and of our own telemetry are not
hardware counters of a device: they are on the timeline and not here.
"""

from __future__ import annotations

import numpy as np

from stepscope.columns import StatColumn, look_up, plane_stats, stats_by_name
from stepscope.columns.pivot import to_value
from stepscope.columns.space import I32, I64, KIND_DOUBLE, NUMBER_KINDS, Bool
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.core.distinct_rows import distinct_rows
from stepscope.tables.core.exact_numbers import Readings, joined
from stepscope.tables.core.planes import LineKind, PlaneKind, planes
from stepscope.tables.core.presence import any_event, any_stretch, stat_rows
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.stats import metadata_texts

_DEVICES = (PlaneKind.GPU, PlaneKind.TPU, PlaneKind.SPARSE_CORE)


@dataclass(frozen=True, eq=False, slots=True)
class SampleTexts:
    """Text of each sample: ``words[codes[i]]``."""

    codes: I64
    words: list[str]


@dataclass(frozen=True, eq=False, slots=True)
class CounterSamples:
    """Samples of one host's devices, in file order.

    Attributes:
        rows: Event rows.
        line: Row in ``Space.lines`` of each.
        counter: Row in ``Space.event_metadata`` of each: the counter.
        readings: The values.
        description: What the recorder says the counter is; "" where it does not.
        sets: The set of counters it belongs to; "" where the recorder does not say.
    """

    rows: I64
    line: I64
    counter: I32
    readings: Readings
    description: SampleTexts
    sets: SampleTexts

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class Chip:
    """What a device's plane belongs to.

    Attributes:
        device: The plane's name without its prefix, e.g. "TPU:0".
        label: The chip's number among all of the session, else the device's; where neither was
            recorded, ``device``.
        is_global: Whether the label says the same chip on every host.
    """

    device: str
    label: str
    is_global: bool


@derived
def counter_samples(host: Host) -> CounterSamples:
    """The samples of a host's device counters."""
    space = host.space
    wanted = (names.COUNTER_VALUE, names.COUNTER_DESCRIPTION, names.COUNTER_SETS)
    columns = stats_by_name(space, wanted, *_events_of_devices(host))
    named = columns[names.COUNTER_VALUE]
    # Between the planes of devices there may be those of hosts, and an event may have it twice.
    is_first = np.diff(named.rows, prepend=-1) > 0
    kept = np.flatnonzero(is_first & _is_on_device(host, named.rows))
    bare, places = _bare(host, named.rows[kept])
    readings = joined(
        (
            _readings(named, kept),
            Readings(space.event_stats.kind[places], space.event_stats.value[places]),
        )
    )
    rows = np.concatenate([named.rows[kept], bare])
    metric = np.concatenate([np.full(len(kept), -1), space.event_stats.key[places]])
    order = np.argsort(rows, kind="stable")
    rows, metric = rows[order], metric[order]
    counter = space.events.metadata[rows]
    description = columns[names.COUNTER_DESCRIPTION]
    said = _words(host, names.COUNTER_DESCRIPTION, description, rows)
    return CounterSamples(
        rows=rows,
        line=space.lines_of(rows),
        counter=counter,
        readings=readings.take(order),
        description=_or_metric(host, said, counter, metric),
        sets=_words(host, names.COUNTER_SETS, columns[names.COUNTER_SETS], rows),
    )


def has_counter_samples(host: Host) -> bool:
    """Whether ``counter_samples`` has any."""
    lines = _naming_lines(host)
    if any_event(host, lines, stats=(names.COUNTER_VALUE,), timed=False):
        return True
    return any_stretch(host, _counter_lines(host), lambda one: bool(one.has_number().any()))


def chip_of(host: Host, plane: int) -> Chip:
    """The chip that this row of ``Space.planes`` is a part of."""
    device = host.space.planes[plane].name.removeprefix("/device:")
    stats = plane_stats(host.space, plane)
    for name in (names.GLOBAL_CHIP_ID, names.DEVICE_ID):
        number = stats.get(name)
        if isinstance(number, int):
            return Chip(device, str(number), name == names.GLOBAL_CHIP_ID)
    return Chip(device, device, False)


def left_out(host: Host) -> list[str]:
    """What recorders say about samples that were not numbers, in their words."""
    space, found = host.space, []
    keys = stat_rows(host).get(names.NAN_COUNTER_EVENTS, ())
    for place in np.flatnonzero(np.isin(space.plane_stats.key, list(keys))).tolist():
        kind, value = int(space.plane_stats.kind[place]), int(space.plane_stats.value[place])
        found.append(str(to_value(space, kind, value)).strip(": "))
    return found


def _device_lines(host: Host) -> list[int]:
    kinds = planes(host).plane_kind
    return [row for row, line in enumerate(host.space.lines) if kinds[line.plane] in _DEVICES]


def _counter_lines(host: Host) -> list[int]:
    kinds = planes(host).line_kind
    return [row for row in _device_lines(host) if kinds[row] is LineKind.COUNTERS]


def _naming_lines(host: Host) -> list[int]:
    """Lines of the devices' planes that name ``counter_value``: no other plane's events have it."""
    space = host.space
    keys = stat_rows(host).get(names.COUNTER_VALUE, ())
    naming = {int(space.stat_metadata.plane[key]) for key in keys}
    return [row for row in _device_lines(host) if space.lines[row].plane in naming]


def _events_of_devices(host: Host) -> tuple[int, int]:
    """The stretch of events that holds all samples; an empty one if names tell there are none."""
    rows = {*_naming_lines(host), *_counter_lines(host)}
    lines = [host.space.lines[row] for row in sorted(rows)]
    return (lines[0].begin, lines[-1].end) if lines else (0, 0)


def _is_on_device(host: Host, rows: I64) -> Bool:
    wanted = np.zeros(len(host.space.lines) + 1, dtype=bool)
    wanted[_device_lines(host)] = True
    found: Bool = wanted[host.space.lines_of(rows)]
    return found


def _bare(host: Host, named: I64) -> tuple[I64, I64]:
    """Samples without ``counter_value``: event rows, and where their first number is."""
    space = host.space
    rows, places = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for line in (space.lines[row] for row in _counter_lines(host)):
        begin = space.events.stat_begin[line.begin : line.end + 1]
        kinds = space.event_stats.kind[int(begin[0]) : int(begin[-1])]
        numbers = np.flatnonzero(np.isin(kinds, NUMBER_KINDS)) + begin[0]
        owner = np.searchsorted(begin, numbers, side="right") - 1 + line.begin
        is_bare = (np.diff(owner, prepend=-1) > 0) & ~np.isin(owner, named)
        rows.append(owner[is_bare])
        places.append(numbers[is_bare])
    return np.concatenate(rows), np.concatenate(places)


def _readings(column: StatColumn, kept: I64) -> Readings:
    kind, bits = column.kind[kept], column.bits[kept]
    is_text = ~column.is_number[kept]
    if is_text.any():
        bits[is_text] = column.floats[kept][is_text].view(np.uint64)
        kind[is_text] = KIND_DOUBLE
    return Readings(kind, bits)


def _words(host: Host, name: str, column: StatColumn, rows: I64) -> SampleTexts:
    """The text of a stat: the event's own, else that of all events of its name, else ""."""
    texts = column.texts
    words = ["", *texts.values]
    codes = look_up(texts.rows, texts.codes.astype(np.int64) + 1, rows, 0)
    shared = metadata_texts(host, name)
    if shared:
        of_entry = np.zeros(len(host.space.event_metadata), dtype=np.int64)
        of_entry[list(shared)] = np.arange(len(shared)) + len(words)
        words += shared.values()
        codes = np.where(codes == 0, of_entry[host.space.events.metadata[rows]], codes)
    return SampleTexts(codes, words)


def _or_metric(host: Host, said: SampleTexts, counter: I32, metric: I64) -> SampleTexts:
    """The description; without one the hardware's name of the counter, where it is another one."""
    space, words, codes = host.space, [*said.words], said.codes.copy()
    where = np.flatnonzero((codes == 0) & (metric >= 0))
    first, which = distinct_rows((counter[where], metric[where]))
    code = np.zeros(len(first), dtype=np.int64)
    for number, place in enumerate(where[first].tolist()):
        hardware = space.stat_metadata.name[int(metric[place])]
        if hardware != space.event_metadata.name[int(counter[place])]:
            code[number] = len(words)
            words.append(hardware)
    codes[where] = code[which]
    return SampleTexts(codes, words)
