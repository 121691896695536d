"""What the units of a TPU achieved, sample by sample: its counters against their limits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain
from math import nan

import numpy as np

from stepscope.columns import look_up, metadata_stats_by_name, stats_by_name
from stepscope.columns.space import I64, Bool
from stepscope.schema import names
from stepscope.tables.device_peaks import device_peaks, tpu_row
from stepscope.tables.devices import Device, devices
from stepscope.tables.first_hit import Stretch, any_event, any_stretch, stat_rows
from stepscope.tables.perf_counters import counter_samples
from stepscope.tables.planes import PlaneKind, planes
from stepscope.tables.profile import Host, derived
from stepscope.tables.roofline import F64
from stepscope.tables.tpu_counters import Generation, generation_of
from stepscope.tables.tpu_units import Measure, measures


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


@dataclass(frozen=True, slots=True)
class Sample:
    """The counters of one chip, read once.

    Attributes:
        plane: Row in ``Space.planes``.
        number: The sample's number on its chip: the id of its line.
        device: The chip.
        generation: What its counters are.
        ids: The counters that were read, ascending.
        values: What each said, in the same order.
    """

    plane: int
    number: int
    device: Device
    generation: Generation
    ids: I64
    values: F64

    def read(self, ids: I64) -> F64:
        """The readings of these counters; NaN where there is none."""
        place = look_up(self.ids, np.arange(len(self.ids)), ids, -1)
        return np.where(place >= 0, np.append(self.values, nan)[place], nan)

    def reached(self, *, absent_is_zero: bool = False) -> list[Reached]:
        """Every unit of the chip.

        Args:
            absent_is_zero: Whether counters that were not recorded count as 0.
        """
        return [self._reached(one, absent_is_zero) for one in measures(self.generation)]

    def _reached(self, measure: Measure, absent_is_zero: bool) -> Reached:
        read = self.read(measure.ids)
        is_absent = np.isnan(read)
        absent = [measure.work[row][0].name for row in np.flatnonzero(is_absent).tolist()]
        if np.isnan(self._cycles(measure)):
            absent.append(measure.cycles.name)
        counted = np.nan_to_num(read) if absent_is_zero else read
        return Reached(
            measure=measure,
            achieved=float(counted @ measure.weights),
            peak=self._peak(measure),
            absent=tuple(absent),
            is_read=not is_absent.all(),
        )

    def _cycles(self, measure: Measure) -> float:
        return float(self.read(np.asarray([measure.cycles.id], dtype=np.int64))[0])

    def _peak(self, measure: Measure) -> float:
        cycles = self._cycles(measure)
        # A core whose clock stood still was not measured: nothing is 0 % of nothing.
        if not cycles > 0:
            return nan
        if measure.limit == "cycles":
            return cycles * measure.per_cycle
        return cycles / self.clock_hz * self._bandwidth(measure)

    @property
    def clock_hz(self) -> float:
        """Cycles of a TensorCore in a second; NaN where unknown."""
        row = tpu_row(self.device.type)
        return row.clock_ghz * 1e9 if row else nan

    def _bandwidth(self, measure: Measure) -> float:
        if measure.limit == "memory":
            return device_peaks(self.device).hbm_bytes
        row = tpu_row(self.device.type)
        return row.ici_gbps * 1e9 if row else nan


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
        for line in (space.lines[row] for row in _lines(host, plane)):
            low, high = np.searchsorted(read.rows, [line.begin, line.end]).tolist()
            ids, kept = _last_of_each(number[low:high])
            if _is_work(generation, ids).any():
                sample = values[low:high][kept]
                found.append(Sample(plane, line.id, device, generation, ids, sample))
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
    with_samples = {space.lines[row].plane for row in np.unique(counter_samples(host).line)}
    return [
        one
        for one in devices(host)
        if one.kind is PlaneKind.TPU and one.plane in with_samples and one.plane not in known
    ]


def _numbers(host: Host, rows: I64) -> I64:
    """Which counter each of these events read: its own number, its name's, or its name's id."""
    stretch = int(rows[0]), int(rows[-1]) + 1
    column = stats_by_name(host.space, (names.COUNTER_ID,), *stretch)[names.COUNTER_ID]
    own = look_up(column.rows, column.ints, rows, 0)
    return np.where(own == 0, _number_of_entry(host)[host.space.events.metadata[rows]], own)


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
    return np.unique(np.concatenate([one.ids for one in measures(generation)]))


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
