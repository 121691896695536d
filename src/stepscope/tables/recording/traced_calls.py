"""What it costs the steps that their Python calls are recorded one by one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.result import Diagnostic
from stepscope.schema import names
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.steps.attribution import steps

#: Slug of the diagnostic that recording Python cost much.
TRACED_CALLS = "traced-calls"
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
    start, end = found.start_ps[found.kept], found.end_ps[found.kept]
    line = max(traced, key=lambda one: one.end - one.begin)
    at = host.space.events.start_ps[line.begin : line.end]
    step = np.searchsorted(start, at, side="right") - 1
    calls = int(((step >= 0) & (at < end[np.maximum(step, 0)])).sum()) / len(start)
    step_ps = float((end - start).mean())
    if not step_ps > 0 or calls * _CALL_PS < _CALLS_FRAC * step_ps:
        return None
    most = _MOST_FRAC * step_ps
    return Tracing(calls, min(calls * _CALL_PS, most), step_ps, calls * _CALL_PS > most)


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
