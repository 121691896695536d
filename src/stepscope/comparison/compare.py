"""Two runs or more → what changed, in parts that sum to the change."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isnan, nan
from typing import Any, Final

import numpy as np

from stepscope.analysis.memory_profile import TOOL as MEMORY
from stepscope.analysis.memory_profile import MemoryProfile, MemorySystem
from stepscope.analysis.step_account import TOOL as ACCOUNT
from stepscope.analysis.step_account import StepAccount
from stepscope.columns.space import F64
from stepscope.comparison.breakdown import WAITING, Breakdown, breakdown
from stepscope.comparison.comparison import (
    Comparison,
    LineChangeRow,
    MemoryCourseRow,
    PartRow,
    RunRow,
    RunSide,
    StepTimeRow,
    TailChange,
)
from stepscope.comparison.levels import kernel_level, module_level, op_level, step_level
from stepscope.comparison.matching import changes
from stepscope.comparison.parity import device_types, framework, parity
from stepscope.comparison.pods import SuspectChangeRow, same_places, suspects_of
from stepscope.comparison.verdict import headline, main_parts, tail_sentence
from stepscope.comparison.workers import worker_times
from stepscope.errors import NothingToShow, UsageError
from stepscope.pod.decoded import pod_of_profile
from stepscope.quantities import signed_percent, size_words, time_change
from stepscope.records import dataclass, replace
from stepscope.result import Diagnostic, Table, ms
from stepscope.tables.core.profile import Profile
from stepscope.tables.in_steps.batch_sizes import examples_per_step
from stepscope.tables.recording.undisturbed import session_undisturbed
from stepscope.tables.steps.attribution import found_steps
from stepscope.tables.steps.session import session_steps, why_no_step
from stepscope.tables.steps.statistics import difference, tail_difference

# Below this the steps are a guess, and so is every statement about them.
_SURE: Final = 0.5
_SLOWEST_ROWS: Final = 50
# A function with this share of the change in the program is named.
_MOST_FRAC: Final = 0.3
# Workers that wait less than this share of the step for each other have no slowest among them.
_WAITING_FRAC: Final = 0.01
# Moments of each run on a chart of its memory.
_MEMORY_POINTS: Final = 400


@dataclass(frozen=True, eq=False)
class Memory:
    """The fullest memory of a run, of its devices before its hosts.

    Attributes:
        name: As the memory profile names it; "" if none was recorded.
        peak_bytes: Most bytes in use; NaN if not recorded.
        time_ms: Moments since the first step begins, ascending.
        use_bytes: Use from each moment on; the last is that at the end of the recording.
    """

    name: str
    peak_bytes: float
    time_ms: F64
    use_bytes: F64


@dataclass(frozen=True, eq=False)
class Side:
    """One run to compare: how it is called, and what a comparison needs to know of it.

    Attributes:
        name: As the answer calls it.
        profile: What was recorded.
        parts: Its average step, broken down.
        framework, device_type: Runs that share them share the names of ops and kernels.
        memory: The fullest memory.
        examples: What a step takes of them, over all hosts; NaN unknown.
        undisturbed_ms: Length of a step while nothing records; None if it was not measured.
    """

    name: str
    profile: Profile
    parts: Breakdown
    framework: str
    device_type: str
    memory: Memory
    examples: float
    undisturbed_ms: float | None = None

    def in_short(self) -> Side:
        """The run without its recording: enough to stand between two others in a trend."""
        return replace(self, profile=Profile(self.profile.name, ()))


def side_of(name: str, profile: Profile, batch_size: int | None = None) -> Side:
    """A run, ready to be compared.

    Args:
        name: As the answer calls it.
        profile: What was recorded.
        batch_size: Examples per step, where they are given; else what the recording tells.

    Raises:
        NothingToShow: It has no steps.
    """
    found = breakdown(profile)
    if found is None:
        raise NothingToShow(
            "A run without steps cannot be compared or checked.",
            where=name,
            why=f"{why_no_step(session_steps(profile))}{_damage(profile)}",
            hint="Mark steps (stepscope.step(i), jax.profiler.StepTraceAnnotation or "
            "tf.profiler.experimental.Trace('train', step_num=i, _r=1)) and record again.",
            slug="no-steps",
        )
    told, undisturbed = examples_per_step(profile), session_undisturbed(profile)
    return Side(
        name,
        profile,
        found,
        framework(profile),
        device_types(profile),
        _memory(profile),
        float(batch_size or (nan if told is None else told.examples)),
        None if undisturbed is None else undisturbed.step_ps / 1e9,
    )


def _damage(profile: Profile) -> str:
    """What of its files is broken, where steps may have been."""
    return "".join(
        f" The file of {host.name} is damaged: {host.space.damage.reason}."
        for host in profile.hosts
        if host.space.damage is not None
    )


def compare(
    runs: Sequence[Side], notes: Sequence[Diagnostic] = (), *, by_line: bool = True
) -> Comparison:
    """Compare the last run with the first; those between them appear in ``Comparison.runs``.

    Args:
        runs: The baseline first.
        notes: What else a reader must know, such as runs that were left out.
        by_line: Whether to compare lines of the program, which takes an account of every step.
    """
    if len(runs) < 2:
        raise UsageError("A comparison needs two runs.", hint="Name a second run.")
    first, last = runs[0], runs[-1]
    before, after = first.parts, last.parts
    noise = difference(before.sample, after.sample)
    tail = tail_difference(before.sample, after.sample)
    same_framework = first.framework == last.framework
    ops = op_level(same_framework=same_framework)
    parts, step_parts = changes(before, after, ops), changes(before, after, step_level)
    lines = _lines(first, last) if by_line else Table.empty(LineChangeRow)
    base_ms = noise.baseline
    samples, counts = (before.sample, after.sample), (len(before.step_ms), len(after.step_ms))
    return Comparison(
        session=f"{first.name} → {last.name}",
        hosts=tuple(host.name for host in last.profile.hosts),
        diagnostics=(*notes, *(one for run in (first, last) for one in _diagnostics(run))),
        headline=headline(noise, parts, step_parts, counts, _most_changed(lines, noise.delta))
        + tail_sentence(noise, tail, samples)
        + _undisturbed(first, last),
        outcome=noise.outcome,
        delta_ms=noise.delta,
        delta_frac=noise.delta / base_ms if base_ms > 0 else nan,
        interval_ms=noise.interval,
        significant=noise.significant,
        baseline=_side(first),
        candidate=_side(last),
        parts=parts,
        step_parts=step_parts,
        modules=changes(before, after, module_level),
        kernels=changes(
            before, after, kernel_level(same_device=first.device_type == last.device_type)
        ),
        lines=lines,
        lines_text=_lines_text(lines),
        memory_text=_memory_text(first.memory, last.memory),
        memory_course=_memory_course(first.memory, last.memory),
        worker_times=worker_times(first.profile, last.profile),
        suspects=_suspects(first.profile, last.profile),
        slowest_worker_parts=_slowest_worker(first, last, same_framework=same_framework),
        parity=parity(first.profile, last.profile),
        runs=_run_rows(runs),
        step_times=_step_times(first, last),
        tail=TailChange(tail.baseline, tail.candidate, tail.delta, tail.interval, tail.outcome),
    )


def _undisturbed(first: Side, last: Side) -> str:
    """Return the steps without the recorder, where both runs know them."""
    if first.undisturbed_ms is None or last.undisturbed_ms is None:
        return ""
    change = last.undisturbed_ms / first.undisturbed_ms - 1
    return (
        f" While nothing records: {first.undisturbed_ms:.3g} → {last.undisturbed_ms:.3g} ms "
        f"({signed_percent(change)})."
    )


def _side(run: Side) -> RunSide:
    found, sample = session_steps(run.profile), run.parts.sample
    return RunSide(
        name=run.name,
        worker=run.parts.worker,
        steps=len(run.parts.step_ms),
        step_source=found.source if found is not None else "none",
        step_time_ms=float(run.parts.step_ms.mean()),
        framework=run.framework,
        device_type=run.device_type,
        left_out=() if found is None else found.left_out,
        outliers_ms=tuple(sample.times[sample.is_outlier].tolist()),
        p95_ms=None if isnan(sample.p95) else sample.p95,
        undisturbed_ms=run.undisturbed_ms,
    )


def _diagnostics(run: Side) -> list[Diagnostic]:
    found = session_steps(run.profile)
    notes = list(run.profile.diagnostics)
    if found is not None and found.confidence < _SURE:
        notes.append(
            Diagnostic(
                "steps-uncertain",
                "warning",
                f"{run.name}: {found.explanation} The difference may be one of where steps begin.",
            )
        )
    return notes


def _waiting_frac(run: Side) -> float:
    """How much of the step its worker waits for others."""
    waited = [
        ms
        for item, ms in zip(run.parts.items, run.parts.mean_ms, strict=True)
        if item.name == WAITING
    ]
    step_ms = float(run.parts.step_ms.mean())
    return float(sum(waited)) / step_ms if step_ms > 0 else 0.0


def _slowest_worker(first: Side, last: Side, *, same_framework: bool) -> Table[PartRow]:
    """What changed for the worker the others wait for: its ops are what they all pay for."""
    slowest = last.parts.slowest
    if not slowest or max(map(_waiting_frac, (first, last))) < _WAITING_FRAC:
        return Table.empty(PartRow)
    before, after = breakdown(first.profile, slowest), breakdown(last.profile, slowest)
    if before is None or after is None:
        return Table.empty(PartRow)
    return changes(before, after, op_level(same_framework=same_framework)).head(_SLOWEST_ROWS)


def _suspects(before: Profile, after: Profile) -> Table[SuspectChangeRow]:
    """Who makes the others wait; empty where one of the runs has nobody who waits."""
    one, other = pod_of_profile(before), pod_of_profile(after)
    if isinstance(one, str) or isinstance(other, str):
        return Table.empty(SuspectChangeRow)
    return suspects_of(one, other, same_places(one, other))


# File and function: the lines of a program move as it is edited.
_Place = tuple[str, str]


def _lines(first: Side, last: Side) -> Table[LineChangeRow]:
    """Return the change by function of the program, the largest first."""
    before, after = _times_of_lines(first.profile), _times_of_lines(last.profile)
    if before is None or after is None or not any(file for file, _ in (*before, *after)):
        return Table.empty(LineChangeRow)
    rows: list[dict[str, Any]] = []
    for place in dict.fromkeys((*after, *before)):
        (old, old_line), (new, line) = before.get(place, (0.0, 0)), after.get(place, (0.0, 0))
        file, function = place
        rows.append(
            {
                "function": function,
                "file": file,
                "line": line or old_line,
                "delta_ms": new - old,
                "before_ms": old,
                "after_ms": new,
            }
        )
    rows.sort(key=lambda row: -abs(row["delta_ms"]))
    return Table.from_rows(LineChangeRow, rows)


def _times_of_lines(profile: Profile) -> dict[_Place, tuple[float, int]] | None:
    """Return ms per step and the line with the most of it, by function; None without steps."""
    if ACCOUNT.available(profile) is not None:
        return None
    account = ACCOUNT.run(profile, ACCOUNT.options())
    assert isinstance(account, StepAccount)
    found: dict[_Place, tuple[float, int]] = {}
    for owner in sorted(account.owners.records(), key=lambda owner: -owner.time_ms):
        place = (owner.file, owner.function) if owner.file else ("", "")
        time, line = found.get(place, (0.0, owner.line if owner.file else 0))
        found[place] = time + owner.time_ms, line
    return found


def _most_changed(lines: Table[LineChangeRow], delta_ms: float) -> str:
    """Return the function that most of a change is in, and by how much; "" if there is none."""
    for row in lines.records():
        if row.file and row.delta_ms * delta_ms >= _MOST_FRAC * delta_ms**2:
            return f"{row.function} ({_line_of(row)}) {time_change(row.delta_ms)}"
    return ""


def _line_of(row: LineChangeRow) -> str:
    name = re.split(r"[\\/]", row.file)[-1]
    return f"{name}:{row.line}" if row.line else name


def _lines_text(lines: Table[LineChangeRow]) -> str:
    """Return how much of the change is at lines of the program; "" if none is recorded."""
    rows = list(lines.records())
    if not rows:
        return ""
    own = [row for row in rows if row.file]
    change, whole = sum(row.delta_ms for row in own), sum(row.delta_ms for row in rows)
    text = f"In your code: {time_change(change)} of {time_change(whole)} per step"
    most = own[0]
    if abs(most.delta_ms) >= _MOST_FRAC * abs(change) > 0:
        text += f", most at {most.function} ({_line_of(most)}): {time_change(most.delta_ms)}"
    return f"{text}."


def _run_rows(runs: Sequence[Side]) -> Table[RunRow]:
    """Every run: its step time, and its change to the first."""
    columns: dict[str, list[Any]] = {name: [] for name in RunRow.__annotations__}
    base = runs[0].parts.sample
    base_ms = base.mean
    for place, run in enumerate(runs):
        times = run.parts.step_ms
        noise = difference(base, run.parts.sample) if place else None
        low, high = run.parts.sample.interval
        told = {None: "unknown", True: "yes", False: "no"}
        row = {
            "run": run.name,
            "steps": len(times),
            "step_time_ms": float(times.mean()),
            "low_ms": low,
            "high_ms": high,
            "median_ms": float(np.median(times)),
            "std_ms": float(times.std(ddof=1)) if len(times) > 1 else nan,
            "examples_per_s": _examples_a_second(run),
            "delta_ms": noise.delta if noise else nan,
            "delta_frac": noise.delta / base_ms if noise and base_ms > 0 else nan,
            "significant": told[noise.significant] if noise else "",
            "main_change": _main_change(runs[place - 1], run) if place else "",
            "peak_memory_bytes": run.memory.peak_bytes,
        }
        for name, value in row.items():
            columns[name].append(value)
    return Table(RunRow, columns)


def _examples_a_second(run: Side) -> float:
    """Examples a second at the mean step; NaN where the batch is unknown."""
    step_ms = float(run.parts.step_ms.mean())
    return run.examples / step_ms * 1e3 if step_ms > 0 else nan


def _main_change(before: Side, after: Side) -> str:
    """The largest part of what changed from one run to the next; "" when that is only noise."""
    noise = difference(before.parts.sample, after.parts.sample)
    if noise.significant is False:
        return ""
    level = op_level(same_framework=before.framework == after.framework)
    return next(main_parts(changes(before.parts, after.parts, level), noise.delta), "")


def _memory(profile: Profile) -> Memory:
    """The fullest memory, devices' before hosts'."""
    nothing = Memory("", nan, np.zeros(0), np.zeros(0))
    if MEMORY.available(profile) is not None:
        return nothing
    found = MEMORY.run(profile, replace(MEMORY.options(), points=_MEMORY_POINTS))
    assert isinstance(found, MemoryProfile)
    of_devices = [one for one in found.memories if one.device]
    fullest = max(of_devices or found.memories, key=lambda one: one.peak_bytes, default=None)
    if fullest is None:
        return nothing
    own = np.asarray([name == fullest.id for name in found.timeline["memory"]], dtype=bool)
    time, use = (
        np.asarray(found.timeline[column], dtype=np.float64)[own]
        for column in ("time_ms", "in_use_bytes")
    )
    return Memory(fullest.id, float(fullest.peak_bytes), time - _begin_ms(profile, fullest), use)


def _begin_ms(profile: Profile, memory: MemorySystem) -> float:
    """When the first step of a memory's host begins."""
    host = next(host for host in profile.hosts if host.name == memory.host)
    found = found_steps(host)
    return 0.0 if found is None else ms(int(found.start_ps[0]))


def _memory_text(before: Memory, after: Memory) -> str:
    """Return the peaks of both runs; "" if one is unknown."""
    if isnan(before.peak_bytes) or isnan(after.peak_bytes):
        return ""
    names = before.name if before.name == after.name else f"{before.name} → {after.name}"
    change = after.peak_bytes / before.peak_bytes - 1 if before.peak_bytes else nan
    share = "" if isnan(change) else f" ({signed_percent(change)})"
    peaks = f"{size_words(before.peak_bytes)} → {size_words(after.peak_bytes)}"
    return f"Peak memory, {names}: {peaks}{share}."


def _memory_course(before: Memory, after: Memory) -> Table[MemoryCourseRow]:
    """Both memories at each moment of either."""
    if not len(before.time_ms) or not len(after.time_ms):
        return Table.empty(MemoryCourseRow)
    moments = np.union1d(before.time_ms, after.time_ms)
    columns = {"time_ms": moments}
    for name, memory in (("baseline_bytes", before), ("candidate_bytes", after)):
        at = np.searchsorted(memory.time_ms, moments, side="right") - 1
        recorded = (at >= 0) & (moments <= memory.time_ms[-1])
        columns[name] = np.where(recorded, memory.use_bytes[at], nan)
    return Table(MemoryCourseRow, columns)


def _step_times(first: Side, last: Side) -> Table[StepTimeRow]:
    columns: dict[str, list[Any]] = {name: [] for name in StepTimeRow.__annotations__}
    for label, run in (("baseline", first), ("candidate", last)):
        found = session_steps(run.profile)
        assert found is not None  # a run without steps is not a Side
        columns["run"] += [label] * len(run.parts.step_ms)
        columns["step_num"] += found.num[found.kept].tolist()
        columns["step_time_ms"] += run.parts.step_ms.tolist()
    return Table(StepTimeRow, columns)
