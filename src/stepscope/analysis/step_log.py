"""Step log: every step of the whole run, and the steps at which something changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import nan
from typing import Annotated, Any, Final

import numpy as np

from stepscope.columns import median
from stepscope.columns.space import F64, I64
from stepscope.quantities import share_words, time_words
from stepscope.records import dataclass
from stepscope.registry import Tool
from stepscope.result import Column, Diagnostic, Result, Row, Table
from stepscope.schema import names
from stepscope.tables.core.profile import Profile
from stepscope.tables.steps.change_points import StepTimeChange, changes
from stepscope.tables.steps.logged import LoggedSteps, logged_steps

_WINDOWS: Final = 200
_US_PER_MS: Final = 1e3
_PS_PER_SECOND: Final = 1e12
# Steps to either side of a change whose other quantities are compared.
_BESIDE_STEPS: Final = 500
# A wait for input that makes up half of the change explains it.
_HALF: Final = 0.5
_CAPPED_FRAC: Final = 0.1
_ENERGY: Final = names.STEP_LOG_ENERGY_END
# Memory, and values of the program, that moved by this share moved with the change.
_MOVED: Final = 0.05


class WindowRow(Row):
    """Neighbouring steps of the run."""

    process: Annotated[str, Column("Process", kind="name")]
    begin_s: Annotated[float, Column("Begin", unit="s", kind="time", help="After the first step.")]
    first_step: Annotated[int, Column("First step", kind="number", help="Counted from 0.")]
    steps: Annotated[int, Column("Steps", kind="count")]
    mean_ms: Annotated[float, Column("Mean step", unit="ms", kind="time")]
    longest_ms: Annotated[float, Column("Longest step", unit="ms", kind="time")]
    input_wait_ms: Annotated[
        float,
        Column("Input wait", unit="ms", kind="time", help="Mean wait for a batch, per step."),
    ]
    memory_bytes: Annotated[
        float, Column("Memory", unit="B", kind="bytes", help="Resident memory of the process.")
    ]
    values: Annotated[
        str, Column("Values", kind="text", help="Means of the values that the program gave.")
    ]


class ChangeRow(Row):
    """A lasting change of the step time."""

    process: Annotated[str, Column("Process", kind="name")]
    step: Annotated[int, Column("Step", kind="number", help="Steps before the change.")]
    at_s: Annotated[float, Column("At", unit="s", kind="time", help="After the first step.")]
    before_ms: Annotated[float, Column("Before", unit="ms", kind="time", help="Median step.")]
    after_ms: Annotated[float, Column("After", unit="ms", kind="time", help="Median step.")]
    delta_frac: Annotated[float, Column("Change", unit="%", kind="ratio")]
    seen_after: Annotated[
        int, Column("Seen after", kind="count", help="Steps until the change was found.")
    ]
    moved_with: Annotated[
        str, Column("Moved with it", kind="text", help="Other quantities that changed there.")
    ]


class EnergyRow(Row):
    """The energy of one device."""

    process: Annotated[str, Column("Process", kind="name", help="Whose log has it.")]
    device: Annotated[str, Column("Device", kind="name")]
    joules: Annotated[float, Column("Energy", unit="J", help="Sum over the measured steps.")]
    step_joules: Annotated[float, Column("Per step", unit="J", sort="desc")]
    error_joules: Annotated[
        float, Column("±", unit="J", help="Two standard errors of the mean over chunks.")
    ]
    capped_frac: Annotated[
        float,
        Column(
            "Capped",
            unit="%",
            kind="ratio",
            help="Share of readings at which its power or heat limited its clock.",
        ),
    ]


@dataclass(frozen=True, slots=True)
class Options:
    """The page has no options."""


@dataclass(frozen=True, kw_only=True)
class StepLog(Result):
    """Every step of the whole run, and the steps at which the step time changed.

    Attributes:
        headline: The answer in one sentence.
        steps: Logged steps, of all processes.
        run_s: From the first step to the last one.
        mean_ms: Mean step.
        median_ms: Median step; steps that were put together count as their mean.
        p95_ms: 95th percentile of the steps, with the same reservation.
        longest_ms: The longest step.
        input_wait_frac: Share of the steps in which the program waited for input.
        step_joules: Energy of a machine per step, of all devices whose counters are readable: mean
            over processes; NaN without any.
        step_error_joules: Two standard errors of it, over chunks.
        sample_joules: The same per sample, where the program notes ``samples`` of each step.
        energy: Energy by process and device.
        changes: Lasting changes of the step time.
        course: The run in at most 200 windows per process.
    """

    tool = "step_log"
    headline: str
    steps: int
    run_s: float
    mean_ms: float
    median_ms: float
    p95_ms: float
    longest_ms: float
    input_wait_frac: float
    step_joules: float
    step_error_joules: float
    sample_joules: float
    energy: Table[EnergyRow]
    changes: Table[ChangeRow]
    course: Table[WindowRow]


def step_log(profile: Profile, options: Options = Options()) -> StepLog:
    """Return the course of the whole run."""
    logs = [log for host in profile.hosts for log in logged_steps(host)]
    found = [(log, change) for log in logs for change in changes(log.mean_us.tolist())]
    steps = sum(int(log.steps.sum()) for log in logs)
    whole = float(sum(log.sum_us.sum() for log in logs))
    each = np.concatenate([log.mean_us for log in logs])
    counts = np.concatenate([log.steps for log in logs])
    energy = [row for log in logs for row in _energy(log)]
    totals = [row for row in energy if not row["device"]]
    samples = [_middle(log.values["samples"]) for log in logs if "samples" in log.values]
    step_joules = _mean(row["step_joules"] for row in totals)
    begin = min(int(log.start_ps[0]) for log in logs)
    end = max(int(log.start_ps[-1]) + int(log.sum_us[-1]) * 10**6 for log in logs)
    return StepLog(
        headline=_headline(logs, found, steps, _quantile(each, counts, 0.5)),
        steps=steps,
        run_s=(end - begin) / _PS_PER_SECOND,
        mean_ms=whole / max(steps, 1) / _US_PER_MS,
        median_ms=_quantile(each, counts, 0.5) / _US_PER_MS,
        p95_ms=_quantile(each, counts, 0.95) / _US_PER_MS,
        longest_ms=max(float(log.max_us.max()) for log in logs) / _US_PER_MS,
        input_wait_frac=float(sum(log.wait_us.sum() for log in logs)) / max(whole, 1.0),
        step_joules=step_joules,
        step_error_joules=_mean(row["error_joules"] for row in totals),
        sample_joules=step_joules / max(_mean(samples), 1e-9),
        energy=Table.from_rows(EnergyRow, [row for row in energy if row["device"]]),
        diagnostics=tuple(_capped(energy)),
        changes=Table.from_rows(ChangeRow, [_change_row(*one) for one in found]),
        course=Table.from_rows(WindowRow, [row for log in logs for row in _windows(log)]),
    )


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return float(np.mean(listed)) if listed else nan


def _capped(energy: list[dict[str, Any]]) -> Iterator[Diagnostic]:
    """Devices whose clock power or heat limited for a tenth of the readings or more."""
    for row in energy:
        if row["capped_frac"] >= _CAPPED_FRAC:
            text = (
                f"{row['device']} was throttled in {share_words(row['capped_frac'])} of the "
                f"readings ({row['process']}): its power cap or heat lowers its clock."
            )
            yield Diagnostic("clock-capped", "warning", text)


def _energy(log: LoggedSteps) -> Iterator[dict[str, Any]]:
    """A row per device with a counter, the largest first, and one of all, without a name."""
    counters = {
        name.removesuffix(names.STEP_LOG_ENERGY_END): values
        for name, values in log.devices.items()
        if name.endswith(names.STEP_LOG_ENERGY_END)
    }
    if not counters:
        return
    # Chunks of which all counters are known; each begins with its reading.
    known = np.logical_and.reduce([np.isfinite(values) for values in counters.values()])
    begins = np.flatnonzero(known)
    if not len(begins):
        return
    steps = np.add.reduceat(log.steps, begins)
    rows = [_energy_row(log, name, values[begins], steps) for name, values in counters.items()]
    yield from sorted(rows, key=lambda row: -row["step_joules"])
    yield _energy_row(log, "", np.sum([one[begins] for one in counters.values()], axis=0), steps)


def _energy_row(log: LoggedSteps, device: str, joules: F64, steps: I64) -> dict[str, Any]:
    mean = float(joules.sum() / steps.sum())
    # Of a ratio of sums, by the deviations of its chunks.
    spread = float(np.sqrt(((joules - mean * steps) ** 2).sum())) / float(steps.sum())
    correction = (len(steps) / (len(steps) - 1)) ** 0.5 if len(steps) > 1 else nan
    throttled = _known(log.devices.get(device + names.STEP_LOG_THROTTLED_END, np.empty(0)))
    return {
        "process": log.process,
        "device": device,
        "joules": float(joules.sum()),
        "step_joules": mean,
        "error_joules": 2 * spread * correction,
        "capped_frac": _mean(throttled > 0),
    }


def _quantile(values: F64, counts: I64, frac: float) -> float:
    """The value that this share of the values lie below, each as often as its count."""
    order = np.argsort(values)
    below = np.cumsum(counts[order])
    at = np.searchsorted(below, frac * below[-1])
    return float(values[order[min(int(at), len(order) - 1)]])


def _headline(
    logs: list[LoggedSteps],
    found: list[tuple[LoggedSteps, StepTimeChange]],
    steps: int,
    middle_us: float,
) -> str:
    text = f"{steps:,} steps, {time_words(middle_us / _US_PER_MS)} each"
    if not found:
        return f"{text}; the step time did not change."
    log, change = max(found, key=lambda one: abs(one[1].after / one[1].before - 1))
    whose = f" on {log.process}" if len(logs) > 1 else ""
    delta = change.after / change.before - 1
    way = "slower" if delta > 0 else "faster"
    cause = _moved_with(log, change)
    return (
        f"{text}; {share_words(abs(delta))} {way} since step {_number(log, change.step):,}{whose}"
        f"{f', with {cause}' if cause else ''}."
    )


def _number(log: LoggedSteps, row: int) -> int:
    """Steps before a row."""
    return int(log.first[min(row, len(log.first) - 1)])


def _change_row(log: LoggedSteps, change: StepTimeChange) -> dict[str, Any]:
    row = min(change.step, len(log.first) - 1)
    seen = _number(log, change.seen - 1) + int(log.steps[min(change.seen, len(log.steps)) - 1])
    return {
        "process": log.process,
        "step": _number(log, row),
        "at_s": float(log.start_ps[row] - log.start_ps[0]) / _PS_PER_SECOND,
        "before_ms": change.before / _US_PER_MS,
        "after_ms": change.after / _US_PER_MS,
        "delta_frac": change.after / change.before - 1,
        "seen_after": seen - _number(log, row),
        "moved_with": _moved_with(log, change),
    }


def _moved_with(log: LoggedSteps, change: StepTimeChange) -> str:
    """Names of quantities that changed at the same step, input first."""
    before = slice(max(change.step - _BESIDE_STEPS, 0), change.step)
    after = slice(change.step, change.step + _BESIDE_STEPS)
    found = []
    wait = log.wait_us / np.maximum(log.steps, 1)
    if _middle(wait[after]) - _middle(wait[before]) >= _HALF * (change.after - change.before) > 0:
        found.append("input wait")
    rates = {name: one for name, one in log.devices.items() if not name.endswith(_ENERGY)}
    others = {"memory": log.memory_bytes.astype(np.float64), **log.values, **rates}
    for name, values in others.items():
        one, other = _middle(values[before]), _middle(values[after])
        near = values[max(change.step - 50, 0) : change.step]
        # A value that wanders anyway, such as a loss, has moved by itself.
        jump = abs(other - one)
        wander = float(np.nanmax(near) - np.nanmin(near)) if np.isfinite(near).any() else 0.0
        if np.isfinite(jump) and jump > _MOVED * max(abs(one), 1e-12) and jump > 2 * wander:
            found.append(name)
    return ", ".join(found)


def _middle(values: F64) -> float:
    known = _known(values)
    return float(median(known)) if len(known) else nan


def _known(values: F64) -> F64:
    return values[np.isfinite(values)]


def _windows(log: LoggedSteps) -> Iterator[dict[str, Any]]:
    rows = -(-len(log.steps) // _WINDOWS)
    for begin in range(0, len(log.steps), rows):
        some = slice(begin, begin + rows)
        steps = int(log.steps[some].sum())
        means = ((name, _middle(values[some])) for name, values in log.values.items())
        memory = float(log.memory_bytes[some].max())
        yield {
            "process": log.process,
            "begin_s": float(log.start_ps[begin] - log.start_ps[0]) / _PS_PER_SECOND,
            "first_step": int(log.first[begin]),
            "steps": steps,
            "mean_ms": float(log.sum_us[some].sum()) / max(steps, 1) / _US_PER_MS,
            "longest_ms": float(log.max_us[some].max()) / _US_PER_MS,
            "input_wait_ms": float(log.wait_us[some].sum()) / max(steps, 1) / _US_PER_MS,
            "memory_bytes": memory or nan,
            "values": ", ".join(f"{name} {mean:.4g}" for name, mean in means if mean == mean),
        }


TOOL = Tool(
    id="step_log",
    short="log",
    title="Step Log",
    tab="Steps",
    run=step_log,
    options=Options,
    result=StepLog,
)
