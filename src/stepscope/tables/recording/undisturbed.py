"""How long a step takes while nothing records, and how much of the program was recorded.

``stepscope record`` lets the program run undisturbed between its sessions. Where hooks hear of
steps, the recorder times them itself. Executions of compiled JAX functions are numbered: those
between the sessions before and after a rest are counted by their numbers.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.columns import distinct, median, pivot, rows_of, union_spans
from stepscope.columns.space import I64
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.schema.numbers import as_integer
from stepscope.tables.core.profile import Host, Profile, derived
from stepscope.tables.core.recording_gaps import recorder_planes
from stepscope.tables.core.stats import event_stats
from stepscope.tables.recording.environment import environment
from stepscope.tables.steps.attribution import steps

# Steps that tell: this many, or this long together.
_STEPS, _PS = 20, 2 * 10**12
# Recorders whose gaps lose steps: each cut ends a session of theirs.
_FRAMEWORKS: Final = ("tensorflow", "jax", "torch")
# Equal steps may differ by less.
_LONGER_FRAC: Final = 0.1


@dataclass(frozen=True, slots=True)
class UndisturbedStep:
    """The step of a host while nothing records.

    Attributes:
        step_ps: Its mean length. Where hooks timed steps, the mean recorded step times the ratio of
            the medians of undisturbed and recorded ones: their means differ by rare long steps,
            such as those with an evaluation, of which either may have more.
        steps: How many were timed.
        source: What they were known by.
    """

    step_ps: float
    steps: int
    source: str


@derived
def undisturbed_step(host: Host) -> UndisturbedStep | None:
    """None where it was not measured, or cannot be compared with recorded steps."""
    step = _measured_step(host)
    return None if step is None or _is_longer(host, step) else step


def no_undisturbed_step(profile: Profile) -> str:
    """The reason why no undisturbed step is known, as a clause."""
    for host in profile.hosts:
        step = _measured_step(host)
        if step is not None and _is_longer(host, step):
            return (
                f"{step.steps:,} steps while nothing recorded took {step.step_ps / 1e9:.3g} ms, "
                "longer than recorded ones: the program or the machine's load changed"
            )
    if any(len(rests(host)[0]) for host in profile.hosts):
        return "not measured: too few steps were seen while nothing recorded"
    return "not measured"


def _is_longer(host: Host, step: UndisturbedStep) -> bool:
    """Whether it exceeds the recorded step: recording makes no step shorter."""
    found = steps(host)
    return found is not None and step.step_ps > (1 + _LONGER_FRAC) * float(
        found.duration_ps[found.kept].mean()
    )


@derived
def _measured_step(host: Host) -> UndisturbedStep | None:
    """None where too few steps were timed, or recorded steps have no length."""
    found = steps(host)
    if found is None or found.markers.is_window or not found.kept.any():
        return None
    kept_ps = found.duration_ps[found.kept]
    noted = _stated(host)
    step_ps = as_integer(noted.get(names.UNDISTURBED_STEP))
    if step_ps <= 0:
        return _counted(host)
    # Hooks may report a part of a recorded step, or several steps at once: only the ratio counts.
    heard_ps = as_integer(noted.get(names.RECORDED_STEP)) or median(kept_ps)
    if not heard_ps > 0 or not kept_ps.any():
        return None
    count = as_integer(noted.get(names.UNDISTURBED_STEPS))
    if count < _STEPS and count * step_ps < _PS:
        return None
    source = str(noted.get(names.UNDISTURBED_SOURCE, ""))
    return UndisturbedStep(float(kept_ps.mean()) * step_ps / heard_ps, count, source)


def _counted(host: Host) -> UndisturbedStep | None:
    """From the numbers of executions before and after each rest, of the program that tells most."""
    stats = event_stats(host)
    runs, begin_end = stats.ints(names.RUN_ID), rests(host)
    if len(begin_end[0]) == 0 or len(runs.rows) == 0:
        return None
    program = stats.ints(names.PROGRAM_ID).at(runs.rows, -1)
    moments = host.space.events.start_ps[runs.rows]
    known = [
        counted
        for one in distinct(program[program >= 0]).tolist()
        if (counted := _counted_by(host, moments[program == one], runs.values[program == one]))
    ]
    return max(known, key=lambda one: one.steps, default=None)


def _counted_by(host: Host, moments: I64, number: I64) -> UndisturbedStep | None:
    """The same by the executions of one program, each of which may have many events."""
    order = np.argsort(moments, kind="stable")
    number, begin = np.unique(number[order], return_index=True)
    moments = moments[order][begin]
    order = np.argsort(moments, kind="stable")
    moments, number = moments[order], number[order]
    probes, spent_ps, executions = _recorder_spans(host, names.GAP_PROBE)[0], 0, 0
    for opened, closed in zip(*(part.tolist() for part in rests(host)), strict=True):
        inside = probes[(probes >= opened) & (probes < closed)]
        if len(inside) == 0:
            continue
        first = int(np.searchsorted(moments, inside[0]))
        # To the first execution of the next session; to the last probe where there is none.
        last = min(int(np.searchsorted(moments, closed)), len(moments) - 1)
        if first < last and moments[first] < closed:
            spent_ps += int(moments[last] - moments[first])
            executions += abs(int(number[last] - number[first]))
    each = _executions_per_step(host, moments)
    count = executions / each if each else 0
    if not count or (count < _STEPS and spent_ps < _PS):
        return None
    return UndisturbedStep(spent_ps / count, round(count), "executions of compiled functions")


def _executions_per_step(host: Host, moments: I64) -> float:
    found = steps(host)
    if found is None:
        return 0.0
    start, end = found.start_ps[found.kept], found.end_ps[found.kept]
    return float(median(np.searchsorted(moments, end) - np.searchsorted(moments, start)))


@derived
def rests(host: Host) -> tuple[I64, I64]:
    """Starts and ends of the times in which the program ran undisturbed, in order."""
    return _recorder_spans(host, names.GAP_REST)


def _recorder_spans(host: Host, *reasons: str) -> tuple[I64, I64]:
    """Starts and ends of the gaps of the recording for these, those of all recorders as one."""
    space = host.space
    metadata = space.event_metadata
    entries = np.flatnonzero(np.isin(metadata.plane, recorder_planes(host)))
    wanted = np.zeros(len(metadata), dtype=bool)
    wanted[[row for row in entries.tolist() if metadata.name[row].endswith(reasons)]] = True
    rows = rows_of(space.events.metadata, wanted)
    start = space.events.start_ps[rows]
    return union_spans(start, start + space.length_ps[rows])


@derived
def session_undisturbed(profile: Profile) -> UndisturbedStep | None:
    """Of the slowest host that has one; None where none has."""
    known = [one for host in profile.hosts if (one := undisturbed_step(host)) is not None]
    return max(known, key=lambda one: one.step_ps, default=None)


def recording_cost(host: Host) -> float | None:
    """What recording took of the program's time, as a share; None where it is not stated."""
    stated = _stated(host).get(names.RECORDING_COST)
    return None if stated is None else as_integer(stated) / 1e6


def _stated(host: Host) -> dict[str, object]:
    """What the recorder states of itself."""
    return {
        key: value
        for row, plane in enumerate(host.space.planes)
        if plane.name == names.ENVIRONMENT_PLANE
        for key, value in pivot.plane_stats(host.space, row).items()
    }


def coverage(host: Host) -> tuple[int, int] | None:
    """How long was recorded, and of how much, in ps; None where the frameworks never stopped.

    Whatever a gap is for, what ran in it is missing.
    """
    cut = names.GAP_CHUNK, names.GAP_PAUSE
    reasons = names.GAP_REST, *(f"{one}: {reason}" for one in _FRAMEWORKS for reason in cut)
    begin, end = _recorder_spans(host, *reasons)
    if len(begin) == 0:
        return None
    whole = environment(host).duration_ps
    return max(whole - int((end - begin).sum()), 0), whole
