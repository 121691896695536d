"""Devices do unequal work: some are done, or never began, while others still run.

What it checks: the spread of the devices' work per step and of the number of kernels they run;
devices that hardly run anything.
Why it matters: a step ends with its busiest device.
What to do: give each device the same share (of the batch, of the layers, of the table).
When it is wrong: one device has a task of its own on purpose (a parameter server, an evaluator), or
the devices not in use belong to somebody else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from stepscope.advice.evidence.steps import NO_STEPS
from stepscope.advice.parts.changes import EVEN
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Ref

if TYPE_CHECKING:
    from stepscope.analysis.overview_page import OverviewPage
    from stepscope.analysis.pod_viewer import PodViewer

SOME_FRAC = 0.05
# Devices with less than this share of the busiest one's work are not in use.
_UNUSED_FRAC = 0.05
# Kernel counts that differ by less than this are the same program.
_COUNT_FRAC = 0.10
_MIN_STEPS = 3


def unbalanced_devices(results: Results) -> Iterator[Answer]:
    """Fires when equal shares would shorten the busiest device's work by 5 % of the step."""
    overview, pod = results.overview_page, results.pod_viewer
    step = overview.steps.time_ms.mean
    if not step > 0:
        yield NO_STEPS
        return
    work = np.asarray(pod.workers["device_work_ms"], dtype=np.float64)
    if len(work) < 2 or not work.max(initial=0.0) > 0:
        many = overview.environment.device_count
        yield (
            Unknown(f"Only one of the {many} recorded devices works in the counted steps.")
            if many > 1
            else Silence("One device was recorded.")
        )
        return
    excess = float(work.max() - work.mean())
    if excess < SOME_FRAC * step:
        yield Silence(
            f"The busiest device works {excess / step:.1%} of the step longer than the mean one."
        )
        return
    if overview.steps.count < _MIN_STEPS:
        yield Unknown(f"{overview.steps.count} steps are too few to tell what a device does.")
        return
    kernels = results.optional.kernel_stats
    by_device = [] if kernels is None else list(kernels.by_device.records())
    counts = _by_worker({(row.host, row.device): row.occurrences for row in by_device}, pod)
    # A device whose kernels are in the recording but in no step was not idle: its clock is off.
    recorded = _by_worker({(row.host, row.device): row.total_duration_us for row in by_device}, pod)
    idle = _is_small(work) if recorded is None else _is_small(work) & _is_small(recorded)
    unused = int(idle.sum())
    busiest = int(work.argmax())
    more = _more_kernels(counts, busiest)
    if not unused and more is None:
        yield Silence(
            "One device takes longer, but the recording does not show whether it has more to do."
        )
        return
    if not unused and more is not None and more < _COUNT_FRAC:
        yield Silence("Devices run the same kernels; one of them is slower (see straggler).")
        return
    yield _finding(overview, pod, work, unused, more)


def _is_small(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    found: np.ndarray[Any, Any] = values < _UNUSED_FRAC * values.max()
    return found


def _by_worker(
    by_name: Mapping[tuple[str, str], float], pod: PodViewer
) -> np.ndarray[Any, Any] | None:
    """A total of kernel_stats by worker; None where kernels are not known by device."""
    keys = [(row.host, row.device.removeprefix("/device:")) for row in pod.workers.records()]
    found = [by_name.get(key, 0) for key in keys]
    return np.asarray(found, dtype=np.float64) if any(found) else None


def _more_kernels(counts: np.ndarray[Any, Any] | None, busiest: int) -> float | None:
    """By what share the busiest device runs more kernels than the mean of the others."""
    if counts is None:
        return None
    others = np.delete(counts, busiest).mean()
    return float(counts[busiest] / others - 1) if others else float("inf")


def _finding(
    overview: OverviewPage, pod: PodViewer, work: Any, unused: int, more: float | None
) -> Finding:
    step = overview.steps.time_ms.mean
    busiest = list(pod.workers.records())[int(work.argmax())]
    excess = float(work.max() - work.mean())
    place = f"{busiest.device} of {busiest.host}"
    if unused:
        said = f"{unused} of {len(work)} devices run next to nothing; {place} works"
    else:
        said = f"{place} runs {more:.0%} more kernels than the others and works"
    return Finding(
        rule=RULE.id,
        severity=severity_of(excess, step),
        saving_ms=excess,
        confidence=round((0.5 if unused else 0.7) * overview.steps.confidence, 2),
        message=f"{said} {work.max():.3g} ms of each {step:.3g} ms step, the mean device "
        f"{work.mean():.3g} ms.",
        measured={
            "busiest_ms": float(work.max()),
            "mean_ms": float(work.mean()),
            "least_ms": float(work.min()),
            "unused_devices": unused,
            "devices": len(work),
        },
        evidence=(
            Ref("pod_viewer", "workers.device_work_ms", rows=(busiest.device,)),
            Ref("kernel_stats", "by_device"),
        ),
        actions=(
            "Give each device the same number of samples (or tokens), the last batch included.",
            "Place layers by their time, not by their number; put embeddings where there is room.",
            "Hide devices that are not to be used (CUDA_VISIBLE_DEVICES).",
        ),
        code={
            "tensorflow": "with tf.distribute.MirroredStrategy().scope():\n    model = build()",
            "jax": "x = jax.device_put(x, NamedSharding(mesh, PartitionSpec('data')))",
            "pytorch": "sampler = DistributedSampler(dataset, drop_last=True)",
        },
    )


RULE = Rule(
    id="unbalanced-devices",
    check=unbalanced_devices,
    needs=("overview_page", "pod_viewer"),
    optional=("kernel_stats",),
    evidence=("device",),
    parts=("collective",),
    doc=__doc__ or "",
    change=EVEN,
    title="Devices do unequal work",
    threshold="busiest device - mean ≥ 5 % of the step, with more kernels or idle devices",
)
