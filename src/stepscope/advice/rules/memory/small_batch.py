"""The batch is small: fixed costs of each step weigh heavily, and memory is free.

What it checks: how much of the device's memory is in use at the peak, and how much of the step the
device waits for the host's launches and ops, whose time hardly grows with the batch.
Why it matters: twice the batch pays these costs half as often, at the same memory per sample.
What to do: enlarge the batch until memory is well used, and scale the learning rate with it.
When it is wrong: the batch is what the model needs to converge, the requests of a server come one
by one, or the allocator was given only part of the memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from stepscope.advice.evidence.device_memory import device_memories
from stepscope.advice.evidence.steps import NO_STEPS, WINDOW, is_window
from stepscope.advice.parts.changes import BATCHED
from stepscope.advice.results import Results
from stepscope.registry import NEGLIGIBLE_FRAC, Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Ref

if TYPE_CHECKING:
    from stepscope.analysis.device_idle import DeviceIdle
    from stepscope.analysis.overview_page import OverviewPage

# Below this use the batch could at least double.
FULL_FRAC = 0.40
# What the host does per step whatever the batch, and the least share of the step it must take.
# Python between the ops is left out: what it does may well grow with the batch.
_FIXED = ("kernel_launch", "host_compute")
_FIXED_FRAC = 0.15
# Copies to the device with this share of the step: the host prepares them before, for as long.
_SENT_FRAC = 0.05


def small_batch(results: Results) -> Iterator[Answer]:
    """Fires when 60 % of the memory is free and fixed costs idle the device 15 % of the step."""
    overview, idle = results.overview_page, results.device_idle
    step = overview.steps.time_ms.mean
    memories = device_memories(results.memory_profile)
    if not step > 0 or not idle.step_count:
        yield NO_STEPS
        return
    if is_window(overview):
        yield WINDOW
        return
    if not memories:
        yield Unknown("No allocator of a device says how much memory it may use.")
        return
    fullest = memories[0]
    if fullest.used_frac >= FULL_FRAC:
        yield Silence(f"{fullest.used_frac:.0%} of {fullest.name} is in use at the peak.")
        return
    fixed = min(_idle_ms(idle), _least_ms(overview))
    if (why := _grows(overview, fixed, step)) is not None:
        yield why
        return
    # As often as the batch fits into the memory, in doublings that leave a tenth free.
    times = max(int(0.9 / fullest.used_frac) if fullest.used_frac else 64, 2)
    times = 1 << min(times.bit_length() - 1, 6)
    saving = fixed / 2
    yield Finding(
        rule=RULE.id,
        severity=severity_of(saving, step) if saving >= NEGLIGIBLE_FRAC * step else "info",
        saving_ms=saving,
        saving_high_ms=fixed * (1 - 1 / times),
        confidence=round(0.5 * overview.steps.confidence, 2),
        message=f"At most {fullest.used_frac:.1%} of {fullest.name} is in use, and costs "
        f"that do not grow with the batch idle the device {fixed:.3g} ms of each {step:.3g} ms "
        f"step: twice the batch saves {saving:.3g} ms for each batch of today's size.",
        measured={
            "peak_bytes": fullest.peak_bytes,
            "capacity_bytes": fullest.capacity_bytes,
            "fixed_ms": fixed,
            "batch_times": times,
        },
        evidence=(
            Ref("memory_profile", "memories.peak_bytes", rows=(fullest.id,)),
            Ref("device_idle", "causes"),
        ),
        actions=(
            f"Try 2 times the batch first; memory would hold up to about {times} times.",
            "Scale the learning rate with the batch, and warm it up.",
            "If the batch must stay small, launch several steps at once (steps_per_execution, "
            "lax.scan over batches).",
        ),
        code={
            "tensorflow": "ds = ds.batch(2 * batch_size)\n"
            "model.compile(..., steps_per_execution=16)",
            "jax": "state, losses = jax.lax.scan(train_step, state, batches)",
            "pytorch": "DataLoader(dataset, batch_size=2 * batch_size)",
        },
    )


def _grows(overview: OverviewPage, fixed_ms: float, step_ms: float) -> Silence | None:
    """Why a larger batch would not spread what the host does; None where it would."""
    sent = overview.breakdown_ms["host_to_device"]
    if sent >= _SENT_FRAC * step_ms:
        return Silence(
            f"The host sends data to the device for {sent / step_ms:.0%} of the step: what it "
            "spends on that grows with the batch."
        )
    if fixed_ms < _FIXED_FRAC * step_ms:
        return Silence(
            f"Memory is free, but costs per step that a larger batch would spread take only "
            f"{fixed_ms / step_ms:.1%} of the step."
        )
    return None


def _idle_ms(idle: DeviceIdle) -> float:
    """Idle time of the devices per step while the host does what no batch size changes."""
    return sum(row.idle_ms for row in idle.causes.records() if row.cause in _FIXED)


def _least_ms(overview: OverviewPage) -> float:
    """What every step pays, whatever else some steps do: what the tenth with the least pays."""
    table = overview.step_table
    kept = np.asarray(table["kept"], dtype=np.bool_)
    columns = [np.asarray(table[f"{name}_ms"], dtype=np.float64) for name in _FIXED]
    spent = np.sum(columns, axis=0)[kept]
    return float(np.percentile(spent, 10, method="lower")) if len(spent) else 0.0


RULE = Rule(
    id="small-batch",
    check=small_batch,
    needs=("overview_page", "device_idle", "memory_profile"),
    doc=__doc__ or "",
    change=BATCHED,
    title="The batch is small and memory is free",
    threshold="peak memory < 40 % and the device waits for the host ≥ 15 % of the step",
    symptom_of=("slow-launches", "host-waits", "eager-execution"),
)
