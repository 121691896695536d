"""On a Ray cluster: one task an item (extra ``pods``).

RAY_ADDRESS, or a cluster on this machine, is found by Ray itself; without one a local one is begun.
A lost worker or node costs the items it had.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from stepscope.engine.outcome import Done, Failed, Outcome, describe_error
from stepscope.errors import UsageError

# Runs of one item: the first, and two more if its worker or node is lost.
_RETRIES = 2
# Processes give memory back by ending.
_ITEMS_OF_A_PROCESS = 50
_AHEAD = 2


def run_on_ray(
    items: Sequence[Any],
    work: Callable[[Any], Any],
    bytes_of: Callable[[Any], int],
    budget_bytes: int,
    width: int,
) -> Iterator[Outcome[Any, Any]]:
    """Run items as tasks, twice as many under way as there are slots."""
    ray = _connected()
    task = ray.remote(
        num_cpus=1,
        max_retries=_RETRIES,
        retry_exceptions=[OSError, TimeoutError],
        max_calls=_ITEMS_OF_A_PROCESS,
        scheduling_strategy="SPREAD",
    )(work)
    pending = deque(items)
    running: dict[Any, Any] = {}
    try:
        while pending or running:
            slots = width or max(int(ray.cluster_resources().get("CPU", 1)), 1)
            while pending and len(running) < _AHEAD * slots:
                needed = sum(map(bytes_of, running.values())) + bytes_of(pending[0])
                if running and budget_bytes and needed > budget_bytes:
                    break
                item = pending.popleft()
                running[task.options(memory=bytes_of(item)).remote(item)] = item
            ready, _ = ray.wait(list(running), num_returns=1)
            for reference in ready:
                item = running.pop(reference)
                try:
                    yield Done(item, ray.get(reference))
                except Exception as error:  # of the work, or of Ray where a worker is lost for good
                    yield Failed(item, describe_error(getattr(error, "cause", None) or error))
    finally:
        for reference in running:
            ray.cancel(reference, force=True)


def _connected() -> Any:
    """Ray, connected to a cluster."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it reports home by default
    try:
        import ray
    except ImportError as error:
        raise UsageError(
            "The engine 'ray' needs Ray.",
            why=str(error),
            hint="pip install 'stepscope[pods]', or take --engine pool.",
            slug="ray-extra",
        ) from error
    if not ray.is_initialized():
        ray.init(log_to_driver=False, configure_logging=False, include_dashboard=False)
    return ray


ENGINE = run_on_ray
