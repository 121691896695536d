"""Overview: where the average step goes, what limits it, and what ran."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from stepscope.result import Column, Finding, Result, Row, Table

BoundBy = Literal[
    "input", "output", "kernel_launch", "host", "device", "collectives", "compilation", "balanced", "unknown"
]


class StepRow(Row):
    """One step: its time and the disjoint parts that sum to it."""

    step_num: Annotated[int, Column("Step", kind="number")]
    step_name: Annotated[str, Column("Name", kind="name", hidden=True)]
    start_ms: Annotated[float, Column("Start", unit="ms", kind="time")]
    step_time_ms: Annotated[float, Column("Step time", unit="ms", kind="time")]
    compilation_ms: Annotated[float, Column("Compilation", unit="ms", kind="time")]
    input_ms: Annotated[float, Column("Input wait", unit="ms", kind="time")]
    host_to_device_ms: Annotated[float, Column("Copy to device", unit="ms", kind="time")]
    output_ms: Annotated[float, Column("Output", unit="ms", kind="time")]
    kernel_launch_ms: Annotated[float, Column("Kernel launch", unit="ms", kind="time")]
    host_compute_ms: Annotated[float, Column("Host compute", unit="ms", kind="time")]
    device_to_device_ms: Annotated[float, Column("Device to device", unit="ms", kind="time")]
    collectives_ms: Annotated[float, Column("Collectives", unit="ms", kind="time")]
    device_compute_16_ms: Annotated[float, Column("Device compute, 16-bit", unit="ms", kind="time")]
    device_compute_32_ms: Annotated[float, Column("Device compute, 32-bit", unit="ms", kind="time")]
    other_ms: Annotated[float, Column("All others", unit="ms", kind="time")]
    kept: Annotated[bool, Column("Counted", kind="flag", help="False for steps cut at the edges.")]


class TopOpRow(Row):
    """One of the ten framework ops with the most self time."""

    rank: Annotated[int, Column("Rank", kind="rank")]
    host_or_device: Annotated[str, Column("Where", kind="category")]
    type: Annotated[str, Column("Type", kind="category")]
    operation: Annotated[str, Column("Operation", kind="name")]
    occurrences: Annotated[int, Column("Occurrences", kind="count")]
    self_time_us: Annotated[float, Column("Self time", unit="µs", kind="time", sort="desc")]
    self_time_frac: Annotated[float, Column("Share", unit="%", kind="ratio")]
    cumulative_frac: Annotated[float, Column("Cumulative", unit="%", kind="ratio")]
    flop_rate_gflops: Annotated[float, Column("FLOP rate", unit="GFLOP/s", kind="rate")]
    tensor_core_eligible: Annotated[bool, Column("TC eligible", kind="flag")]
    tensor_core_used: Annotated[bool, Column("TC used", kind="flag")]


@dataclass(frozen=True, slots=True)
class TimeStats:
    """Mean, sample standard deviation, range and median of the kept steps' times, in ms."""

    mean: float
    std: float
    min: float
    max: float
    median: float
    p95: float


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps the numbers are over.

    Attributes:
        count: Steps kept.
        source: How steps were found, e.g. "markers", "framework", "inferred", "none".
        confidence: 0–1, how sure the source is.
        dropped: Steps found but not kept (cut at an edge, incomplete).
        time_ms: Statistics of the kept steps' times.
        explanation: One sentence: what the steps are and how they were found.
    """

    count: int
    source: str
    confidence: float
    dropped: int
    time_ms: TimeStats
    explanation: str


@dataclass(frozen=True, slots=True)
class DeviceShare:
    """Busy and idle share of the device(s) over the kept steps; None without a device."""

    busy_frac: float | None
    idle_frac: float | None


@dataclass(frozen=True, slots=True)
class Precision:
    """Device compute time by precision (None without device compute). They sum to 1."""

    bits_16_frac: float | None
    bits_32_frac: float | None


@dataclass(frozen=True, slots=True)
class OpShares:
    """Shares by occurrence and by eager self time (None where there is nothing to share)."""

    host_tf_op_frac: float | None
    device_tf_op_frac: float | None
    host_eager_frac: float | None
    device_eager_frac: float | None


@dataclass(frozen=True, slots=True)
class Completeness:
    """Whether the profile is whole: "complete", "partial" or "damaged", and what is missing."""

    verdict: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Environment:
    """What ran where."""

    host_count: int
    task_count: int
    framework: str
    device_type: str
    device_count: int
    devices: tuple[str, ...]
    profile_duration_ms: float
    profile_start: str
    task_type: str
    versions: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class OverviewPage(Result):
    """What limits this run, where an average step goes, and the ops that take the time.

    Attributes:
        headline: The verdict in one sentence.
        bound_by: What limits the step.
        bound_frac: Its share of the step time.
        breakdown_ms: Mean of each part per kept step; the values sum to ``steps.time_ms.mean``.
        next_steps: What to look at next.
        findings: What the rules of advice found (filled in by the session).
    """

    tool = "overview_page"
    headline: str
    bound_by: BoundBy
    bound_frac: float
    steps: Steps
    breakdown_ms: dict[str, float]
    breakdown_std_ms: dict[str, float]
    device: DeviceShare
    precision: Precision
    op_shares: OpShares
    environment: Environment
    completeness: Completeness
    next_steps: tuple[str, ...]
    top_ops: Table[TopOpRow]
    step_table: Table[StepRow]
    findings: tuple[Finding, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Options:
    """The overview has no options."""
