"""Input pipeline analyzer: how much of each step waits for data, and what the data waits for."""

from __future__ import annotations

from math import nan
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import I64
from stepscope.panels import (
    BarChart,
    Figure,
    Headline,
    PartsChart,
    StepsChart,
    TableChart,
    TableView,
    Terms,
)
from stepscope.quantities import share_words
from stepscope.records import dataclass
from stepscope.registry import Help, Tool
from stepscope.result import Column, Diagnostic, Result, Row, Table, ms
from stepscope.tables.core.devices import devices
from stepscope.tables.core.profile import Profile
from stepscope.tables.host.input_ops import (
    ADVANCED,
    CATEGORIES,
    DEMANDED,
    ENQUEUE,
    OTHER,
    PREPROCESSING,
    InputOps,
    input_ops,
    merge_input_ops,
    without_instances,
)
from stepscope.tables.in_steps.loaders import WorkerPlace, restarts, worker_place
from stepscope.tables.steps import bottleneck
from stepscope.tables.steps.attribution import steps, sum_parts
from stepscope.tables.steps.session import (
    SessionSteps,
    aligned_steps,
    session_steps,
)
from stepscope.tables.workers.steps import WorkerSteps, worker_steps
from stepscope.verdicts.account import FOUND

InputVerdict = Literal["highly_input_bound", "moderately_input_bound", "not_input_bound", "unknown"]
# A step that makes this many iterators does not keep them for a pass over the data.
_HABIT = 0.8
# Parts of a step that are waiting for input, and the categories the chart stacks.
_WAIT = ("input", "host_to_device")
_STACK: dict[str, tuple[str, ...]] = {
    "input": ("input",),
    "host_to_device": ("host_to_device",),
    "device_compute": ("device_compute_16", "device_compute_32"),
    "device_to_device": ("device_to_device",),
    "collectives": ("collectives",),
    "host_compute": ("host_compute",),
    "kernel_launch": ("kernel_launch",),
    "output": ("output",),
    "compilation": ("compilation",),
    "host_wait": ("host_wait",),
    "other": ("other",),
}


class StepRow(Row):
    """One step by category, input first; the categories sum to the step time."""

    step_num: Annotated[int, Column("Step", kind="number")]
    step_time_ms: Annotated[float, Column("Step time", unit="ms", kind="time")]
    input_frac: Annotated[
        float,
        Column(
            "Waiting for input",
            unit="%",
            kind="ratio",
            help="Input wait and copies of input.",
        ),
    ]
    input_ms: Annotated[float, Column("Input wait", unit="ms", kind="time")]
    host_to_device_ms: Annotated[float, Column("Copy to device", unit="ms", kind="time")]
    device_compute_ms: Annotated[float, Column("Device compute", unit="ms", kind="time")]
    device_to_device_ms: Annotated[float, Column("Device to device", unit="ms", kind="time")]
    collectives_ms: Annotated[float, Column("Collectives", unit="ms", kind="time")]
    host_compute_ms: Annotated[float, Column("Host compute", unit="ms", kind="time")]
    kernel_launch_ms: Annotated[float, Column("Kernel launch", unit="ms", kind="time")]
    output_ms: Annotated[float, Column("Output", unit="ms", kind="time")]
    compilation_ms: Annotated[float, Column("Compilation", unit="ms", kind="time")]
    host_wait_ms: Annotated[
        float,
        Column(
            "Waiting on the host",
            unit="ms",
            kind="time",
            help="A thread waits, and nothing that it may wait for was recorded.",
        ),
    ]
    other_ms: Annotated[float, Column("All others", unit="ms", kind="time")]
    kept: Annotated[
        bool,
        Column("Counted", kind="flag", help="No for cut and warm-up steps and outliers."),
    ]


class InputOpRow(Row):
    """One input op of the hosts."""

    op: Annotated[str, Column("Input op", kind="name")]
    count: Annotated[int, Column("Count", kind="count", help="Number of runs.")]
    total_time_ms: Annotated[float, Column("Total time", unit="ms", kind="time")]
    total_time_frac: Annotated[
        float,
        Column(
            "Total time share",
            unit="%",
            kind="ratio",
            help="Share of the self time of all input ops.",
        ),
    ]
    self_time_ms: Annotated[
        float,
        Column(
            "Self time",
            unit="ms",
            kind="time",
            sort="desc",
            help="Without input ops that it called on its thread; waits count.",
        ),
    ]
    self_time_frac: Annotated[float, Column("Self time share", unit="%", kind="ratio")]
    category: Annotated[str, Column("Category", kind="category")]


class HostRow(Row):
    """One host's own steps and what input costs them."""

    host: Annotated[str, Column("Host", kind="name")]
    step_count: Annotated[int, Column("Steps", kind="count")]
    step_time_ms: Annotated[float, Column("Mean step time", unit="ms", kind="time")]
    input_wait_ms: Annotated[float, Column("Mean input wait", unit="ms", kind="time", sort="desc")]
    input_frac: Annotated[float, Column("Waiting for input", unit="%", kind="ratio")]
    input_ops_ms: Annotated[float, Column("Input op self time", unit="ms", kind="time")]


class InputRangeRow(Row):
    """The input wait of one step over the workers."""

    step_num: Annotated[int, Column("Step", kind="number")]
    most_ms: Annotated[float, Column("Most", unit="ms", kind="time")]
    mean_ms: Annotated[float, Column("Mean", unit="ms", kind="time")]
    least_ms: Annotated[float, Column("Least", unit="ms", kind="time")]
    worker: Annotated[str, Column("Waits most", kind="name", help="Empty: no worker waits.")]
    kept: Annotated[
        bool,
        Column("Counted", kind="flag", help="No for cut and warm-up steps and outliers."),
    ]


@dataclass(frozen=True, slots=True)
class InputRange:
    """Input wait per kept step of each worker, copies of input included: mean and range.

    A worker is a device, or a host without devices.

    Attributes:
        workers: Number of workers.
        mean_ms: Mean over the workers.
        least_ms: Least over the workers.
        least_worker: Name of the worker that waits least.
        most_ms: Most over the workers.
        most_worker: Name of the worker that waits most.
        per_step: The same for each step.
    """

    workers: int
    mean_ms: float
    least_ms: float
    least_worker: str
    most_ms: float
    most_worker: str
    per_step: Table[InputRangeRow]


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean, sample standard deviation and range over the kept steps (NaN without steps).

    Attributes:
        mean: Arithmetic mean.
        std: Standard deviation.
        min: Smallest value.
        max: Largest value.
    """

    mean: float
    std: float
    min: float
    max: float


@dataclass(frozen=True, slots=True)
class DeviceSide:
    """What the steps spent waiting.

    Attributes:
        step_time_ms: Step time.
        input_wait_ms: Time per step spent waiting for input or for its copy to the device.
        input_wait_frac: Share of the step spent waiting for input.
        mean_ms: Mean time of each category; they sum to ``step_time_ms.mean``.
    """

    step_time_ms: Spread
    input_wait_ms: Spread
    input_wait_frac: Spread
    mean_ms: dict[str, float]


@dataclass(frozen=True, slots=True)
class PipelineRestarts:
    """Iterators that are made within the steps.

    Attributes:
        kind: "DataLoader" or "tf.data".
        per_step: New iterators per kept step.
        time_ms: Time per kept step spent making iterators.
    """

    kind: str
    per_step: float
    time_ms: float

    @property
    def is_habit(self) -> bool:
        """Whether nearly every step makes one: a short epoch has a few steps."""
        return self.per_step >= _HABIT


@dataclass(frozen=True, slots=True)
class CategoryTime:
    """Self time of one category of host input work, its share, and what to do about it.

    Attributes:
        category: Kind of host input work.
        self_time_ms: Self time of its ops.
        self_time_frac: Share of all input work.
        what: Explanation of the category.
        advice: How to reduce it.
    """

    category: str
    self_time_ms: float
    self_time_frac: float | None
    what: str
    advice: str


@dataclass(frozen=True, slots=True)
class Options:
    """Options of input_pipeline_analyzer."""

    instances: Annotated[
        Literal["separate", "merged"],
        Help("Repeated or interleaved instances of one iterator: separate rows, or merged."),
    ] = "separate"


@dataclass(frozen=True, kw_only=True)
class InputPipelineAnalyzer(Result):
    """How much of the step waits for input, and where the host spends the time to bring it.

    Attributes:
        verdict: Highly (20 % of step time or more), moderately (5 %) or not input-bound.
        headline: The verdict in one sentence.
        input_frac: Share of the kept steps' time spent waiting for input; None without steps.
        step_count: Kept steps.
        step_source: How steps were found, as an identifier.
        steps_found: How steps were found, in words.
        device_side: Statistics of the steps.
        input_across_workers: Input wait over several devices or hosts; None with one.
        host_breakdown: The five categories of host input work, in a fixed order.
        next_step: Recommended next tool.
        restarts: Iterators made in the steps, of the host where that takes longest; None: none.
        worker_place: Where the loader's worker processes are most; None: none was sampled.
        input_ops: Every input op, by self time.
        step_table: Every step by category.
        host_table: The same per host.
    """

    tool = "input_pipeline_analyzer"
    verdict: InputVerdict
    headline: str
    input_frac: float | None
    step_count: int
    step_source: str
    steps_found: str
    device_side: DeviceSide
    input_across_workers: InputRange | None
    host_breakdown: tuple[CategoryTime, ...]
    next_step: str
    restarts: PipelineRestarts | None
    worker_place: WorkerPlace | None
    input_ops: Table[InputOpRow]
    step_table: Table[StepRow]
    host_table: Table[HostRow]


def input_pipeline_analyzer(
    profile: Profile, options: Options = Options()
) -> InputPipelineAnalyzer:
    """Device side: the steps and their waits. Host side: the input ops by category."""
    found = session_steps(profile)
    has_steps = found is not None and bool(found.kept.any()) and not found.is_window
    rename = without_instances if options.instances == "merged" else None
    ops = merge_input_ops([input_ops(host) for host in profile.hosts], rename)
    frac = _input_frac(found) if found is not None else None
    if not has_steps and (frac or 0.0) < bottleneck.INPUT_SOME_FRAC:
        # A recording without steps may hold a wait for input; that it holds none proves nothing.
        frac = None
    verdict = verdict_of(frac)
    breakdown = _host_breakdown(ops)
    source = found.source if found is not None and len(found) else "none"
    return InputPipelineAnalyzer(
        verdict=verdict,
        headline=_headline(verdict, frac, breakdown, copies=_is_copies(found)),
        input_frac=frac,
        step_count=int(found.kept.sum()) if found is not None and has_steps else 0,
        step_source=source,
        steps_found=FOUND[source],
        device_side=_device_side(found if has_steps else None),
        input_across_workers=_across_workers(profile) if has_steps else None,
        host_breakdown=breakdown,
        next_step=_next_step(verdict, ops, breakdown, copies=_is_copies(found)),
        restarts=_restarts(profile) if has_steps else None,
        worker_place=_worker_place(profile) if has_steps else None,
        input_ops=_op_table(ops),
        step_table=_step_table(found),
        host_table=_host_table(profile),
        diagnostics=_diagnostics(profile, found),
    )


def _restarts(profile: Profile) -> PipelineRestarts | None:
    found = []
    for host in profile.hosts:
        one, of_host = restarts(host), steps(host)
        if one is not None and of_host is not None:
            count = int(of_host.kept.sum())
            found.append(PipelineRestarts(one.kind, one.count / count, ms(one.time_ps) / count))
    return max(found, key=lambda one: one.time_ms, default=None)


def _worker_place(profile: Profile) -> WorkerPlace | None:
    found = (one for host in profile.hosts if (one := worker_place(host)) is not None)
    return max(found, key=lambda one: one.busy_frac, default=None)


def verdict_of(input_frac: float | None) -> InputVerdict:
    """The verdict on a share of step time (reference §3.4)."""
    if input_frac is None:
        return "unknown"
    if input_frac >= bottleneck.INPUT_HIGH_FRAC:
        return "highly_input_bound"
    return (
        "moderately_input_bound" if input_frac >= bottleneck.INPUT_SOME_FRAC else "not_input_bound"
    )


def _wait_ps(found: SessionSteps) -> I64:
    total: I64 = sum_parts(found.parts_ps, _WAIT)
    return total


def _input_frac(found: SessionSteps) -> float | None:
    """Σ wait over Σ step time, of the kept steps."""
    total = int(found.duration_ps[found.kept].sum())
    return int(_wait_ps(found)[found.kept].sum()) / total if total else None


def _is_copies(found: SessionSteps | None) -> bool:
    """Whether most of what counts as waiting for input is copies to the devices."""
    if found is None:
        return False
    time = {part: int(found.parts_ps[part][found.kept].sum()) for part in _WAIT}
    return time["host_to_device"] > time["input"]


def _spread(values: NDArray[np.float64]) -> Spread:
    if len(values) == 0:
        return Spread(nan, nan, nan, nan)
    # From the first value: equal ones have no deviation, not that of rounding their mean.
    std = float((values - values[0]).std(ddof=1)) if len(values) > 1 else 0.0
    return Spread(float(values.mean()), std, float(values.min()), float(values.max()))


def _device_side(found: SessionSteps | None) -> DeviceSide:
    if found is None:
        nothing = _spread(np.zeros(0))
        return DeviceSide(nothing, nothing, nothing, dict.fromkeys(_STACK, nan))
    time = found.duration_ps[found.kept]
    wait = _wait_ps(found)[found.kept]
    share = wait[time > 0] / time[time > 0]
    means = {
        name: float(sum_parts(found.parts_ps, parts)[found.kept].mean()) / 1e9
        for name, parts in _STACK.items()
    }
    return DeviceSide(_spread(time / 1e9), _spread(wait / 1e9), _spread(share), means)


def _across_workers(profile: Profile) -> InputRange | None:
    """The input wait over devices or hosts; None with one of them."""
    aligned = aligned_steps(profile)
    # Attribution for each device takes a sweep of its own.
    if len(aligned) == 1 and len(aligned[0].steps.busy_ps) < 2:
        return None
    found = worker_steps(profile)
    if found is None or len(found.workers) < 2:
        return None
    names, wait = _worker_names(found), sum_parts(found.parts_ps, _WAIT) / 1e9
    mean = wait[:, found.counted].mean(axis=1)
    first, last = int(mean.argmin()), int(mean.argmax())
    most = wait.max(axis=0)
    waits_most = [
        names[worker] if time > 0 else ""
        for worker, time in zip(wait.argmax(axis=0).tolist(), most.tolist(), strict=True)
    ]
    columns = {
        "step_num": found.num,
        "most_ms": most,
        "mean_ms": wait.mean(axis=0),
        "least_ms": wait.min(axis=0),
        "worker": waits_most,
        "kept": found.kept,
    }
    return InputRange(
        workers=len(names),
        mean_ms=float(mean.mean()),
        least_ms=float(mean[first]),
        least_worker=names[first],
        most_ms=float(mean[last]),
        most_worker=names[last],
        per_step=Table(InputRangeRow, columns),
    )


def _worker_names(found: WorkerSteps) -> list[str]:
    """Names of the workers: the device, with its host if there are several hosts."""
    names = [(one.host_name, one.device_name.removeprefix("/device:")) for one in found.workers]
    several = len({host for host, _ in names}) > 1
    return [f"{host} {device}" if several else device for host, device in names]


_WHAT: dict[str, tuple[str, str]] = {
    DEMANDED: (
        "Reading files when the data is asked for, without caching, prefetching or interleaving.",
        "Read ahead: end the pipeline with prefetch(tf.data.AUTOTUNE), read files with "
        "interleave(num_parallel_calls=tf.data.AUTOTUNE), cache() what fits in memory.",
    ),
    ADVANCED: (
        "Reading files ahead of the step: with prefetch, interleave or parallel map.",
        "Tune the reader: interleave's cycle_length, prefetch's buffer, "
        "TFRecordDataset(buffer_size=…); then look at where the files are stored.",
    ),
    PREPROCESSING: (
        "Transforming elements: decoding, augmenting, shuffling, batching.",
        "Give map num_parallel_calls=tf.data.AUTOTUNE, map whole batches instead of elements, "
        "cache() before random augmentation, or preprocess offline.",
    ),
    ENQUEUE: (
        "Handing batches to the device.",
        "Send fewer, larger pieces: larger batches, one packed tensor instead of many.",
    ),
    OTHER: (
        "Calls for the next batch outside tf.data: DataLoader, next(…), annotated stages.",
        "Move the loading beside the step: DataLoader(num_workers=…, persistent_workers=True), "
        "or a tf.data or grain pipeline with prefetch.",
    ),
}


def _host_breakdown(ops: InputOps) -> tuple[CategoryTime, ...]:
    whole = int(ops.self_ps.sum())
    time = dict.fromkeys(CATEGORIES, 0)
    for category, self_ps in zip(ops.category, ops.self_ps.tolist(), strict=True):
        time[category] += self_ps
    return tuple(
        CategoryTime(name, ms(spent), spent / whole if whole else None, *_WHAT[name])
        for name, spent in time.items()
    )


def _headline(
    verdict: InputVerdict, frac: float | None, breakdown: tuple[CategoryTime, ...], *, copies: bool
) -> str:
    if frac is None:
        return "No step was found, so the share of time spent waiting for input is unknown."
    if copies and verdict != "not_input_bound":
        return (
            f"Copies to the devices, which count as waiting for input, take {share_words(frac, 1)} "
            "of step time."
        )
    share = f"{share_words(frac, 1)} of step time is spent waiting for input"
    if verdict == "not_input_bound":
        return f"Not input-bound: {share}."
    degree = "Highly" if verdict == "highly_input_bound" else "Moderately"
    largest = max(breakdown, key=lambda one: one.self_time_ms)
    where = ""
    if largest.self_time_frac:
        share_of_host = share_words(largest.self_time_frac)
        whole = "All" if share_of_host == "100%" else f"Most ({share_of_host})"
        where = f" {whole} of the host's input time is " + (
            f"{largest.category[0].lower()}{largest.category[1:]}."
        )
    return f"{degree} input-bound: {share}.{where}"


def _next_step(
    verdict: InputVerdict, ops: InputOps, breakdown: tuple[CategoryTime, ...], *, copies: bool
) -> str:
    if verdict == "not_input_bound":
        return "Input does not limit this program: look at overview_page for what does."
    if verdict == "unknown":
        return "Mark the steps and record again; the host side below is valid without them."
    if any(name.startswith("Iterator::") for name in ops.name):
        return "Open tf_data_bottleneck_analysis: it names the stage to change and the gain."
    if len(ops) == 0 and copies:
        return (
            "No input op was recorded: these copies may move batches, weights or activations. "
            "Open trace_viewer at one step to see what is copied, and overview_page for what to do."
        )
    if len(ops) == 0:
        return (
            "No input op was recorded: annotate the loader, or use tf.data, so that the wait "
            "can be explained."
        )
    return max(breakdown, key=lambda one: one.self_time_ms).advice


def _op_table(ops: InputOps) -> Table[InputOpRow]:
    order = np.lexsort((np.asarray(ops.name, dtype=object), -ops.self_ps))
    # The incumbent relates both times to the self time of all input ops, so that totals may
    # exceed 100 %.
    whole = float(ops.self_ps.sum()) or nan
    return Table(
        InputOpRow,
        {
            "op": [ops.name[row] for row in order.tolist()],
            "count": ops.count[order],
            "total_time_ms": ops.total_ps[order] / 1e9,
            "total_time_frac": ops.total_ps[order] / whole,
            "self_time_ms": ops.self_ps[order] / 1e9,
            "self_time_frac": ops.self_ps[order] / whole,
            "category": [ops.category[row] for row in order.tolist()],
        },
    )


def _step_table(found: SessionSteps | None) -> Table[StepRow]:
    if found is None:
        return Table.empty(StepRow)
    stacked = {
        f"{name}_ms": sum_parts(found.parts_ps, parts) / 1e9 for name, parts in _STACK.items()
    }
    return Table(
        StepRow,
        {
            "step_num": found.num,
            "step_time_ms": found.duration_ps / 1e9,
            "input_frac": _wait_ps(found) / np.where(found.duration_ps, found.duration_ps, nan),
            "kept": found.kept,
            **stacked,
        },
    )


def _host_table(profile: Profile) -> Table[HostRow]:
    rows: list[tuple[str, int, float, float, float, float]] = []
    for host in profile.hosts:
        found, spent = steps(host), ms(int(input_ops(host).self_ps.sum()))
        if found is None or not found.kept.any():
            rows.append((host.name, 0, nan, nan, nan, spent))
            continue
        time = float(found.duration_ps[found.kept].mean()) / 1e9
        wait = float(sum_parts(found.parts_ps, _WAIT)[found.kept].mean()) / 1e9
        share = wait / time if time else nan
        rows.append((host.name, int(found.kept.sum()), time, wait, share, spent))
    rows.sort(key=lambda row: -row[3] if row[3] == row[3] else 1.0)
    fields = ("host", "step_count", "step_time_ms", "input_wait_ms", "input_frac", "input_ops_ms")
    return Table(HostRow, {name: [row[i] for row in rows] for i, name in enumerate(fields)})


def _diagnostics(profile: Profile, found: SessionSteps | None) -> tuple[Diagnostic, ...]:
    if found is None or found.is_window:
        return (
            Diagnostic(
                "no-steps",
                "warning",
                "No step was marked and none could be inferred; wait shares are those of "
                "the recording as a whole, where it shows any.",
            ),
        )
    has_device = any(d.has_events for host in profile.hosts for d in devices(host))
    if has_device or bottleneck.is_marked(found.confidence):
        return ()
    return (
        Diagnostic("steps-not-marked", "info", f"{found.explanation} Mark steps for exact shares."),
    )


TOOL = Tool(
    id="input_pipeline_analyzer",
    short="input_pipeline",
    title="Input Pipeline",
    tab="Input",
    run=input_pipeline_analyzer,
    options=Options,
    result=InputPipelineAnalyzer,
    times_of=("step", "recording"),
    steps_of="slowest",
    page=(
        Headline(
            "{headline}",
            note="{next_step}",
            tone="{verdict=highly_input_bound?}input | {verdict=moderately_input_bound?}input"
            " | {verdict=not_input_bound?}device | other",
        ),
        Figure(
            "Waiting for input",
            "{input_frac} | –",
            "of the time, including copies to devices; above 5 % is worth fixing, above 20 %"
            " is severe",
        ),
        Figure(
            "Input wait and copies",
            "{device_side.input_wait_ms.mean} | –",
            "{times_of=recording?}of {device_side.step_time_ms.mean} recorded"
            " | {step_count=1?}of one step"
            " | [± {device_side.input_wait_ms.std}, ]{device_side.input_wait_ms.min} to"
            " {device_side.input_wait_ms.max} | no step found",
        ),
        Figure(
            "Input wait of {input_across_workers.workers} workers",
            "{times_of=step?}{input_across_workers.least_ms} to {input_across_workers.most_ms}",
            "{input_across_workers.least_worker} to {input_across_workers.most_worker}; mean"
            " {input_across_workers.mean_ms}, each worker for itself",
        ),
        Figure(
            "Step time",
            "{times_of=step?}{device_side.step_time_ms.mean}",
            "{step_count=1?}of one step"
            " | [± {device_side.step_time_ms.std}, ]{device_side.step_time_ms.min} to"
            " {device_side.step_time_ms.max}",
        ),
        Figure("Steps counted", "{times_of=step?}{step_count}", "{steps_found}"),
        PartsChart(
            "device_side.mean_ms",
            title="{times_of=recording?}The whole recording | Average step",
            note="{times_of=recording?}the parts sum to the recording"
            " | mean of {step_count} counted; the parts sum to the step",
            none="No step was found, so the share of input in the step time is unknown. The host's"
            " input work is below.",
        ),
        StepsChart("step_table"),
        TableChart(
            "input_across_workers.per_step",
            title="Input wait over workers",
            note="Each worker for itself, copies of input included",
        ),
        BarChart(
            "host_breakdown",
            title="What the host does for input",
            note="self time of input ops on all threads, over the whole recording",
            none="No input ops were recorded: no tf.data iterator, no DataLoader, no call to"
            " next().",
            label="{category}",
            value="self_time_ms",
            text="{self_time_ms}[, {self_time_frac}]",
        ),
        Terms(
            "host_breakdown",
            title="How to reduce it",
            name="{self_time_ms?}{category}",
            meaning="{what}",
            text="{advice}",
        ),
        TableView(
            "input_ops",
            note="Self time excludes input ops nested on the same thread.",
            noun=("input op", "input ops"),
            none="None was recorded.",
            main=True,
            constants=True,
        ),
        TableView(
            "host_table", title="Hosts", noun=("host", "hosts"), constants=True, several=True
        ),
    ),
)
