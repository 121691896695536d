"""The step is made of kernels so short that launching them takes longer than running them.

What it checks: whether the device waits for launches (with PyTorch also for the ops that make them,
one by one), whether most kernels are shorter than a launch, and whether a launch itself takes no
longer than usual.
Why it matters: a launch costs the host some microseconds, whatever the kernel does; a device that
finishes first waits for the next one, thousands of times per step.
What to do: fuse (compile the step), record the step once as a graph, or give each kernel more to do
with a larger batch.
When it is wrong: the recorder slows each launch down; record again with a lower host tracer level
and compare.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stepscope.advice.evidence.device_time import (
    SLOW_LAUNCH_US,
    kernel_time,
    kernels_per_step,
    launch_calls,
)
from stepscope.advice.evidence.launchers import RECORDED, may_be_the_recorders
from stepscope.advice.evidence.steps import NO_STEPS
from stepscope.advice.evidence.turns import loop_within
from stepscope.advice.parts.changes import BATCHED
from stepscope.advice.results import Results
from stepscope.registry import NEGLIGIBLE_FRAC, Answer, Rule, Silence, severity_of
from stepscope.result import Finding, Ref

if TYPE_CHECKING:
    from stepscope.analysis.device_idle import DeviceIdle
    from stepscope.analysis.overview_page import OverviewPage

# A launch takes the host 2–10 µs (CUDA and HIP, without a recorder); shorter kernels cannot
# keep their device busy.
TINY_US = 10.0
_MOST_FRAC = 0.5
_ALL_FRAC = 0.9
# What handing an op to a device takes PyTorch at most, recorded as it is.
_MOST_US = 40.0


def tiny_kernels(results: Results) -> Iterator[Answer]:
    """Fires when launches cost 3 % of the step and most kernels are shorter than a launch."""
    overview, kernels = results.overview_page, results.kernel_stats
    step, idle = overview.steps.time_ms.mean, results.optional.device_idle
    if not step > 0:
        yield NO_STEPS
        return
    each = kernels_per_step(kernels, overview)
    launching = _waiting_ms(overview, idle, each)
    if launching < NEGLIGIBLE_FRAC * step:
        yield Silence(f"The device waits for launches {launching / step:.1%} of the step.")
        return
    waits = 0.0 if idle is None else sum(row.per_step for row in idle.waits.records())
    if waits >= each:
        yield Silence(
            f"The host waits for the device {waits:,.0f} times a step, and launches {each:,.0f} "
            "kernels: reading, not launching, takes its time."
        )
        return
    everything = kernel_time(kernels, overview)
    tiny = kernel_time(kernels, overview, lambda row: row.avg_duration_us < TINY_US)
    share = tiny.occurrences / everything.occurrences if everything.occurrences else 0.0
    cost = float("nan") if idle is None else launch_calls(idle)[1]
    if share < _MOST_FRAC:
        yield Silence(f"{share:.0%} of the kernels are shorter than {TINY_US:.0f} µs.")
        return
    if cost > SLOW_LAUNCH_US:
        yield Silence(f"A launch takes {cost:.3g} µs: launches, not kernels, are the slow part.")
        return
    # A step of nothing else is too finely cut, however fast its host launches.
    is_recorded = share < _ALL_FRAC and may_be_the_recorders(results, overview)
    found = Finding(
        rule=RULE.id,
        severity="info" if is_recorded else severity_of(launching * share, step),
        saving_ms=launching * share,
        saving_high_ms=launching + share * _between_ms(overview, idle),
        confidence=round(0.8 * overview.steps.confidence, 2),
        message=f"A step runs about {each:,.0f} kernels per device, {share:.0%} of them shorter "
        f"than {TINY_US:.0f} µs (mean {tiny.mean_us:.3g} µs); the device waits {launching:.3g} ms "
        f"of each {step:.3g} ms step for their launches." + (RECORDED if is_recorded else ""),
        measured={
            "kernels_per_step": each,
            "tiny_frac": share,
            "mean_tiny_kernel_us": tiny.mean_us,
            "mean_launch_us": cost,
            "waiting_ms": launching,
        },
        evidence=(
            Ref("kernel_stats", "avg_duration_us", rows=tiny.names[:3]),
            Ref("overview_page", "breakdown_ms.kernel_launch"),
        ),
        actions=_ACTIONS,
        code=_CODE,
    )
    yield loop_within(results.optional.host_activity).behind(found)


_ACTIONS = (
    "Compile the step, so that chains of small kernels become one.",
    "Record the step as a graph and launch that: one call for all kernels.",
    "Use a larger batch if memory allows it: the same launches, more work in each.",
)
_CODE = {
    "tensorflow": "@tf.function(jit_compile=True)\ndef train_step(x, y): ...",
    "jax": "train_step = jax.jit(train_step)  # the whole step, optimizer included",
    "pytorch": "model = torch.compile(model, mode='reduce-overhead')  # CUDA graphs",
}


def _waiting_ms(overview: OverviewPage, idle: DeviceIdle | None, kernels: float) -> float:
    """Time per step that the device waits for launches, and for the ops that make them.

    Args:
        overview: Of the recording.
        idle: Why its devices idle.
        kernels: In a step. An op that takes longer for each than handing it over takes computes on
            the host, or is a library that looks for the best kernel.
    """
    if idle is None:
        return float(overview.breakdown_ms["kernel_launch"])
    causes = {row.cause: float(row.idle_ms) for row in idle.causes.records()}
    # PyTorch runs its ops one by one on the host: their time is the price of a launch, too.
    dispatch = causes["host_compute"] if overview.environment.framework == "PyTorch" else 0.0
    if kernels > 0:
        dispatch = min(dispatch, kernels * _MOST_US / 1000)
    return causes["kernel_launch"] + dispatch


def _between_ms(overview: OverviewPage, idle: DeviceIdle | None) -> float:
    """Idle time of a step in which PyTorch's ops are called: nothing is recorded between them."""
    if idle is None or overview.environment.framework != "PyTorch":
        return 0.0
    return sum(float(row.idle_ms) for row in idle.causes.records() if row.cause == "other")


RULE = Rule(
    id="tiny-kernels",
    check=tiny_kernels,
    needs=("overview_page", "kernel_stats"),
    optional=("device_idle", "compiled_regions", "host_activity"),
    evidence=("driver",),
    parts=("launch", "framework"),
    doc=__doc__ or "",
    change=BATCHED,
    title="Kernels shorter than their launch",
    threshold="waiting for launches ≥ 3 % of the step and half of the kernels < 10 µs",
    symptom_of=("start-up", "small-batch", "eager-execution"),
)
