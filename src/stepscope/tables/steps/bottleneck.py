"""Which part of a step limits it: one verdict that every tool and surface repeats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, cast

BoundBy = Literal[
    "input",
    "output",
    "kernel_launch",
    "host",
    "device",
    "collectives",
    "compilation",
    "balanced",
    "unknown",
]

# Which parts of a step speak for which limit.
LIMITS: dict[str, tuple[str, ...]] = {
    "input": ("input", "host_to_device"),
    "output": ("output",),
    "kernel_launch": ("kernel_launch",),
    # While a host computes, waits or does nothing that was recorded, its devices are idle.
    "host": ("host_compute", "host_wait", "other"),
    "device": ("device_compute_16", "device_compute_32", "device_to_device"),
    "collectives": ("collectives",),
    "compilation": ("compilation",),
}
# Shares of the step from which input is named (reference §3.4): moderately and highly input-bound.
INPUT_SOME_FRAC = 0.05
INPUT_HIGH_FRAC = 0.20
# From this confidence on steps were marked, by the program, its framework (Keras) or the device;
# below, they were inferred from what repeats.
_MARKED_CONFIDENCE = 0.9
# Below this lead over the second largest there is no one limit.
LEAD_FRAC = 0.03


def is_marked(confidence: float) -> bool:
    """Whether steps of this confidence were marked rather than inferred from what repeats."""
    return confidence >= _MARKED_CONFIDENCE


def bound_by(
    parts: Mapping[str, float], step_time: float, *, has_device: bool
) -> tuple[BoundBy, float]:
    """What limits a step, and its share of it.

    Input is named first from 20 % on, whatever is larger: what starves the step is fixed
    before what the step does. Otherwise the largest limit, if it leads.

    Args:
        parts: Time of each part, in the unit of ``step_time``.
        step_time: Time of the step; NaN or 0 gives "unknown".
        has_device: Whether a device ran anything. Without one the host's compute is the work.
    """
    if not step_time > 0:
        return "unknown", 0.0
    share = {
        limit: sum(parts[part] for part in members) / step_time for limit, members in LIMITS.items()
    }
    if share["input"] >= INPUT_HIGH_FRAC:
        return "input", share["input"]
    first, second = sorted(share, key=lambda limit: -share[limit])[:2]
    if share[first] - share[second] < LEAD_FRAC:
        return "balanced", share[first]
    if first == "host" and not has_device and parts["host_compute"] + parts["host_wait"] == 0:
        return "unknown", share[first]
    return cast("BoundBy", first), share[first]
