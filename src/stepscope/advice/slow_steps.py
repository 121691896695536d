"""A few steps are much slower than the rest.

What it checks: kept steps longer than twice the median, and which part grew in them.
Why it matters: checkpoints, logging, recompilation or a starved pipeline show as spikes.
What to do: look at the slowest step in the timeline; move the spike out of the loop.
When it is wrong: warm-up steps inside a short recording.
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


def slow_steps(results: Mapping[str, Any]) -> Iterator[Answer]:
    """Fires when steps beyond twice the median cost 3 % of all step time or more."""
    table = results["overview_page"].step_table
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
    yield Finding(
        rule=RULE.id,
        severity="medium",
        saving_ms=excess / len(time),
        confidence=0.6,
        message=f"{int(slow.sum())} of {len(time)} steps take more than twice the median of "
        f"{median:.3g} ms (slowest: step {worst}, {time.max():.3g} ms); in them "
        f"{cause.replace('_', ' ')} grows most "
        f"(+{grown[cause]:.3g} ms).",
        evidence=(Ref("overview_page", f"step_table.step_num={worst}"), Ref("trace_viewer")),
        actions=("Compare the slowest step with a median one in the timeline.",),
    )


RULE = Rule(
    id="slow-steps",
    check=slow_steps,
    needs=("overview_page",),
    doc=__doc__ or "",
    title="A few steps are much slower",
    threshold="steps beyond twice the median cost ≥ 3 % of all step time",
)
