"""Who waits for whom in collectives that run on processors (gloo, MPI), step by step.

Nothing matches such collectives one by one. But all workers leave one together, so the one that
spends the least time in those of a step came last to them, and has at least the transfers in it:
what the others spend more, they wait.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stepscope.columns import distinct
from stepscope.columns.space import F64

if TYPE_CHECKING:
    from stepscope.analysis.pod_viewer import PodViewer

# Parts of a step in which one worker may take longer than the others.
_PARTS = (
    "host_compute_ms",
    "input_ms",
    "output_ms",
    "compilation_ms",
    "host_wait_ms",
    "other_ms",
)


@dataclass(frozen=True, slots=True)
class ProcessorWaits:
    """Means over the counted steps.

    Attributes:
        transfer_ms: At most what transfers take: what the worker that waits least spends in them.
        waited_ms: What the mean worker waits for others.
        last: Host of the worker that comes last in most steps.
        last_frac: In which share of the steps it does.
        caused_ms: What the other workers wait for it, the mean of them in those steps, over all.
        part: The part of the step that is longer by most there, a column of the pod's.
        part_ms: By how much.
    """

    transfer_ms: float
    waited_ms: float
    last: str
    last_frac: float
    caused_ms: float
    part: str
    part_ms: float


def processor_waits(pod: PodViewer) -> ProcessorWaits | None:
    """None where fewer than two processors work in the same counted steps."""
    workers, table = pod.workers, pod.pod
    if len(workers) < 2 or any(kind != "CPU" for kind in workers["device_type"]):
        return None
    kept = np.asarray(table["kept"], dtype=bool)
    who = np.asarray(table["worker"], dtype=np.int64)[kept]
    step = np.asarray(table["step_num"], dtype=np.int64)[kept]
    order = np.lexsort((who, step))
    ranks, nums = distinct(who), distinct(step)
    if len(ranks) < 2 or len(order) != len(ranks) * len(nums):
        return None

    def of(column: str) -> F64:
        values: F64 = np.asarray(table[column], dtype=np.float64)[kept][order]
        by_step: F64 = values.reshape(len(nums), len(ranks))
        return by_step

    spent = of("collective_transfer_ms")
    least = spent.min(axis=1, keepdims=True)
    came_last = spent.argmin(axis=1)
    last = int(np.bincount(came_last).argmax())
    others = np.delete(spent, last, axis=1)
    caused = (others.mean(axis=1) - spent[:, last]) * (came_last == last)
    longer = {}
    for part in _PARTS:
        taken = of(part)
        longer[part] = float((taken[:, last] - np.delete(taken, last, axis=1).mean(axis=1)).mean())
    part = max(longer, key=lambda one: longer[one])
    hosts = dict(zip(who.tolist(), np.asarray(table["host"])[kept].tolist(), strict=True))
    return ProcessorWaits(
        transfer_ms=float(least.mean()),
        waited_ms=float((spent - least).mean()),
        last=hosts[int(ranks[last])],
        last_frac=float((came_last == last).mean()),
        caused_ms=float(caused.mean()),
        part=part,
        part_ms=longer[part],
    )
