"""What recording costs the steps where nothing measured it: events per step times their price.

``stepscope record`` measures undisturbed steps (``undisturbed.py``). A file of a framework's own
profiler holds none, so what its events cost is estimated. Its prices are ranges: an event costs
more if the thread works on large data between two of them.
"""

from __future__ import annotations

from math import nan
from typing import Final

import numpy as np

from stepscope.columns import median, pivot
from stepscope.columns.space import Line
from stepscope.errors import DecodeError
from stepscope.quantities import share_words, time_words
from stepscope.records import dataclass
from stepscope.result import Diagnostic
from stepscope.schema import names
from stepscope.schema.xspace import ProfileOptions
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.thresholds import PART_FRAC, SOME_FRAC
from stepscope.tables.device.events import has_device_events
from stepscope.tables.host.events import host_thread_rows, is_tf_data_thread
from stepscope.tables.recording.environment import environment
from stepscope.tables.recording.undisturbed import undisturbed_step
from stepscope.tables.steps.attribution import HostSteps, steps
from stepscope.wire.read import values

#: Slugs of the diagnostics that recording Python's calls, or very many events, costs much, and that
#: ``torch.profiler``'s own ``step()`` does.
TRACED_CALLS: Final = "traced-calls"
RECORDED_EVENTS: Final = "recorded-events"
PROFILER_STEPS: Final = "profiler-steps"

# Least, likely and most processor time of one event in ps (TensorFlow 2.21, JAX 0.10, torch 2.13).
# They are from recorded less undisturbed steps of programs with many events. ``python -m
# bench.price --own`` compares estimates with measurements. Calls are of PyTorch's profiler.
_EVENT_PS: Final = {
    "TensorFlow": (230_000, 400_000, 1_200_000),
    "JAX": (300_000, 400_000, 600_000),
    "PyTorch": (400_000, 700_000, 1_200_000),
}
_ANY_EVENT_PS: Final = (230_000, 400_000, 1_200_000)
_CALL_PS: Final = (250_000, 300_000, 370_000)
# Events that do next to nothing cost less: of a step that is all events at most this share.
_MOST_FRAC: Final = 0.8


@dataclass(frozen=True, slots=True)
class RecorderCost:
    """The estimated cost of the events of one thread, in each kept step.

    Attributes:
        thread: Its name.
        makes_input: Whether tf.data runs there, for which the step may wait.
        events: How many events the mean step has.
        low_ps, cost_ps, high_ps: Their cost: least (0 beside a device), likely and most. None
            exceeds a share of the step.
        step_ps: The mean step.
    """

    thread: str
    makes_input: bool
    events: float
    low_ps: float
    cost_ps: float
    high_ps: float
    step_ps: float

    @property
    def words(self) -> str:
        """The range as shares of the step."""
        low, high = (round(100 * cost / self.step_ps) for cost in (self.low_ps, self.high_ps))
        return f"{low} %" if low == high else f"{low}–{high} %"


@derived
def call_cost(host: Host) -> RecorderCost | None:
    """The cost of Python's calls, recorded one by one; None where it is little."""
    planes = host.space.planes
    calls = [
        line for line in host.space.lines if planes[line.plane].name == names.PYTHON_CALLS_PLANE
    ]
    return _cost(host, calls, _CALL_PS)


@derived
def event_cost(host: Host) -> RecorderCost | None:
    """The cost of a framework's events; None where it is little."""
    lines = [host.space.lines[row] for row in host_thread_rows(host).tolist()]
    # Few recordings have many events; the name of the framework needs all names.
    if _cost(host, lines, _ANY_EVENT_PS) is None:
        return None
    return _cost(host, lines, _EVENT_PS.get(environment(host).framework, _ANY_EVENT_PS))


def _cost(host: Host, lines: list[Line], price_ps: tuple[int, int, int]) -> RecorderCost | None:
    """The cost of the events of the line that has most; None where no step is known."""
    found = steps(host)
    if found is None or found.markers.is_window or not found.kept.any():
        return None
    step_ps, count = float(found.duration_ps[found.kept].mean()), int(found.kept.sum())
    line = max(lines, key=lambda one: one.end - one.begin, default=None)
    price = price_ps[1]
    # Only a line with so many events in all can have as many in the steps.
    if line is None or (line.end - line.begin) * price < SOME_FRAC * step_ps * count:
        return None
    events = _events_per_step(host, line, found)
    # A device that works meanwhile may hide all of it.
    price_ps = (0, *price_ps[1:]) if has_device_events(host) else price_ps
    if not events * price >= SOME_FRAC * step_ps > 0:
        return None
    low, cost, high = (min(events * each, _MOST_FRAC * step_ps) for each in price_ps)
    return RecorderCost(line.label, is_tf_data_thread(line.label), events, low, cost, high, step_ps)


def _events_per_step(host: Host, line: Line, found: HostSteps) -> float:
    """The mean number of events of a line that begin in a kept step."""
    start, end = found.start_ps[found.kept], found.end_ps[found.kept]
    at = host.space.events.start_ps[line.begin : line.end]
    step = np.searchsorted(start, at, side="right") - 1
    return int(((step >= 0) & (at < end[np.maximum(step, 0)])).sum()) / len(start)


def input_cost_ps(host: Host) -> float:
    """The cost of events of tf.data's thread per step; NaN where it is little."""
    cost = event_cost(host)
    is_much = cost is not None and cost.cost_ps >= PART_FRAC * cost.step_ps
    return cost.cost_ps if cost is not None and is_much and cost.makes_input else nan


@derived
def estimated_costs(host: Host) -> dict[str, RecorderCost]:
    """The costs of recording by the slug of their diagnostic, from 5 % of the step on.

    Empty where undisturbed steps were timed: that is better than any estimate.
    """
    if undisturbed_step(host) is not None:
        return {}
    known = {TRACED_CALLS: call_cost(host), RECORDED_EVENTS: event_cost(host)}
    return {slug: cost for slug, cost in known.items() if cost is not None}


def estimated_frac(host: Host) -> tuple[float, float] | None:
    """The share of the step that the dearest events take, least and most; None where little."""
    costs = estimated_costs(host).values()
    cost = max(costs, key=lambda one: one.high_ps / one.step_ps, default=None)
    return None if cost is None else (cost.low_ps / cost.step_ps, cost.high_ps / cost.step_ps)


def costs_of_recording(host: Host) -> tuple[Diagnostic, ...]:
    """What recording is estimated to cost the steps, where that is much."""
    kinds = {TRACED_CALLS: "Python calls", RECORDED_EVENTS: "events"}
    estimated = tuple(
        Diagnostic(
            slug,
            "info",
            f"Recording takes an estimated {cost.words} of the {cost.step_ps / 1e9:.3g} ms step: "
            f"{cost.events:,.0f} {kinds[slug]} on thread {cost.thread}. Without a recorder steps "
            "are shorter, and this thread has less of them.",
            host.name,
        )
        for slug, cost in estimated_costs(host).items()
    )
    return estimated + _between_steps(host)


def _between_steps(host: Host) -> tuple[Diagnostic, ...]:
    """The time from one ``ProfilerStep#`` to the next, which ``torch.profiler``'s step() takes."""
    found = steps(host)
    if found is None or not found.markers.name[0].startswith(names.PYTORCH_STEP):
        return ()
    wall_ps = np.diff(found.start_ps)
    if len(wall_ps) == 0 or not median(wall_ps) > 0:
        return ()
    between_ps = median(found.start_ps[1:] - found.markers.mark_end_ps[:-1])
    if between_ps < SOME_FRAC * median(wall_ps):
        return ()
    text = (
        f"torch.profiler's step() takes {time_words(between_ps / 1e9)} between two steps, "
        f"{share_words(between_ps / median(wall_ps))} of the loop. No step contains it."
    )
    return (Diagnostic(PROFILER_STEPS, "info", text, host.name),)


@dataclass(frozen=True, slots=True)
class RecorderLevels:
    """Levels of the tracers, 0 for off."""

    host: int
    device: int
    python: int


@derived
def recorder_levels(host: Host) -> RecorderLevels | None:
    """The levels the recording notes; None where it notes none."""
    for row in range(len(host.space.planes)):
        value = pivot.plane_stats(host.space, row).get(names.PROFILE_OPTIONS)
        if not isinstance(value, bytes):
            continue
        try:
            said = {number: level for number, level in values(value) if isinstance(level, int)}
        except DecodeError:
            return None
        return RecorderLevels(
            host=said.get(ProfileOptions.HOST_TRACER_LEVEL, 0),
            device=said.get(ProfileOptions.DEVICE_TRACER_LEVEL, 0),
            python=said.get(ProfileOptions.PYTHON_TRACER_LEVEL, 0),
        )
    return None
