"""Overview: where the average step goes, what limits it, and what ran."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import nan
from typing import Annotated, Final

import numpy as np

from stepscope.columns.space import F64
from stepscope.errors import UsageError
from stepscope.quantities import share_words
from stepscope.records import dataclass, field, replace
from stepscope.registry import Help, Tool
from stepscope.result import Column, Diagnostic, Finding, Result, Row, Table, columns_of, ms
from stepscope.schema import names
from stepscope.tables.core.devices import Device, devices
from stepscope.tables.core.presence import entries_called
from stepscope.tables.core.profile import Host, Profile, build_together
from stepscope.tables.device.events import DeviceEvents, device_events
from stepscope.tables.device.kernel_names import is_tensor_core_eligible
from stepscope.tables.device.usage import DeviceUsage, device_usage
from stepscope.tables.host.events import Work
from stepscope.tables.in_steps.batch_sizes import examples_per_step
from stepscope.tables.ops.framework_totals import device_busy, host_op_totals, op_shares
from stepscope.tables.recording.completeness import completeness
from stepscope.tables.recording.environment import cores_seen, environment, session_environment
from stepscope.tables.recording.evidence import recorded
from stepscope.tables.recording.recorder_costs import estimated_frac
from stepscope.tables.recording.undisturbed import (
    coverage,
    no_undisturbed_step,
    recording_cost,
    session_undisturbed,
    undisturbed_step,
)
from stepscope.tables.steps import bottleneck
from stepscope.tables.steps.attribution import PARTS, steps
from stepscope.tables.steps.bottleneck import BoundBy
from stepscope.tables.steps.found import WINDOW
from stepscope.tables.steps.session import SessionSteps, session_steps
from stepscope.tables.steps.time_base import with_times_of
from stepscope.tables.sums.framework_ops import session_device_ops, session_host_ops
from stepscope.verdicts.account import Steps, steps_account
from stepscope.verdicts.step import StepVerdict, headline

# The part of the step that recording events added.
_RECORDER: Final = "recorder"


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
    device_compute_32_ms: Annotated[
        float, Column("Device compute, 32-bit or unknown", unit="ms", kind="time")
    ]
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
    is_outlier: Annotated[
        bool, Column("Outlier", kind="flag", hidden=True, help="Far longer than all others.")
    ]


class TopOpRow(Row):
    """One of the ten framework ops with the most self time."""

    rank: Annotated[int, Column("Rank", kind="rank")]
    host_or_device: Annotated[str, Column("Where", kind="category")]
    type: Annotated[str, Column("Type", kind="category")]
    operation: Annotated[str, Column("Operation", kind="name")]
    occurrences: Annotated[float, Column("Occurrences", kind="count")]
    self_time_us: Annotated[float, Column("Self time", unit="µs", kind="time", sort="desc")]
    self_time_frac: Annotated[float, Column("Share", unit="%", kind="ratio")]
    cumulative_frac: Annotated[float, Column("Cumulative", unit="%", kind="ratio")]
    flop_rate_gflops: Annotated[float, Column("FLOP rate", unit="GFLOP/s", kind="rate")]
    tensor_core_eligible: Annotated[bool, Column("TC eligible", kind="flag")]
    tensor_core_used: Annotated[bool, Column("TC used", kind="flag")]


@dataclass(frozen=True, slots=True)
class DeviceShare:
    """Busy and idle share of the device(s) over the kept steps; None without a device.

    Attributes:
        busy_frac: Share of the kept steps in which devices work.
        idle_frac: Share of the kept steps in which devices are idle.
    """

    busy_frac: float | None
    idle_frac: float | None


@dataclass(frozen=True, slots=True)
class Precision:
    """Device compute time by precision (None without device compute). They sum to 1.

    Attributes:
        bits_16_frac: Share of compute in 16 bits or fewer.
        bits_32_frac: Share of compute in more than 16 bits.
        unknown_frac: Share without operands, program or a name that gives the precision.
    """

    bits_16_frac: float | None
    bits_32_frac: float | None
    unknown_frac: float | None


@dataclass(frozen=True, slots=True)
class Throughput:
    """Examples per step and per second; None where nothing recorded tells them.

    Attributes:
        examples_per_step: Examples per step on all hosts.
        source: "tf.data", "shapes of ops", "given" or "".
        examples_per_s: Examples per second at the mean step.
    """

    examples_per_step: int | None
    source: str
    examples_per_s: float | None


@dataclass(frozen=True, slots=True)
class OpShares:
    """Shares by occurrence and by eager self time (None where there is nothing to share).

    Attributes:
        host_tf_op_frac: Share of framework ops that ran on the host.
        device_tf_op_frac: Share of framework ops that ran on the device.
        host_eager_frac: Eager share of the host's op time.
        device_eager_frac: Eager share of the device's op time.
    """

    host_tf_op_frac: float | None
    device_tf_op_frac: float | None
    host_eager_frac: float | None
    device_eager_frac: float | None


@dataclass(frozen=True, slots=True)
class Completeness:
    """Whether the profile is whole: "complete", "partial" or "damaged", and what is missing.

    Attributes:
        verdict: "complete", "partial" or "damaged".
        notes: Missing parts, one sentence each.
    """

    verdict: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Environment:
    """What ran where.

    ``host_cores``: of the host with the fewest, as far as the recording tells; 0 unknown.

    Attributes:
        host_count: Number of recorded hosts.
        host_cores: Processor cores of a host.
        task_count: Number of recorded processes.
        framework: Framework that wrote the recording.
        device_type: Model of the devices.
        device_count: Number of devices.
        devices: Names of the devices.
        profile_duration_ms: Length of the recording.
        profile_start: Start of the recording.
        task_type: "Training", "Inference" or "Unknown".
        versions: Versions of the framework and its libraries.
        settings: Settings that the recorder noted.
    """

    host_count: int
    host_cores: int
    task_count: int
    framework: str
    device_type: str
    device_count: int
    devices: tuple[str, ...]
    profile_duration_ms: float
    profile_start: str
    task_type: str
    versions: dict[str, str]
    settings: dict[str, str]


@dataclass(frozen=True, slots=True)
class Window:
    """The whole recording, whether or not it has steps: one entry for each device that ran.

    Attributes:
        devices: One record per device.
    """

    devices: tuple[DeviceUsage, ...]


@dataclass(frozen=True, kw_only=True)
class OverviewPage(Result):
    """What limits this run, where an average step goes, and the ops that take the time.

    Attributes:
        headline: The verdict in one sentence.
        bound_by: What limits the step.
        limited_by: The limit in words.
        bound_frac: Share of that limit in the step time.
        breakdown_ms: Mean of each part per kept step; the values sum to ``steps.time_ms.mean``.
            "recorder" is the cost of recording events, if undisturbed steps were measured; without
            it the values sum to the corrected step, which shares are of.
        recorded: Kinds of evidence in the recording: host, driver, device, ops, input, python,
            dispatch, garbage. Without a kind, silence about it proves nothing.
        window: The devices over the whole recording.
        findings: What the rules of advice found (filled in by the session).
        breakdown_std_ms: Standard deviation of each part.
        steps: Steps that the numbers are over.
        top_ops: Ops with the most self time.
        step_table: Steps with the parts of their time.
        environment: Hosts, devices and framework.
    """

    tool = "overview_page"
    headline: str
    bound_by: BoundBy
    limited_by: str
    bound_frac: float
    steps: Steps
    breakdown_ms: dict[str, float]
    breakdown_std_ms: dict[str, float]
    throughput: Throughput
    device: DeviceShare
    precision: Precision
    op_shares: OpShares
    environment: Environment
    completeness: Completeness
    recorded: tuple[str, ...]
    top_ops: Table[TopOpRow]
    step_table: Table[StepRow]
    window: Window
    findings: tuple[Finding, ...] = field(default=())

    @property
    def part_labels(self) -> dict[str, str]:
        """What the parts of the step are called, as the step table's columns are."""
        schema = columns_of(self.step_table.schema)
        labels = {part: schema[f"{part}_ms"][1].label for part in PARTS}
        return {part: labels.get(part, "Recorder") for part in self.breakdown_ms}

    def as_recorded(self) -> OverviewPage:
        """Return the page with corrected parts that sum to the recorded step, for advice."""
        cost_ms, mean = self.breakdown_ms.get(_RECORDER, 0.0), self.steps.time_ms.mean
        if not cost_ms > 0:
            return self
        parts = {part: time for part, time in self.breakdown_ms.items() if part != _RECORDER}
        factor = mean / (mean - cost_ms)
        return replace(self, breakdown_ms={part: time * factor for part, time in parts.items()})


@dataclass(frozen=True, slots=True)
class Options:
    """Options of overview_page."""

    batch_size: Annotated[
        int | None, Help("Examples per step, if neither input nor shapes contain it.")
    ] = None


def overview_page(profile: Profile, options: Options = Options()) -> OverviewPage:
    """The verdict on a profile, and the numbers it rests on."""
    build_together(profile.hosts, host_op_totals, steps, environment, completeness)
    found = session_steps(profile)
    breakdown, spread = _breakdown(found, _recorder_costs(profile))
    device = DeviceShare(*_device_share(profile, found))
    stats = _add_undisturbed(profile, steps_account(found))
    has_device = any(_active_devices(host) for host in profile.hosts)
    net_ms = stats.time_ms.mean - breakdown.get(_RECORDER, 0.0)
    bound, bound_frac = bottleneck.bound_by(breakdown, net_ms, has_device=has_device)
    evidence = recorded(profile)
    verdict = StepVerdict(
        bound_by=bound,
        share_frac=bound_frac,
        steps=stats.count,
        step_ms=net_ms,
        breakdown_ms=breakdown,
        has_device=has_device,
        is_window=stats.source == WINDOW,
        has_host="host" in evidence,
        has_ops="ops" in evidence or "dispatch" in evidence,
        python=_python(profile, found) if bound == "unknown" and "python" in evidence else "",
        is_memory_alone=all(_is_memory_alone(host) for host in profile.hosts),
    )
    return OverviewPage(
        headline=headline(verdict),
        bound_by=bound,
        limited_by=verdict.limit,
        bound_frac=bound_frac,
        steps=stats,
        breakdown_ms=breakdown,
        breakdown_std_ms=spread,
        throughput=_throughput(profile, stats, options),
        device=device,
        precision=_precision(profile, found),
        op_shares=OpShares(*op_shares(profile)),
        environment=_environment(profile),
        completeness=_completeness(profile),
        recorded=evidence,
        top_ops=_top_ops(profile),
        step_table=_step_table(found),
        window=Window(tuple(one for host in profile.hosts for one in device_usage(host))),
        diagnostics=tuple(one for host in profile.hosts for one in completeness(host).diagnostics),
    )


def _add_undisturbed(profile: Profile, stats: Steps) -> Steps:
    """The steps with what is known of those that were not recorded."""
    covered = [one for host in profile.hosts if (one := coverage(host)) is not None]
    share = min((part / whole for part, whole in covered if whole), default=1.0)
    step = session_undisturbed(profile)
    costs = [cost for host in profile.hosts if (cost := recording_cost(host)) is not None]
    stats = replace(stats, recorded_frac=share, recording_cost_frac=max(costs, default=None))
    if step is None:
        known = [part for host in profile.hosts if (part := estimated_frac(host)) is not None]
        low, high = max(known, key=lambda part: part[1], default=(None, None))
        return replace(
            stats,
            undisturbed=no_undisturbed_step(profile),
            recorder_low_frac=low,
            recorder_high_frac=high,
        )
    undisturbed_ms, told = step.step_ps / 1e9, f"{step.steps:,} steps, timed by {step.source}"
    return replace(stats, undisturbed_ms=undisturbed_ms, undisturbed=told)


def _python(profile: Profile, found: SessionSteps | None) -> str:
    """The Python function with most time of its own and its share of the counted steps."""
    # Few recordings hold Python alone.
    from stepscope.tables.in_steps.python_calls import python_functions

    functions = [one for host in profile.hosts for one in python_functions(host)]
    if not functions or found is None:
        return ""
    first = max(functions, key=lambda one: one.self_ps)
    share = first.self_ps / max(int(found.duration_ps[found.kept].sum()), 1)
    file = re.split(r"[/\\]", first.file)[-1]
    return f"{first.function} ({file}:{first.line}) takes {share_words(share)}"


def _is_memory_alone(host: Host) -> bool:
    """Whether a host's allocations were recorded and nothing that takes time, as in a snapshot."""
    allocates = entries_called(host, names.MEMORY_EVENTS).any()
    return bool(allocates) and not host.space.length_ps.any()


def _recorder_costs(profile: Profile) -> dict[str, F64]:
    """The cost of recording in each part and kept step, in ps; {} where nothing is corrected.

    Each step of several hosts is as on the slowest of them: those are not corrected.
    """
    host = profile.hosts[0] if len(profile.hosts) == 1 else None
    if host is None or undisturbed_step(host) is None:
        return {}
    # Few recordings state an undisturbed step; others need no account for an overview.
    from stepscope.tables.account.account import account
    from stepscope.tables.account.correction import costs_by_part

    made = account(host)
    return {} if made is None else costs_by_part(host, made)


def _breakdown(
    found: SessionSteps | None, costs_ps: dict[str, F64]
) -> tuple[dict[str, float], dict[str, float]]:
    """Mean and sample standard deviation of each part over the kept steps, in ms."""
    if found is None or not found.kept.any():
        return dict.fromkeys(PARTS, nan), dict.fromkeys(PARTS, nan)
    values = {part: found.parts_ps[part][found.kept] / 1e9 for part in PARTS}
    if costs_ps:
        costs = {part: cost / 1e9 for part, cost in costs_ps.items()}
        values = {part: time - costs[part] for part, time in values.items()}
        values[_RECORDER] = np.sum(list(costs.values()), axis=0)
    return (
        {part: float(v.mean()) for part, v in values.items()},
        {part: float(v.std(ddof=1)) if len(v) > 1 else 0.0 for part, v in values.items()},
    )


def _throughput(profile: Profile, stats: Steps, options: Options) -> Throughput:
    given, found = options.batch_size, examples_per_step(profile)
    if given is not None and given <= 0:
        raise UsageError(f"overview_page: batch_size cannot be {given}.", hint="Give more than 0.")
    size = given or (found.examples if found is not None else None)
    source = "given" if given else found.source if found is not None else ""
    step_ms = stats.time_ms.mean
    return Throughput(size, source, size / step_ms * 1e3 if size and step_ms > 0 else None)


def _active_devices(host: Host) -> list[Device]:
    return [device for device in devices(host) if device.has_events]


def _device_share(
    profile: Profile, found: SessionSteps | None
) -> tuple[float | None, float | None]:
    """Busy and idle share: over the kept steps, else over each device's own span."""
    busy = found.busy_frac if found is not None else None
    if busy is None:
        spans = [pair for host in profile.hosts for pair in device_busy(host).values() if pair[0]]
        busy = float(np.mean([part / span for span, part in spans])) if spans else None
    return (None, None) if busy is None else (busy, 1.0 - busy)


def _precision(profile: Profile, found: SessionSteps | None) -> Precision:
    """Device compute by precision: in the kept steps, else in the whole profile."""
    events = [device_events(host) for host in profile.hosts]
    wide = sum(_compute_ps(one, Work.COMPUTE_32) for one in events)
    untold = sum(_compute_ps(one, Work.COMPUTE_32, untold=True) for one in events)
    low, high = sum(_compute_ps(one, Work.COMPUTE_16) for one in events), wide
    if found is not None and found.kept.any():
        low = int(found.parts_ps["device_compute_16"][found.kept].sum())
        high = int(found.parts_ps["device_compute_32"][found.kept].sum())
    total = low + high
    if not total:
        return Precision(None, None, None)
    # The step's parts count compute of unknown precision as 32-bit.
    unknown = high / total * (untold / wide if wide else 0.0)
    return Precision(low / total, high / total - unknown, unknown)


def _compute_ps(events: DeviceEvents, work: Work, *, untold: bool = False) -> int:
    chosen = events.work == work
    return int(events.self_ps[chosen & ~events.bits_known if untold else chosen].sum())


def _environment(profile: Profile) -> Environment:
    found = session_environment(profile)
    return Environment(
        host_count=len(profile.hosts),
        host_cores=min((seen for one in profile.hosts if (seen := cores_seen(one))), default=0),
        task_count=len(profile.hosts),
        framework=found.framework,
        device_type=found.device_type,
        device_count=len(found.devices),
        devices=found.devices,
        profile_duration_ms=ms(found.duration_ps),
        profile_start=found.start_utc,
        task_type=found.task_type,
        versions=found.versions,
        settings=found.settings,
    )


def _spoils(one: Diagnostic) -> tuple[bool, bool]:
    """What a recorder left out by itself comes after what is missing of the program's work."""
    return one.severity == "info", one.slug == "recorder-warning"


def _completeness(profile: Profile) -> Completeness:
    found = [completeness(host) for host in profile.hosts]
    worst = max(
        (one.verdict for one in found),
        key=("complete", "partial", "damaged").index,
        default="complete",
    )
    many = len(profile.hosts) > 1
    said: dict[str, dict[str, str]] = {}  # by message and host: the place
    for host, each in zip(profile.hosts, found, strict=True):
        # What spoils numbers before what only explains them.
        for one in sorted(each.diagnostics, key=_spoils):
            said.setdefault(one.message, {})[host.name] = one.where
    notes = [f"{_named(where)}{message}" if many else message for message, where in said.items()]
    if any(one.severity == "error" for one in profile.diagnostics):
        worst = "damaged" if worst == "damaged" else "partial"
    # A damaged file is reported by its host as well as by the session.
    notes += [one.message for one in profile.diagnostics if one.message not in said]
    return Completeness(worst, tuple(notes))


def _named(places: Mapping[str, str]) -> str:
    """The host or plane that a note is about, or how many hosts."""
    where = f"{len(places)} hosts" if len(places) > 1 else next(iter(places.values()))
    return where and f"{where}: "


def _top_ops(profile: Profile) -> Table[TopOpRow]:
    """The ten ops with the most self time: on the devices, or on the host where there are none.

    Their times are, as those of the page, per step, unless others were asked for.
    """
    asked = profile if profile.times_of else with_times_of(profile, "step")
    device = session_device_ops(asked)
    side, totals = ("Device", device) if len(device) else ("Host", session_host_ops(asked))
    whole = totals.op_time_ps
    order = np.lexsort((np.asarray(totals.name, dtype=object), -totals.self_ps))[:10]
    # Names that only an allocator's events mention took no time.
    order = order[totals.self_ps[order] > 0]
    self_ps = totals.self_ps[order]
    seconds = np.where(self_ps > 0, self_ps / 1e12, nan)
    names = [totals.name[row] for row in order.tolist()]
    used = totals.tensor_core_ps[order] > 0
    return Table(
        TopOpRow,
        {
            "rank": np.arange(1, len(order) + 1),
            "host_or_device": [side] * len(order),
            "type": [totals.type[row] for row in order.tolist()],
            "operation": names,
            "occurrences": totals.occurrences[order],
            "self_time_us": self_ps / 1e6,
            "self_time_frac": self_ps / whole if whole else self_ps * 0.0,
            "cumulative_frac": np.cumsum(self_ps) / whole if whole else self_ps * 0.0,
            "flop_rate_gflops": totals.flops[order] / seconds / 1e9,
            "tensor_core_eligible": [
                bool(u) or is_tensor_core_eligible(name)
                for name, u in zip(names, used, strict=True)
            ],
            "tensor_core_used": used,
        },
    )


def _step_table(found: SessionSteps | None) -> Table[StepRow]:
    if found is None:
        return Table.empty(StepRow)
    return Table(
        StepRow,
        {
            "step_num": found.num,
            "step_name": found.name,
            "start_ms": found.start_ps / 1e9,
            "step_time_ms": found.duration_ps / 1e9,
            **{f"{part}_ms": found.parts_ps[part] / 1e9 for part in PARTS},
            "kept": found.kept,
            "is_outlier": found.is_outlier,
        },
    )


TOOL = Tool(
    id="overview_page",
    short="overview",
    title="Overview",
    tab="Verdict",
    run=overview_page,
    options=Options,
    result=OverviewPage,
    times_of=("step", "recording"),
    steps_of="slowest",
)
