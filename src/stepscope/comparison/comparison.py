"""What a comparison answers: the schemas of its tables and of the whole."""

from __future__ import annotations

from typing import Annotated

from stepscope.comparison.pods import SuspectChangeRow
from stepscope.records import dataclass
from stepscope.result import Column, Result, Row, Table


class PartRow(Row):
    """One part of the difference of the step. A table's parts sum to the whole difference."""

    kind: Annotated[
        str,
        Column(
            "Change",
            kind="category",
            help="slower, faster, same, added or removed for ops; else what kind of time it is.",
        ),
    ]
    name: Annotated[str, Column("What", kind="name")]
    where: Annotated[str, Column("Where", kind="category", help="Host or Device.")]
    type: Annotated[str, Column("Type", kind="category")]
    delta_ms: Annotated[
        float, Column("Change", unit="ms", kind="time", help="Added to (or taken off) each step.")
    ]
    noise_ms: Annotated[
        float,
        Column("±", unit="ms", kind="time", help="Half-width of the 99 % interval of the change."),
    ]
    significant: Annotated[
        str,
        Column(
            "Significant",
            kind="category",
            help="yes or no; of fewer than six steps separated (in each of them) or unknown.",
        ),
    ]
    before_ms: Annotated[
        float, Column("Before", unit="ms", kind="time", help="Exposed time per step, baseline.")
    ]
    after_ms: Annotated[
        float, Column("After", unit="ms", kind="time", help="Exposed time per step, new run.")
    ]
    runs_before: Annotated[float, Column("Runs before", kind="number", help="Per step.")]
    runs_after: Annotated[float, Column("Runs after", kind="number", help="Per step.")]
    busy_before_ms: Annotated[
        float,
        Column(
            "Busy before",
            unit="ms",
            kind="time",
            hidden=True,
            help="Per step, time hidden behind other work included.",
        ),
    ]
    busy_after_ms: Annotated[
        float,
        Column(
            "Busy after",
            unit="ms",
            kind="time",
            hidden=True,
            help="Per step, time hidden behind other work included.",
        ),
    ]
    matched: Annotated[
        str,
        Column(
            "Matched by",
            kind="category",
            hidden=True,
            help="name, number (other numbers), path (other type), type (renamed) or class.",
        ),
    ]


class ParityRow(Row):
    """One property that must be equal for the comparison to be about the program alone."""

    property: Annotated[str, Column("Property", kind="name")]
    baseline: Annotated[str, Column("Baseline", kind="text")]
    candidate: Annotated[str, Column("New run", kind="text")]
    status: Annotated[str, Column("Same", kind="category", help="same, differs or unknown.")]
    note: Annotated[str, Column("What it means", kind="text")]


class LineChangeRow(Row):
    """The change of the time at one function of the program, with all that it launches."""

    function: Annotated[str, Column("Function", kind="name", help="Empty: no line is recorded.")]
    file: Annotated[str, Column("File", kind="text")]
    line: Annotated[int, Column("Line", kind="number", help="In the new run; else the baseline.")]
    delta_ms: Annotated[
        float, Column("Change", unit="ms", kind="time", help="Added to (or taken off) each step.")
    ]
    before_ms: Annotated[float, Column("Before", unit="ms", kind="time", help="Per step.")]
    after_ms: Annotated[float, Column("After", unit="ms", kind="time", help="Per step.")]


class RunRow(Row):
    """One run of a comparison, in the order given."""

    run: Annotated[str, Column("Run", kind="name")]
    steps: Annotated[int, Column("Steps", kind="count", help="Steps the numbers are over.")]
    step_time_ms: Annotated[float, Column("Step time", unit="ms", kind="time", help="Mean.")]
    low_ms: Annotated[float, Column("from", unit="ms", kind="time", help="99 % interval.")]
    high_ms: Annotated[float, Column("to", unit="ms", kind="time", help="99 % interval.")]
    median_ms: Annotated[float, Column("Median", unit="ms", kind="time")]
    std_ms: Annotated[float, Column("Std", unit="ms", kind="time")]
    examples_per_s: Annotated[
        float,
        Column("Throughput", unit="examples/s", kind="rate", help="With a known batch."),
    ]
    delta_ms: Annotated[float, Column("Change", unit="ms", kind="time", help="To the first run.")]
    delta_frac: Annotated[float, Column("Change", unit="%", kind="ratio", help="To the first run.")]
    significant: Annotated[
        str, Column("Significant", kind="category", help="yes, no or unknown (too few steps).")
    ]
    main_change: Annotated[
        str, Column("Mostly", kind="text", help="The largest part of the change to the run before.")
    ]
    peak_memory_bytes: Annotated[
        float, Column("Peak memory", kind="bytes", help="The fullest memory.")
    ]


class StartRow(Row):
    """One start of the program of one side."""

    run: Annotated[str, Column("Run", kind="name")]
    side: Annotated[str, Column("Side", kind="category", help="baseline or candidate.")]
    steps: Annotated[int, Column("Steps", kind="count", help="Steps the mean is over.")]
    step_time_ms: Annotated[float, Column("Step time", unit="ms", kind="time", help="Mean.")]


class StepTimeRow(Row):
    """One step of one of the two runs compared."""

    run: Annotated[str, Column("Run", kind="category", help="baseline or candidate.")]
    step_num: Annotated[int, Column("Step", kind="number")]
    step_time_ms: Annotated[float, Column("Step time", unit="ms", kind="time")]


class WorkerTimeRow(Row):
    """One worker of several: its own work, and its waiting for the others."""

    worker: Annotated[str, Column("Worker", kind="name", help="Host, device, or both.")]
    own_before_ms: Annotated[
        float, Column("Own before", unit="ms", kind="time", help="Its step without waiting.")
    ]
    own_after_ms: Annotated[
        float, Column("Own after", unit="ms", kind="time", help="Its step without waiting.")
    ]
    own_delta_ms: Annotated[float, Column("Change", unit="ms", kind="time")]
    wait_before_ms: Annotated[
        float, Column("Waits before", unit="ms", kind="time", help="For slower workers.")
    ]
    wait_after_ms: Annotated[
        float, Column("Waits after", unit="ms", kind="time", help="For slower workers.")
    ]


class MemoryCourseRow(Row):
    """Use of the fullest memory of both runs at one moment."""

    time_ms: Annotated[
        float,
        Column("Time", unit="ms", kind="time", help="Since the first step of each run begins."),
    ]
    baseline_bytes: Annotated[
        float, Column("Baseline", unit="B", kind="bytes", help="Empty: nothing recorded.")
    ]
    candidate_bytes: Annotated[
        float, Column("New run", unit="B", kind="bytes", help="Empty: nothing recorded.")
    ]


@dataclass(frozen=True, slots=True)
class RunSide:
    """One of the two runs compared.

    Attributes:
        name: The run.
        worker: The worker its parts are of (the one that waits longest for the others).
        steps: Kept steps.
        step_source: How steps were found.
        step_time_ms: Mean step time.
        framework, device_type: What ran.
        left_out: Which steps the mean leaves out, and why; sentences.
        outliers_ms: Times of the steps left out only because they are far longer than all others.
        p95_ms: 95th percentile of the steps, outliers included; None of fewer than 20.
        undisturbed_ms: Length of a step while nothing records; None if it was not measured.
    """

    name: str
    worker: str
    steps: int
    step_source: str
    step_time_ms: float
    framework: str
    device_type: str
    left_out: tuple[str, ...] = ()
    outliers_ms: tuple[float, ...] = ()
    p95_ms: float | None = None
    undisturbed_ms: float | None = None


@dataclass(frozen=True, slots=True)
class TailChange:
    """The change of the mean of all steps after the warm-up, outliers included.

    Attributes:
        baseline_ms, candidate_ms: The two means.
        delta_ms: Candidate less baseline.
        interval_ms: 99 % interval of ``delta_ms``; None of fewer than six steps.
        outcome: As ``Comparison.outcome``.
    """

    baseline_ms: float
    candidate_ms: float
    delta_ms: float
    interval_ms: tuple[float, float] | None
    outcome: str


@dataclass(frozen=True, slots=True)
class Starts:
    """Two sides of several starts each; what starts of one side differ by is noise.

    Attributes:
        runs: Every start.
        baseline_ms, candidate_ms: Mean over the starts of a side, each start by its mean step.
        delta_ms, delta_frac: Candidate less baseline; the share is of the baseline.
        interval_ms: 99 % interval of ``delta_ms``; None where a side has one start.
        significant: Whether the change is certainly more than 1 % of the step; None as above.
        spread_ms: Standard deviation from start to start within the sides.
    """

    runs: Table[StartRow]
    baseline_ms: float
    candidate_ms: float
    delta_ms: float
    delta_frac: float
    interval_ms: tuple[float, float] | None
    significant: bool | None
    spread_ms: float


@dataclass(frozen=True, kw_only=True)
class Comparison(Result):
    """What changed from one run to another, split into parts that sum to the change.

    Of more than two runs the first is the baseline and the last is the one compared with it;
    ``runs`` has all of them.

    Attributes:
        headline: The verdict in one sentence.
        outcome: "slower", "faster", "equal" (no change beyond 2 %), "unknown", or "separated": no
            step of one run reaches into the range of the other, and they are too few to test.
        delta_ms: Mean step time of the candidate less that of the baseline.
        delta_frac: The same as a share of the baseline's step time.
        interval_ms: 99 % interval of ``delta_ms``; None where a run has too few steps to tell.
        significant: Whether the change is certainly more than 1 % of the step; None where a run has
            too few steps to tell.
        baseline, candidate: The two runs.
        parts: The change, op by op; sums to ``delta_ms``.
        step_parts: The change by part of the step; sums to ``delta_ms``.
        modules: The change by module of the model; sums to ``delta_ms``.
        kernels: The change by kernel of the devices; sums to ``delta_ms``.
        lines: The change by function of the program, as the step accounts have it.
        lines_text: How much of the change is at lines of the program, in a sentence.
        memory_text: Peaks of the fullest memory of both runs, in a sentence; "" if not recorded.
        memory_course: Use of these memories over time; empty if one of them has no times.
        worker_times: Each worker's own work and waiting; empty for runs of one worker.
        suspects: Who makes the others wait in either run, as ``stepscope pod`` says.
        slowest_worker_parts: What changed for the worker the others wait for, if any.
        parity: Whether both runs did the same work under the same conditions.
        runs: All runs given, in order.
        step_times: The times of the single steps.
        tail: The change of all steps, outliers included.
        starts: All starts of both sides, where several were given; then ``baseline`` and
            ``candidate``, and all parts, are of the start in the middle of each side.
    """

    tool = "compare"
    headline: str
    outcome: str
    delta_ms: float
    delta_frac: float
    interval_ms: tuple[float, float] | None
    significant: bool | None
    baseline: RunSide
    candidate: RunSide
    parts: Table[PartRow]
    step_parts: Table[PartRow]
    modules: Table[PartRow]
    kernels: Table[PartRow]
    lines: Table[LineChangeRow]
    lines_text: str
    memory_text: str
    memory_course: Table[MemoryCourseRow]
    worker_times: Table[WorkerTimeRow]
    suspects: Table[SuspectChangeRow]
    slowest_worker_parts: Table[PartRow]
    parity: Table[ParityRow]
    runs: Table[RunRow]
    step_times: Table[StepTimeRow]
    tail: TailChange
    starts: Starts | None = None
