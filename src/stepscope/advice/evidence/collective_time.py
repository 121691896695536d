"""What communication costs a worker's step, for the rules about collectives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stepscope.advice.evidence.processor_waits import processor_waits

if TYPE_CHECKING:
    from stepscope.analysis.pod_viewer import PodViewer


@dataclass(frozen=True, slots=True)
class CollectiveTime:
    """Means over the workers, per step.

    Attributes:
        exposed_ms: Transfers that the step waits for.
        hidden_ms: Transfers behind other work.
        waited_ms: Waits for the last worker to arrive.
        work_ms: Compute and copies of the device; the host's compute where there is none.
        per_step: Collectives in a step.
        transfer_us: Mean transfer of one.
        longest: Name of the collective with the most time in transfers; "" when none matched.
        on_host: Whether the workers are processors, which nothing matches.
        is_matched: Whether the collectives of several workers are in the recording. Where not,
            waits for workers that were not recorded count as transfers.
    """

    exposed_ms: float
    hidden_ms: float
    waited_ms: float
    work_ms: float
    per_step: float
    transfer_us: float
    longest: str
    on_host: bool
    is_matched: bool

    @property
    def confidence(self) -> float:
        """0–1, how much is known of the other workers."""
        return 1.0 if self.is_matched else 0.5

    @property
    def transfer_ms(self) -> float:
        """All transfers, exposed and hidden."""
        return self.exposed_ms + self.hidden_ms


def collective_time(pod: PodViewer) -> CollectiveTime:
    """Communication of the mean worker in the mean step, from pod_viewer."""
    workers, table = pod.workers, list(pod.collective_table.records())
    count = sum(row.occurrences for row in table)
    time_ms = {row.name: row.occurrences * row.transfer_mean_ms for row in table}
    steps = len(pod.step_nums)
    on_host = bool(len(workers)) and all(kind == "CPU" for kind in workers["device_type"])
    work = pod.pod["host_compute_ms"] if on_host else workers["device_work_ms"]
    apart = processor_waits(pod) if on_host and not table else None
    return CollectiveTime(
        exposed_ms=apart.transfer_ms if apart is not None else _mean(workers["transfer_ms"]),
        hidden_ms=_mean(workers["hidden_transfer_ms"]),
        waited_ms=apart.waited_ms if apart is not None else _mean(workers["waited_ms"]),
        work_ms=_mean(work),
        per_step=count / steps if steps else 0.0,
        transfer_us=sum(time_ms.values()) * 1000 / count if count else float("nan"),
        longest=max(time_ms, key=lambda name: time_ms[name]) if time_ms else "",
        on_host=on_host,
        is_matched=bool(table),
    )


def _mean(values: Any) -> float:
    found = np.asarray(values, dtype=np.float64)
    return float(found.mean()) if len(found) else 0.0
