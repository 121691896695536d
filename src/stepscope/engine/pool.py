"""In processes of this machine: a file that crashes its reader costs no other file its answer.

A process that is killed (most often by the system, for its memory) breaks the whole pool, and
nothing says which item it had. All that were under way are then tried once more, one at a time: who
breaks the pool twice while alone is the culprit, and failed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

from stepscope.engine.outcome import Done, Failed, Outcome, describe_error
from stepscope.kernels.cores import cores

# A process has this long to end by itself.
_END_SECONDS = 5.0
_KILLED = "The process that read it was killed, twice; most likely there is too little memory."


def run_in_processes(
    items: Sequence[Any],
    work: Callable[[Any], Any],
    bytes_of: Callable[[Any], int],
    budget_bytes: int,
    width: int,
) -> Iterator[Outcome[Any, Any]]:
    """Run as many items at once as processors and the budget allow."""
    pending = deque(items)
    doubtful: deque[Any] = deque()
    kills: dict[int, int] = {}  # by item: how often its process was killed while no other ran
    width = width or cores()
    pool = _Pool(width)
    try:
        while pending or doubtful or pool.running:
            while pending and not doubtful and pool.has_room(bytes_of, pending[0], budget_bytes):
                if not pool.submit(work, pending[0]):
                    break
                pending.popleft()
            if doubtful and not pool.running and pool.submit(work, doubtful[0]):
                doubtful.popleft()
            if not pool.running:  # broken after its last answer
                pool.renew()
                continue
            broken = []
            for future in pool.finished():
                item = pool.running.pop(future)
                try:
                    yield Done(item, future.result())
                except BrokenProcessPool:
                    broken.append(item)
                except Exception as error:
                    yield Failed(item, describe_error(error))
            if broken:
                broken += pool.running.values()
                pool.renew()
                if len(broken) == 1:
                    kills[id(broken[0])] = kills.get(id(broken[0]), 0) + 1
                gone = [item for item in broken if kills.get(id(item), 0) > 1]
                doubtful.extend(item for item in broken if item not in gone)
                for item in gone:
                    yield Failed(item, _KILLED)
    finally:
        pool.stop()


class _Started(SpawnContext):
    """Starts new processes, and knows which: fork would copy locks of threads that are gone."""

    def __init__(self) -> None:
        self.processes: list[SpawnProcess] = []

    def Process(self, *args: Any, **more: Any) -> SpawnProcess:  # type: ignore[override]  # a class that the executor calls
        made = SpawnProcess(*args, **more)
        self.processes.append(made)
        return made


class _Pool:
    """Processes, and which items they have."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._renewed()
        self.running: dict[Future[Any], Any] = {}

    def _renewed(self) -> None:
        self.started = _Started()
        self._executor = ProcessPoolExecutor(self._width, mp_context=self.started)

    def has_room(self, bytes_of: Callable[[Any], int], item: Any, budget_bytes: int) -> bool:
        if len(self.running) >= self._width:
            return False
        needed = sum(map(bytes_of, self.running.values())) + bytes_of(item)
        return not self.running or not budget_bytes or needed <= budget_bytes

    def submit(self, work: Callable[[Any], Any], item: Any) -> bool:
        """Whether a process has it now; false where one was killed, and all are gone."""
        try:
            self.running[self._executor.submit(work, item)] = item
        except BrokenProcessPool:
            return False
        return True

    def finished(self) -> list[Future[Any]]:
        return list(wait(self.running, return_when=FIRST_COMPLETED).done)

    def renew(self) -> None:
        self.stop()
        self.running.clear()
        self._renewed()

    def stop(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)
        # A process that was started while another's death broke the pool is asked for nothing and
        # told nothing: the executor would never stop waiting for it.
        for one in self.started.processes:
            if one.pid is not None:
                one.join(_END_SECONDS)
                one.terminate()
                one.join()
        self._executor.shutdown(wait=True)


ENGINE = run_in_processes
