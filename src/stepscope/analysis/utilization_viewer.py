"""Utilization viewer: what each unit of a TPU chip achieved against the most it could have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isnan, nan
from typing import Annotated, Any, Final

from stepscope.panels import BarChart, Figure, Headline, TableView
from stepscope.quantities import share_words
from stepscope.records import dataclass
from stepscope.registry import Help, Tool
from stepscope.result import Column, Diagnostic, Result, Row, Table, columns_of
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.device.perf_counters import chip_of
from stepscope.tables.tpu.samples import (
    Reached,
    Sample,
    tpu_samples,
    unknown_chips,
)

_NAMES_LISTED: Final = 4
# A clock that stands still this often slows every unit, whatever their shares say.
_THROTTLED_FRAC: Final = 0.01
MATRIX, MEMORY, SKIPPED = "MXU", "HBM", "Cycles skipped"


class UtilizedChipRow(Row):
    """One chip and its busiest unit, over all its samples and cores."""

    host: Annotated[str, Column("Host", kind="name")]
    chip: Annotated[str, Column("Chip", kind="name")]
    device_type: Annotated[str, Column("Type", kind="category")]
    samples: Annotated[int, Column("Samples", kind="count")]
    busiest: Annotated[str, Column("Busiest unit", kind="name")]
    utilization_frac: Annotated[
        float,
        Column("Of its peak", unit="%", kind="ratio", sort="desc", help="Use of the busiest unit."),
    ]
    mxu_frac: Annotated[
        float, Column("MXU", unit="%", kind="ratio", help="Busy share of the cycles.")
    ]
    hbm_frac: Annotated[
        float, Column("HBM", unit="%", kind="ratio", help="Bytes moved ÷ bytes at full bandwidth.")
    ]


class UnitRow(Row):
    """One unit over all chips, cores and samples."""

    part: Annotated[str, Column("Part", kind="category")]
    unit: Annotated[str, Column("Unit", kind="name")]
    utilization_frac: Annotated[
        float,
        Column(
            "Utilization",
            unit="%",
            kind="ratio",
            sort="desc",
            help="Sum of achieved ÷ sum of possible; long samples weigh more.",
        ),
    ]
    achieved: Annotated[float, Column("Achieved", kind="number", help="Mean of the readings.")]
    peak: Annotated[
        float, Column("Peak", kind="number", help="Mean possible value of the readings.")
    ]
    counted_in: Annotated[str, Column("Counted in", kind="category")]
    least_frac: Annotated[float, Column("Least", unit="%", kind="ratio", help="Lowest reading.")]
    most_frac: Annotated[float, Column("Most", unit="%", kind="ratio", help="Highest reading.")]
    most_at: Annotated[
        str, Column("Most at", kind="text", help="Chip, core and sample of the highest reading.")
    ]
    readings: Annotated[
        int, Column("Readings", kind="count", help="Cores × samples with both values known.")
    ]


class DetailRow(UnitRow):
    """A part of a unit, or a share of the cycles, over all chips, cores and samples."""

    utilization_frac: Annotated[
        float,
        Column(
            "Share",
            unit="%",
            kind="ratio",
            help="Sum of achieved ÷ sum of possible; long samples weigh more.",
        ),
    ]


class UtilizationRow(Row):
    """What one unit of one core reached in one sample."""

    host: Annotated[str, Column("Host", kind="name")]
    chip: Annotated[str, Column("Chip", kind="name")]
    sample: Annotated[int, Column("Sample", kind="rank")]
    part: Annotated[str, Column("Part", kind="category")]
    core: Annotated[
        int, Column("Core", kind="rank", help="Number among the chip's cores of its kind.")
    ]
    unit: Annotated[str, Column("Unit", kind="name")]
    role: Annotated[
        str,
        Column(
            "Role",
            kind="category",
            hidden=True,
            help='"unit", "detail" (a part of a unit) or "state" (cycles spent in a state).',
        ),
    ]
    achieved: Annotated[
        float, Column("Achieved", kind="number", help="Empty if a counter was not recorded.")
    ]
    peak: Annotated[
        float, Column("Peak", kind="number", help="Highest possible value in the counted cycles.")
    ]
    counted_in: Annotated[str, Column("Counted in", kind="category")]
    utilization_frac: Annotated[float, Column("Utilization", unit="%", kind="ratio")]
    absent_counters: Annotated[
        int, Column("Counters absent", kind="count", help="Counters that this number lacks.")
    ]


class AbsentRow(Row):
    """A unit that lacks counters in some samples."""

    part: Annotated[str, Column("Part", kind="category")]
    core: Annotated[int, Column("Core", kind="rank")]
    unit: Annotated[str, Column("Unit", kind="name")]
    absent: Annotated[int, Column("Absent", kind="count", help="Counters missing in any sample.")]
    needed: Annotated[int, Column("Needed", kind="count", help="Counters needed, cycles included.")]
    samples: Annotated[
        int, Column("Samples", kind="count", help="Samples in which a counter is missing.")
    ]
    counters: Annotated[str, Column("Counters", kind="text", help="First counters by name.")]


@dataclass(frozen=True, slots=True)
class Options:
    """Options of utilization_viewer."""

    absent_is_zero: Annotated[
        bool, Help("Count counters that were not recorded as 0, as XProf does.")
    ] = False


@dataclass(frozen=True, kw_only=True)
class UtilizationViewer(Result):
    """What each unit of a TPU chip achieved against its peak, by the chip's own counters.

    Attributes:
        headline: Busiest unit, in one sentence.
        chips: Each chip with its busiest unit.
        units: The units, over all chips and samples, busiest first.
        details: Parts and states of the units, in the order of the hardware.
        readings: Units, parts and states of each core in each sample.
        absent: Units that lack counters.
    """

    tool = "utilization_viewer"
    headline: str
    chips: Table[UtilizedChipRow]
    units: Table[UnitRow]
    details: Table[DetailRow]
    readings: Table[UtilizationRow]
    absent: Table[AbsentRow]


@dataclass(frozen=True, slots=True)
class _Reading:
    """What a unit reached, and where."""

    host: str
    chip: str
    sample: Sample
    reached: Reached

    @property
    def frac(self) -> float:
        return self.reached.achieved / self.reached.peak

    @property
    def place(self) -> str:
        host = f"{self.host}, " if self.host else ""
        core = self.reached.measure.core
        return f"{host}chip {self.chip}, core {core}, sample {self.sample.number}"


def utilization_viewer(profile: Profile, options: Options = Options()) -> UtilizationViewer:
    """Every unit of every sampled chip against its peak."""
    everything = [one for host in profile.hosts for one in _readings(host, options)]
    readings = [one for one in everything if one.reached.is_read or options.absent_is_zero]
    chips, units = _chips(readings), _averages(readings, ("unit",))
    units.sort(key=lambda row: _descending(row["utilization_frac"]))
    return UtilizationViewer(
        headline=_headline(units, chips),
        chips=_table(UtilizedChipRow, chips),
        units=_table(UnitRow, units),
        details=_table(DetailRow, _averages(readings, ("detail", "state"))),
        readings=_table(UtilizationRow, [_row(one) for one in readings]),
        absent=_table(AbsentRow, _absent(everything)),
        diagnostics=_diagnostics(profile, everything, options),
    )


def _readings(host: Host, options: Options) -> list[_Reading]:
    samples = tpu_samples(host)
    chips = {plane: chip_of(host, plane).label for plane in {one.plane for one in samples}}
    return [
        _Reading(host.name, chips[sample.plane], sample, reached)
        for sample in samples
        for reached in sample.reached(absent_is_zero=options.absent_is_zero)
    ]


def _table(schema: type[Any], rows: list[dict[str, Any]]) -> Table[Any]:
    return Table(schema, {name: [row[name] for row in rows] for name in columns_of(schema)})


def _descending(value: float) -> tuple[bool, float]:
    """A key that sorts from most to least, unknown ones last."""
    return isnan(value), -value


def _frac(readings: Iterable[_Reading]) -> float:
    """All that was achieved over all that could have been; NaN where nothing is known."""
    known = [one.reached for one in readings if not isnan(one.frac)]
    return sum(one.achieved for one in known) / sum(one.peak for one in known) if known else nan


def _group_by_unit(readings: Iterable[_Reading]) -> dict[str, list[_Reading]]:
    found: dict[str, list[_Reading]] = {}
    for one in readings:
        found.setdefault(one.reached.measure.unit, []).append(one)
    return found


def _row(one: _Reading) -> dict[str, Any]:
    measure = one.reached.measure
    return {
        "host": one.host,
        "chip": one.chip,
        "sample": one.sample.number,
        "part": measure.part,
        "core": measure.core,
        "unit": measure.unit,
        "role": measure.role,
        "achieved": one.reached.achieved,
        "peak": one.reached.peak,
        "counted_in": measure.counted_in,
        "utilization_frac": one.frac,
        "absent_counters": len(one.reached.absent),
    }


def _averages(readings: list[_Reading], roles: tuple[str, ...]) -> list[dict[str, Any]]:
    wanted = (one for one in readings if one.reached.measure.role in roles)
    rows = []
    for unit, of_unit in _group_by_unit(wanted).items():
        known = sorted((one for one in of_unit if not isnan(one.frac)), key=lambda one: one.frac)
        measure = of_unit[0].reached.measure
        rows.append(
            {
                "part": measure.part,
                "unit": unit,
                "utilization_frac": _frac(known),
                "least_frac": known[0].frac if known else nan,
                "most_frac": known[-1].frac if known else nan,
                "most_at": known[-1].place if known else "",
                "achieved": _mean([one.reached.achieved for one in known]),
                "peak": _mean([one.reached.peak for one in known]),
                "counted_in": measure.counted_in,
                "readings": len(known),
            }
        )
    return rows


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else nan


def _chips(readings: list[_Reading]) -> list[dict[str, Any]]:
    of_chip: dict[tuple[str, int], list[_Reading]] = {}
    for one in readings:
        of_chip.setdefault((one.host, one.sample.plane), []).append(one)
    rows = []
    for own in of_chip.values():
        units = {
            unit: _frac(found)
            for unit, found in _group_by_unit(own).items()
            if found[0].reached.measure.role == "unit"
        }
        busiest = min(units, key=lambda unit: _descending(units[unit]), default="")
        rows.append(
            {
                "host": own[0].host,
                "chip": own[0].chip,
                "device_type": own[0].sample.device.type,
                "samples": len({id(one.sample) for one in own}),
                "busiest": "" if isnan(units.get(busiest, nan)) else busiest,
                "utilization_frac": units.get(busiest, nan),
                "mxu_frac": units.get(MATRIX, nan),
                "hbm_frac": units.get(MEMORY, nan),
            }
        )
    return sorted(rows, key=lambda row: _descending(row["utilization_frac"]))


def _headline(units: list[dict[str, Any]], chips: list[dict[str, Any]]) -> str:
    if not units or isnan(units[0]["utilization_frac"]):
        return "No unit can be compared with its peak: the counters of its cycles are absent."
    first = units[0]
    used = share_words(first["utilization_frac"], 1)
    said = f"{first['unit']} is the busiest unit, at {used} of its peak"
    if len(chips) == 1:
        others = [f"{one['unit']} {share_words(one['utilization_frac'], 1)}" for one in units[1:3]]
        return f"{said}; next are {' and '.join(others)}." if others else f"{said}."
    same = sum(row["busiest"] == first["unit"] for row in chips)
    least, most = first["least_frac"], first["most_frac"]
    return (
        f"{said} over {len(chips)} chips (readings from {share_words(least, 1)} to "
        f"{share_words(most, 1)}); it is the "
        f"busiest of {'each' if same == len(chips) else f'{same} of them'}."
    )


def _absent(readings: list[_Reading]) -> list[dict[str, Any]]:
    lacking: dict[tuple[str, str, int], list[_Reading]] = {}
    for one in readings:
        if one.reached.absent:
            measure = one.reached.measure
            key = one.sample.generation.type, measure.unit, measure.core
            lacking.setdefault(key, []).append(one)
    rows = []
    for found in lacking.values():
        measure = found[0].reached.measure
        absent = sorted({name for one in found for name in one.reached.absent})
        more = len(absent) - _NAMES_LISTED
        listed = ", ".join(absent[:_NAMES_LISTED])
        rows.append(
            {
                "part": measure.part,
                "core": measure.core,
                "unit": measure.unit,
                "absent": len(absent),
                "needed": len(measure.work) + 1,
                "samples": len(found),
                "counters": f"{listed} and {more} more" if more > 0 else listed,
            }
        )
    return rows


def _diagnostics(
    profile: Profile, everything: list[_Reading], options: Options
) -> tuple[Diagnostic, ...]:
    found = []
    unknown = {one.type for host in profile.hosts for one in unknown_chips(host)}
    if unknown:
        message = f"Which counter is which is not known of {', '.join(sorted(unknown))}: left out."
        found.append(Diagnostic("chip-unknown", "warning", message))
    lacking = _group_by_unit(one for one in everything if one.reached.absent)
    if lacking:
        instead = "count as 0" if options.absent_is_zero else "have no number here"
        known = _group_by_unit(everything)
        message = (
            f"Counters of {len(lacking)} of {len(known)} units, parts and states "
            f"were not recorded in every sample and {instead}: the last table names them."
        )
        found.append(Diagnostic("counters-absent", "info", message))
    skipped = _frac(one for one in everything if one.reached.measure.unit == SKIPPED)
    if skipped >= _THROTTLED_FRAC:
        message = (
            f"The chips' clocks skipped {share_words(skipped, 1)} of their cycles, in which no "
            "unit could work: without throttling all could have done more."
        )
        found.append(Diagnostic("clock-throttled", "warning", message))
    return tuple(found)


TOOL = Tool(
    id="utilization_viewer",
    short="units",
    title="Unit Utilization",
    tab="Units",
    run=utilization_viewer,
    options=Options,
    result=UtilizationViewer,
    times_of=("recording",),
    page=(
        Headline("{headline}"),
        Figure("{units.unit}", "{units.utilization_frac}", "of its peak"),
        Figure("{units.1.unit}", "{units.1.utilization_frac}", "of its peak"),
        Figure("{units.2.unit}", "{units.2.utilization_frac}", "of its peak"),
        Figure("Chips", "{chips.rows}", "{chips.device_type}"),
        *(
            BarChart(
                field,
                title=title,
                note=note,
                none="None of them has a peak to compare with.",
                label="{unit}",
                value="utilization_frac",
                text="{utilization_frac}[ ({least_frac} to {most_frac})]",
                tip="on average {achieved} of {peak} {counted_in}",
            )
            for field, title, note in (
                (
                    "units",
                    "Units compared with their peaks",
                    "a full bar is the peak; mean and range over chips, cores and samples",
                ),
                (
                    "details",
                    "Parts and states of units",
                    "what each unit did, and cycles in which none, one or both were busy",
                ),
            )
        ),
        TableView(
            "chips",
            note="over each chip's samples and cores",
            noun=("chip", "chips"),
            none="No chip was sampled.",
        ),
        TableView("readings", note="every core in every sample", none="No samples were recorded."),
        TableView(
            "absent",
            title="Counters that were not recorded",
            note="figures that need them are missing",
            none="All counters of all units were recorded.",
        ),
    ),
)
