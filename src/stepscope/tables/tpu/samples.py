"""What the units of a TPU achieved, sample by sample: its counters against their limits."""

from __future__ import annotations

from functools import lru_cache, partial
from itertools import chain
from math import nan

import numpy as np

from stepscope.columns import distinct, look_up, metadata_stats_by_name, stats_by_name
from stepscope.columns.space import I64, Bool
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.core.devices import Device, devices
from stepscope.tables.core.planes import PlaneKind, planes
from stepscope.tables.core.presence import Stretch, any_event, any_stretch, stat_rows
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.device.perf_counters import counter_samples
from stepscope.tables.ops.device_peaks import device_peaks, tpu_row
from stepscope.tables.ops.roofline import F64
from stepscope.tables.tpu.counters import Generation, generation_of
from stepscope.tables.tpu.units import Measure, measures, sums


@dataclass(frozen=True, slots=True)
class Reached:
    """What one unit reached in one sample.

    Attributes:
        measure: The unit.
        achieved: What it did; NaN where a counter of it was not recorded.
        peak: The most that it could have done in these cycles; NaN where they, the clock or the
            bandwidth are unknown.
        absent: Names of its counters that were not recorded, the cycles' among them.
        is_read: Whether any of the counters that are summed was.
    """

    measure: Measure
    achieved: float
    peak: float
    absent: tuple[str, ...]
    is_read: bool


@dataclass(frozen=True, eq=False, slots=True)
class Sample:
    """The counters of one chip, read once.

    Attributes:
        plane: Row in ``Space.planes``.
        number: The sample's number on its chip: the id of its line.
        device: The chip.
        generation: What its counters are.
        ids: The counters that were read, ascending.
        values: What each said, in the same order.
        allowed: What one cycle allows of each of ``measures(generation)``; NaN where unknown.
    """

    plane: int
    number: int
    device: Device
    generation: Generation
    ids: I64
    values: F64
    allowed: F64

    def read(self, ids: I64) -> F64:
        """The readings of these counters; NaN where there is none."""
        place = look_up(self.ids, np.arange(len(self.ids)), ids, -1)
        return np.where(place >= 0, np.append(self.values, nan)[place], nan)

    def reached(self, *, absent_is_zero: bool = False) -> list[Reached]:
        """Every unit of the chip.

        Args:
            absent_is_zero: Whether counters that were not recorded count as 0.
        """
        columns = sums(self.generation)
        read, cycles = self.read(columns.ids), self.read(columns.cycles)
        is_absent = np.isnan(read)
        counted = np.nan_to_num(read) if absent_is_zero else read
        achieved = np.add.reduceat(counted * columns.weights, columns.begin)
        # A core whose clock stood still was not measured: nothing is 0 % of nothing.
        peak = np.where(cycles > 0, cycles * self.allowed, nan)
        rows = zip(
            measures(self.generation),
            achieved.tolist(),
            peak.tolist(),
            np.isnan(cycles).tolist(),
            columns.begin.tolist(),
            strict=True,
        )
        found = []
        for measure, done, limit, is_timeless, begin in rows:
            lacks = is_absent[begin : begin + len(measure.work)]
            absent = [measure.work[row][0].name for row in np.flatnonzero(lacks).tolist()]
            absent += [measure.cycles.name] if is_timeless else []
            found.append(Reached(measure, done, limit, tuple(absent), is_read=not lacks.all()))
        return found


def _allowed(device: Device, generation: Generation) -> F64:
    """What one cycle allows of each measure."""
    row = tpu_row(device.type)
    clock_hz, links = (row.clock_ghz * 1e9, row.ici_gbps * 1e9) if row else (nan, nan)
    bandwidth = {"memory": device_peaks(device).hbm_bytes, "links": links}
    return np.asarray(
        [
            one.per_cycle if one.limit == "cycles" else bandwidth[one.limit] / clock_hz
            for one in measures(generation)
        ]
    )


@derived
def tpu_samples(host: Host) -> tuple[Sample, ...]:
    """The samples of a host's chips whose counters are known, chip by chip, in file order."""
    known = _chips(host)
    if not known or not len(counter_samples(host)):
        return ()
    space, read = host.space, counter_samples(host)
    number = _numbers(host, read.rows)
    # What no counter can read was not recorded.
    floats = read.readings.floats
    values = np.where(np.isfinite(floats) & (floats >= 0), floats, nan)
    found = []
    for plane, (device, generation) in known.items():
        allowed = _allowed(device, generation)
        for line in (space.lines[row] for row in _lines(host, plane)):
            low, high = np.searchsorted(read.rows, [line.begin, line.end]).tolist()
            ids, kept = _last_of_each(number[low:high])
            if _is_work(generation, ids).any():
                sample = values[low:high][kept]
                found.append(Sample(plane, line.id, device, generation, ids, sample, allowed))
    return tuple(found)


def _last_of_each(ids: I64) -> tuple[I64, I64]:
    """The distinct numbers, ascending, and where each stands last."""
    distinct, place = np.unique(ids[::-1], return_index=True)
    return distinct, len(ids) - 1 - place


def _chips(host: Host) -> dict[int, tuple[Device, Generation]]:
    """Planes of chips whose counters are known."""
    found = {}
    for one in devices(host):
        generation = generation_of(one.type) if one.kind is PlaneKind.TPU else None
        if generation:
            found[one.plane] = one, generation
    return found


def unknown_chips(host: Host) -> list[Device]:
    """The TPUs of which counters were recorded, but which counter is which is unknown."""
    known, space = _chips(host), host.space
    with_samples = {space.lines[row].plane for row in distinct(counter_samples(host).line)}
    return [
        one
        for one in devices(host)
        if one.kind is PlaneKind.TPU and one.plane in with_samples and one.plane not in known
    ]


def _numbers(host: Host, rows: I64) -> I64:
    """Which counter each of these events read: its own number, its name's, or its name's id.

    0 for samples without ``counter_value``: what a line of counters draws over time.
    """
    stretch = int(rows[0]), int(rows[-1]) + 1
    wanted = (names.COUNTER_ID, names.COUNTER_VALUE)
    columns = stats_by_name(host.space, wanted, *stretch)
    given = columns[names.COUNTER_ID]
    own = look_up(given.rows, given.ints, rows, 0)
    number = np.where(own == 0, _number_of_entry(host)[host.space.events.metadata[rows]], own)
    return np.where(np.isin(rows, columns[names.COUNTER_VALUE].rows), number, 0)


@derived
def _number_of_entry(host: Host) -> I64:
    """Which counter each row of ``Space.event_metadata`` stands for."""
    numbers = host.space.event_metadata.id.copy()
    shared = metadata_stats_by_name(host.space, (names.COUNTER_ID,))[names.COUNTER_ID]
    given = shared.ints != 0
    numbers[shared.rows[given]] = shared.ints[given]
    return numbers


@lru_cache
def _work_ids(generation: Generation) -> I64:
    return distinct(sums(generation).ids)


def _is_work(generation: Generation, ids: I64) -> Bool:
    """Which of these counters are summed for some unit; those of cycles alone say nothing."""
    found: Bool = np.isin(ids, _work_ids(generation))
    return found


def has_tpu_samples(host: Host) -> bool:
    """Whether ``tpu_samples`` has any."""
    if names.COUNTER_VALUE not in stat_rows(host):
        return False

    def reads(generation: Generation, one: Stretch) -> bool:
        own = one.ints(names.COUNTER_ID, 0)
        number = np.where(own == 0, _number_of_entry(host)[one.entry], own)
        return bool((one.has(names.COUNTER_VALUE) & _is_work(generation, number)).any())

    return any(
        any_stretch(host, _lines(host, plane), partial(reads, generation))
        for plane, (_device, generation) in _chips(host).items()
    )


def has_tpu_counters(host: Host) -> bool:
    """Whether any counter of any TPU was read."""
    tpus = [row for row, kind in enumerate(planes(host).plane_kind) if kind is PlaneKind.TPU]
    lines = chain.from_iterable(_lines(host, plane) for plane in tpus)
    return any_event(host, lines, stats=(names.COUNTER_VALUE,), timed=False)


def _lines(host: Host, plane: int) -> range:
    row = host.space.planes[plane]
    return range(row.line_begin, row.line_end)
