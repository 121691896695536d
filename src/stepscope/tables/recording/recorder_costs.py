"""What recording costs the steps: Python's calls one by one, and very many events of a thread."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import Final

import numpy as np

from stepscope.columns import pivot
from stepscope.columns.space import Line
from stepscope.errors import DecodeError
from stepscope.result import Diagnostic
from stepscope.schema import names
from stepscope.schema.xspace import ProfileOptions
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.host.events import host_thread_rows, is_tf_data_thread
from stepscope.tables.recording.undisturbed import undisturbed_step
from stepscope.tables.steps.attribution import HostSteps, steps
from stepscope.wire.read import values

#: Slug of the diagnostic that recording Python cost much.
TRACED_CALLS = "traced-calls"
#: Slug of the one that recording very many events did.
RECORDED_EVENTS: Final = "recorded-events"
# What PyTorch's profiler takes for one Python call (with_stack): 0.25 to 0.37 µs, measured with
# torch 2.13; said from this share of the step on.
_CALL_PS, _CALLS_FRAC = 300_000, 0.05
# Calls that do next to nothing take less: of a step that is all calls at most this share.
_MOST_FRAC = 0.8


@dataclass(frozen=True, slots=True)
class Tracing:
    """The calls of the thread with most of them, per kept step.

    Attributes:
        calls: How many.
        cost_ps: What recording them is likely to take.
        step_ps: The mean step.
        is_most: Whether they are so many that their cost is bounded by the step.
    """

    calls: float
    cost_ps: float
    step_ps: float
    is_most: bool


@derived
def tracing(host: Host) -> Tracing | None:
    """None where no call was recorded, or that cost little."""
    found = steps(host)
    planes = host.space.planes
    traced = [
        line
        for line in host.space.lines
        if planes[line.plane].name == names.PYTHON_CALLS_PLANE and line.end > line.begin
    ]
    if found is None or found.markers.is_window or not traced or not found.kept.any():
        return None
    line = max(traced, key=lambda one: one.end - one.begin)
    calls, step_ps = _events_a_step(host, line, found), found.duration_ps[found.kept].mean()
    if not step_ps > 0 or calls * _CALL_PS < _CALLS_FRAC * step_ps:
        return None
    most = _MOST_FRAC * step_ps
    return Tracing(calls, min(calls * _CALL_PS, most), float(step_ps), calls * _CALL_PS > most)


def _events_a_step(host: Host, line: Line, found: HostSteps) -> float:
    """How many events of a line begin in a kept step, in the mean."""
    start, end = found.start_ps[found.kept], found.end_ps[found.kept]
    at = host.space.events.start_ps[line.begin : line.end]
    step = np.searchsorted(start, at, side="right") - 1
    return int(((step >= 0) & (at < end[np.maximum(step, 0)])).sum()) / len(start)


def traced_calls(host: Host) -> tuple[Diagnostic, ...]:
    """What recording calls costs the kept steps, where that is much."""
    found = tracing(host)
    if found is None:
        return ()
    each, step = f"At some {_CALL_PS / 1e6:.1f} µs each", f"{found.step_ps / 1e9:.3g} ms"
    if found.is_most:
        cost = f"{each} that would be most of its {step}"
    else:
        cost = f"{each} that is {found.cost_ps / 1e9:.3g} of its {step}"
        cost += f" ({found.cost_ps / found.step_ps:.0%})"
    text = (
        f"The Python calls of a step were recorded one by one, {found.calls:,.0f} of them. {cost}, "
        "so Python looks slower than it is."
    )
    return (Diagnostic(TRACED_CALLS, "info", text, host.name),)


# Cost of one event in a framework's own profiler: processor time of recorded less plain steps,
# by events, in one process. TensorFlow 2.21: 0.23 µs eager, 0.45 tf.data, 1.2 in a while_loop; JAX
# 0.10: 0.3 µs eager, 0.6 in a scan; torch 2.13: 0.4 to 1.1 µs. Reported above this share of the
# step; savings of input allow for it above the second.
_EVENT_PS, _EVENTS_FRAC, _INPUT_FRAC = 400_000, 0.05, 0.1


@dataclass(frozen=True, slots=True)
class RecordedEvents:
    """The events of the thread with most of them, per kept step.

    Attributes:
        thread: Its name.
        makes_input: Whether tf.data runs there, for which the step may wait.
        events: How many.
        cost_ps: What recording them is likely to take.
        step_ps: The mean step.
    """

    thread: str
    makes_input: bool
    events: float
    cost_ps: float
    step_ps: float


@derived
def recorded_events(host: Host) -> RecordedEvents | None:
    """None where recording them takes little, or no step is known."""
    found = steps(host)
    if found is None or found.markers.is_window or not found.kept.any():
        return None
    step_ps, count = float(found.duration_ps[found.kept].mean()), int(found.kept.sum())
    lines = [host.space.lines[row] for row in host_thread_rows(host).tolist()]
    most = max(lines, key=lambda line: line.end - line.begin, default=None)
    # Only a thread with so many events in all can have as many in the steps.
    if most is None or (most.end - most.begin) * _EVENT_PS < _EVENTS_FRAC * step_ps * count:
        return None
    events = _events_a_step(host, most, found)
    cost = events * _EVENT_PS
    if not cost >= _EVENTS_FRAC * step_ps > 0:
        return None
    makes_input = is_tf_data_thread(most.label)
    return RecordedEvents(most.label, makes_input, events, min(cost, _MOST_FRAC * step_ps), step_ps)


def recording_costs(host: Host) -> tuple[Diagnostic, ...]:
    """What recording takes of the kept steps, where that is much."""
    found = recorded_events(host)
    if found is None or undisturbed_step(host) is not None:  # measured is better than estimated
        return ()
    text = (
        f"Thread {found.thread} recorded {found.events:,.0f} events in each step. At some "
        f"{_EVENT_PS / 1e6:.1f} µs each that is {found.cost_ps / 1e9:.3g} of its "
        f"{found.step_ps / 1e9:.3g} ms ({found.cost_ps / found.step_ps:.0%}): without the recorder "
        "steps are shorter, and what runs there takes less of them."
    )
    return (Diagnostic(RECORDED_EVENTS, "info", text, host.name),)


def input_cost_ps(host: Host) -> float:
    """What recording takes of a step on tf.data's thread; NaN where it is little."""
    found = recorded_events(host)
    is_much = found is not None and found.cost_ps >= _INPUT_FRAC * found.step_ps
    return found.cost_ps if found is not None and is_much and found.makes_input else nan


def costs_of_recording(host: Host) -> tuple[Diagnostic, ...]:
    """What recording costs the kept steps, as far as that is much."""
    return (*traced_calls(host), *recording_costs(host))


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
