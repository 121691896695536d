"""What recording Python's calls one by one adds to a step."""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.result import Diagnostic
from stepscope.schema import names
from stepscope.tables.core.profile import Host
from stepscope.tables.steps.attribution import steps

#: Slug of the diagnostic.
TRACED_CALLS: Final = "traced-calls"
# What PyTorch's profiler takes for one Python call (with_stack): 0.25 to 0.37 µs, measured with
# torch 2.13; said from this share of the step on.
_CALL_PS, _CALLS_FRAC = 300_000, 0.05


def traced_calls(host: Host) -> tuple[Diagnostic, ...]:
    """What the calls of the thread with most of them cost the kept steps, where that is much."""
    found = steps(host)
    planes = host.space.planes
    traced = [
        line
        for line in host.space.lines
        if planes[line.plane].name == names.PYTHON_CALLS_PLANE and line.end > line.begin
    ]
    if found is None or found.markers.is_window or not traced or not found.kept.any():
        return ()
    start, end = found.start_ps[found.kept], found.end_ps[found.kept]
    line = max(traced, key=lambda one: one.end - one.begin)
    at = host.space.events.start_ps[line.begin : line.end]
    step = np.searchsorted(start, at, side="right") - 1
    calls = int(((step >= 0) & (at < end[np.maximum(step, 0)])).sum()) / len(start)
    step_ps = float((end - start).mean())
    share = calls * _CALL_PS / step_ps if step_ps > 0 else 0.0
    if share < _CALLS_FRAC:
        return ()
    text = (
        f"The Python calls of a step were recorded one by one, {calls:,.0f} of them. At some "
        f"{_CALL_PS / 1e6:.1f} µs each that is {calls * _CALL_PS / 1e9:.3g} of its "
        f"{step_ps / 1e9:.3g} ms ({share:.0%}), so Python looks dearer than it is."
    )
    return (Diagnostic(TRACED_CALLS, "info", text, host.name),)
