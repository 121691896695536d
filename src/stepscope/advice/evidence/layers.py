"""The layers of a model, where no line of the program was recorded: names that a person knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stepscope.analysis.framework_op_stats import FrameworkOpStats

# So many layers are named, each with this share of the ops' time.
_NAMED, _SOME_FRAC = 3, 0.15


def said(stats: FrameworkOpStats | None) -> str:
    """Which layers have most of the ops' time, as a sentence to go on with; "" unknown."""
    rows = [] if stats is None else list(stats.layers.records())
    # Where a device computes, the host's ops hand over.
    of_device = [one for one in rows if one.host_or_device == "Device"] or rows
    longest = [one for one in of_device if one.self_time_frac >= _SOME_FRAC][:_NAMED]
    if not longest:
        return ""
    listed = ", ".join(f"{one.layer} {one.self_time_frac:.0%}" for one in longest)
    return f" By layer, gradients included, all ops' time is {listed}."
