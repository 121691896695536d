"""The answer about a pod: its tables and the units they are published in."""

from __future__ import annotations

from typing import Annotated, ClassVar

from stepscope.records import dataclass
from stepscope.result import Column, Result, Row, Table


class SuspectRow(Row):
    """Who makes the pod slower."""

    name: Annotated[str, Column("Who", kind="name")]
    kind: Annotated[str, Column("Kind", kind="category", help="device, host, rack, stage …")]
    devices: Annotated[int, Column("Devices", kind="count")]
    cost_ms: Annotated[
        float,
        Column(
            "Cost",
            unit="ms",
            kind="time",
            sort="desc",
            help="How much longer a typical step is with this as recorded.",
        ),
    ]
    cost_frac: Annotated[float, Column("Of the step", unit="%", kind="ratio")]
    error_ms: Annotated[
        float, Column("±", unit="ms", kind="time", help="Standard error, from step to step.")
    ]
    saving_ms: Annotated[
        float,
        Column(
            "Saves by itself",
            unit="ms",
            kind="time",
            help="How much shorter the recorded step would be if only this were as its peers.",
        ),
    ]
    cause: Annotated[str, Column("Cause", kind="category")]
    evidence: Annotated[str, Column("Evidence", kind="text")]
    pattern: Annotated[str, Column("When", kind="category")]
    late_frac: Annotated[float, Column("Late steps", unit="%", kind="ratio")]
    since_step: Annotated[float, Column("Since step", kind="number")]
    z: Annotated[float, Column("z", kind="number", help="Distance from its peers, in spreads.")]
    work_ratio: Annotated[
        float, Column("× peers", kind="number", help="Its own work, or transfers, against peers'.")
    ]
    peers: Annotated[int, Column("Peers", kind="count", hidden=True)]


class CostRow(Row):
    """A part of the recorded step; the parts sum to it."""

    part: Annotated[str, Column("Part", kind="name")]
    time_ms: Annotated[float, Column("Time", unit="ms", kind="time")]


class DeviceRow(Row):
    """One device, in its place."""

    host: Annotated[str, Column("Host", kind="name")]
    device: Annotated[str, Column("Device", kind="name")]
    rank: Annotated[int, Column("Rank", kind="number", help="Its process's; -1: not known.")]
    place: Annotated[str, Column("Place", kind="text", help="Its coordinates on the job's axes.")]
    charged_ms: Annotated[
        float,
        Column(
            "Makes others wait",
            unit="ms",
            kind="time",
            sort="desc",
            help="Waiting of all others per step that goes back to its own work.",
        ),
    ]
    waits_ms: Annotated[float, Column("Waits", unit="ms", kind="time", help="Per step.")]
    transfers_ms: Annotated[float, Column("Transfers", unit="ms", kind="time", help="Per step.")]
    input_ms: Annotated[float, Column("Input wait", unit="ms", kind="time", help="Per step.")]
    last_frac: Annotated[
        float, Column("Arrives last", unit="%", kind="ratio", help="Share of its collectives.")
    ]
    work_ratio: Annotated[float, Column("× peers", kind="number", help="Own work against peers'.")]
    clock_offset_ms: Annotated[
        float, Column("Clock", unit="ms", kind="time", help="Ahead of the median clock.")
    ]
    clock_u_us: Annotated[
        float, Column("± u", unit="µs", kind="time", help="Uncertainty of its alignment.")
    ]


class PodStepRow(Row):
    """One step of the pod."""

    step_num: Annotated[int, Column("Step", kind="number")]
    time_ms: Annotated[float, Column("Step time", unit="ms", kind="time", help="The slowest.")]
    work_p1_ms: Annotated[float, Column("Own work p1", unit="ms", kind="time")]
    work_p10_ms: Annotated[float, Column("p10", unit="ms", kind="time")]
    work_p50_ms: Annotated[float, Column("p50", unit="ms", kind="time")]
    work_p90_ms: Annotated[float, Column("p90", unit="ms", kind="time")]
    work_p99_ms: Annotated[float, Column("p99", unit="ms", kind="time")]
    slowest_ms: Annotated[float, Column("Most", unit="ms", kind="time")]
    waits_p10_ms: Annotated[float, Column("Waits p10", unit="ms", kind="time")]
    waits_p50_ms: Annotated[float, Column("Waits p50", unit="ms", kind="time")]
    waits_p90_ms: Annotated[float, Column("Waits p90", unit="ms", kind="time")]
    slowest: Annotated[str, Column("Most own work", kind="name")]


class AxisRow(Row):
    """One coordinate of one axis of parallelism."""

    axis: Annotated[str, Column("Axis", kind="name")]
    coordinate: Annotated[int, Column("Coordinate", kind="number")]
    devices: Annotated[int, Column("Devices", kind="count")]
    work_ms: Annotated[float, Column("Own work", unit="ms", kind="time", help="Per step.")]
    charged_ms: Annotated[float, Column("Makes others wait", unit="ms", kind="time")]
    waits_ms: Annotated[float, Column("Waits", unit="ms", kind="time")]


class LinkRow(Row):
    """One communicator."""

    collective: Annotated[str, Column("Collective", kind="category")]
    label: Annotated[str, Column("Group", kind="name")]
    members: Annotated[int, Column("Members", kind="count")]
    first: Annotated[str, Column("First member", kind="name")]
    meetings: Annotated[int, Column("Meetings", kind="count")]
    transfer_ms: Annotated[
        float, Column("Transfers", unit="ms", kind="time", help="Per step.", sort="desc")
    ]
    waits_ms: Annotated[
        float, Column("Waits", unit="ms", kind="time", help="All members, per step.")
    ]
    ratio: Annotated[float, Column("× class", kind="number", help="Transfers against its class.")]


class FileRow(Row):
    """A recording that is not in the numbers, or only in part."""

    name: Annotated[str, Column("Host", kind="name")]
    state: Annotated[str, Column("State", kind="category")]
    reason: Annotated[str, Column("Reason", kind="text")]


class EvidenceRow(Row):
    """One device in the collective that shows a suspect best, on the pod's clock."""

    suspect: Annotated[str, Column("Suspect", kind="name")]
    role: Annotated[
        str, Column("Part", kind="category", help="The suspect, the median member, the fastest.")
    ]
    host: Annotated[str, Column("Host", kind="name", help="As recordings are called.")]
    device: Annotated[str, Column("Device", kind="name")]
    collective: Annotated[str, Column("Collective", kind="category")]
    step_num: Annotated[int, Column("Step", kind="number", help="-1: outside of steps.")]
    from_ms: Annotated[
        float,
        Column("Own work from", unit="ms", kind="time", help="0: the first of the three begins."),
    ]
    arrives_ms: Annotated[float, Column("Arrives", unit="ms", kind="time")]
    ends_ms: Annotated[float, Column("Ends", unit="ms", kind="time")]
    clock_u_us: Annotated[
        float, Column("± u", unit="µs", kind="time", help="Error of its times against the others'.")
    ]


@dataclass(frozen=True, slots=True)
class MapMeasure:
    """A colour of the map: values around the median of all devices.

    Attributes:
        id: Column of ``devices``.
        label, unit, kind: Of that column.
        middle: The median, which has the middle colour.
        reach: How far the first and the last colour are from it.
        least, most: The values that there are.
        beyond: How many devices are farther from the median: 1 in 1,000.
    """

    id: str
    label: str
    unit: str
    kind: str
    middle: float
    reach: float
    least: float
    most: float
    beyond: int


class CellRow(Row):
    """A device of the map; each number is the difference from the device before.

    Most are the same then, so that those of 80,000 devices are a few kilobytes compressed.
    """

    cell: Annotated[int, Column("Cell", kind="number", help="Row by row, from 0.")]
    host: Annotated[int, Column("Host", kind="number", help="Place among the map's hosts.")]
    name: Annotated[int, Column("Device", kind="number", help="Place among the map's names.")]


@dataclass(frozen=True, slots=True)
class PodMap:
    """A cell for each device, at its coordinates where the job has axes, else host by host.

    Attributes:
        rows, columns: Size of the map.
        down, across: What its rows and columns are.
        steps: One row per device, in the order of ``devices``.
        hosts: Names of hosts.
        names: Names of devices.
        measures: What cells can be coloured by.
    """

    rows: int
    columns: int
    down: str
    across: str
    steps: Table[CellRow]
    hosts: tuple[str, ...]
    names: tuple[str, ...]
    measures: tuple[MapMeasure, ...]


@dataclass(frozen=True, kw_only=True)
class Pod(Result):
    """Who makes a pod slower, what it costs, and why.

    Attributes:
        headline: The answer in a sentence.
        recordings, expected: How many recordings are in the numbers, of how many there should be.
        devices_found: How many devices they have.
        counted_steps: Steps that the numbers are over.
        step_ms: Mean step, as replayed from what was recorded: from the begin of the first step
            that counts to the end of the last collective. Other pages show steps to their end.
        typical_step_ms: The same with typical times everywhere.
        lost_frac: Share of the step that typical times would save.
        clock_u_us: Median uncertainty of the alignment.
        verdict: "suspects", "rotating" (a different member each time) or "even".
        suspects, costs, evidence, steps, axes, devices, links, files: See their rows.
        map: Where each device is drawn.
    """

    tool: ClassVar[str] = "pod"
    headline: str = ""
    recordings: int = 0
    expected: int = 0
    devices_found: int = 0
    counted_steps: int = 0
    step_ms: float = 0.0
    typical_step_ms: float = 0.0
    lost_frac: float = 0.0
    clock_u_us: float = 0.0
    verdict: str = ""
    suspects: Table[SuspectRow]
    costs: Table[CostRow]
    evidence: Table[EvidenceRow]
    steps: Table[PodStepRow]
    axes: Table[AxisRow]
    devices: Table[DeviceRow]
    links: Table[LinkRow]
    files: Table[FileRow]
    map: PodMap
