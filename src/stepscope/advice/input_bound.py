"""The step waits for input.

What it checks: the share of the step spent waiting for the input pipeline or copying its data
to the device, where no compute hides it.
Why it matters: nothing downstream gets faster while it starves.
What to do: overlap input with compute (prefetch), parallelise the slow stage, cache.
When it is wrong: the recording covers only the start of training, while a shuffle buffer fills.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stepscope.registry import Rule
from stepscope.result import Finding, Ref

# The incumbent's thresholds (reference §3.4): moderately and highly input-bound.
SOME_FRAC = 0.05
HIGH_FRAC = 0.20


def input_bound(results: dict[str, Any]) -> Iterator[Finding]:
    """Fires when input costs 5 % of the step or more."""
    overview = results["overview_page"]
    step = overview.steps.time_ms.mean
    waiting = overview.breakdown_ms["input"] + overview.breakdown_ms["host_to_device"]
    if not step > 0 or waiting / step < SOME_FRAC:
        return
    share = waiting / step
    yield Finding(
        rule=RULE.id,
        severity="high" if share >= HIGH_FRAC else "medium",
        saving_ms=waiting,
        confidence=round(0.95 * overview.steps.confidence, 2),
        message=f"The input pipeline costs {waiting:.3g} ms of each {step:.3g} ms step "
        f"({share:.0%}).",
        evidence=(Ref("overview_page", "breakdown_ms.input"), Ref("input_pipeline_analyzer")),
        actions=(
            "End the pipeline with dataset.prefetch(tf.data.AUTOTUNE): it runs beside the step.",
            "Give slow stages threads: map(..., num_parallel_calls=tf.data.AUTOTUNE), "
            "interleave for files.",
            "cache() what is expensive and fits in memory; move constant preprocessing offline.",
            "PyTorch: DataLoader(num_workers=…, pin_memory=True, persistent_workers=True).",
        ),
    )


RULE = Rule(id="input-bound", check=input_bound, needs=("overview_page",), doc=__doc__ or "")
