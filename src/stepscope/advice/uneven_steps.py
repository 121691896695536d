"""A few steps are much slower than the rest, and nothing recorded says why.

What it checks: counted steps longer than twice the median, and which part of the step grew.
Why it matters: garbage collection, logging, a starved pipeline or a neighbour on the machine
show as spikes.
What to do: look at the slowest step beside a median one in the timeline.
When it is wrong: warm-up steps inside a short recording, or other programs on the machine: where
ops of the CPU only take longer than else, that is likely.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from stepscope.registry import Answer, Rule, Silence, Unknown
from stepscope.result import Finding, Ref

SLOW_FACTOR = 2.0
_MIN_STEPS = 8
_MIN_COST_FRAC = 0.03
# Parts that grow when the machine is busy with something else.
_OF_THE_MACHINE = ("host_compute", "other", "input")


def uneven_steps(results: Mapping[str, Any]) -> Iterator[Answer]:
    """Fires when steps beyond twice the median cost 3 % of all step time or more."""
    overview = results["overview_page"]
    table = overview.step_table
    kept = np.asarray(table["kept"], dtype=bool)
    time = np.asarray(table["step_time_ms"], dtype=np.float64)[kept]
    if len(time) < _MIN_STEPS:
        yield Unknown(f"{len(time)} steps are too few to call one of them slow.")
        return
    median = float(np.median(time))
    slow = time > SLOW_FACTOR * median
    excess = float((time[slow] - median).sum())
    if not slow.any() or excess < _MIN_COST_FRAC * time.sum():
        share = excess / float(time.sum()) if time.sum() else 0.0
        yield Silence(f"Slow steps cost {share:.1%} of all step time.")
        return
    grown = {}
    for name in table.columns:
        if name.endswith("_ms") and name not in ("start_ms", "step_time_ms"):
            part = np.asarray(table[name], dtype=np.float64)[kept]
            grown[name.removesuffix("_ms")] = float(part[slow].mean() - part[~slow].mean())
    cause = max(grown, key=lambda part: grown[part])
    worst = np.asarray(table["step_num"])[kept][time.argmax()]
    begin = float(np.asarray(table["start_ms"], dtype=np.float64)[kept][time.argmax()])
    # On a machine without devices a slower CPU looks the same as a neighbour that takes it.
    alone = overview.device.busy_frac is not None or cause not in _OF_THE_MACHINE
    yield Finding(
        rule=RULE.id,
        severity="medium" if alone else "info",
        saving_ms=excess / len(time),
        confidence=0.6 if alone else 0.3,
        message=f"{int(slow.sum())} of {len(time)} steps take more than twice the median of "
        f"{median:.3g} ms (slowest: step {worst}, {time.max():.3g} ms); in them "
        f"{cause.replace('_', ' ')} grows most (+{grown[cause]:.3g} ms)."
        + ("" if alone else " Other programs on this machine would look the same."),
        measured={
            "slow_steps": int(slow.sum()),
            "median_ms": median,
            "slowest_ms": float(time.max()),
            "cause": cause,
        },
        evidence=(
            Ref("overview_page", "step_table", rows=(str(worst),)),
            Ref("trace_viewer", f"step {worst}", from_ms=begin, to_ms=begin + float(time.max())),
        ),
        actions=("Compare the slowest step with a median one in the timeline.",),
    )


RULE = Rule(
    id="uneven-steps",
    check=uneven_steps,
    needs=("overview_page",),
    doc=__doc__ or "",
    title="A few steps are much slower",
    threshold="steps beyond twice the median cost ≥ 3 % of all step time",
    symptom_of=(
        "slow-steps",
        "retracing",
        "recompilation",
        "eager-execution",
        "python-bound",
        "print-every-step",
        "no-xla",
        "serial-map",
        "missing-prefetch",
        "no-cache",
        "no-interleave",
        "python-in-pipeline",
        "batch-after-map",
        "file-reads",
        "late-shard",
        "few-input-threads",
        "host-input-limit",
    ),
)
