"""What the loader's worker processes do while the loop runs: their stacks were sampled, too.

A forked worker has its parent's calls at the bottom of its stack: what makes batches is above the
worker's own loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.columns.space import I64, Bool
from stepscope.schema import names
from stepscope.tables.core.interval_overlap import covered
from stepscope.tables.core.processes import is_of_child
from stepscope.tables.core.profile import Host
from stepscope.tables.python.frames import RECORDER, Frames, Name, linked
from stepscope.tables.python.idle_calls import is_idle
from stepscope.tables.python.moments import one_line
from stepscope.tables.steps.attribution import steps

# Where a process of multiprocessing's begins its own work, whatever its parent had called.
_BEGINS: Final = "multiprocessing", "process.py", "BaseProcess.run"


@dataclass(frozen=True, slots=True)
class WorkerPlace:
    """The line at which workers are most.

    Attributes:
        function, file, line: The program's.
        processes: How many workers are there at times.
        busy_frac: Share of the kept steps in which a worker is there, in the mean of all workers
            that were seen at work.
    """

    function: str
    file: str
    line: int
    processes: int
    busy_frac: float


def worker_place(host: Host) -> WorkerPlace | None:
    """None where no worker was sampled in the program's code in the kept steps."""
    found = steps(host)
    if found is None or not found.kept.any():
        return None
    start, end = found.start_ps[found.kept], found.end_ps[found.kept]
    whole = int((end - start).sum()) or 1
    spent: dict[tuple[str, str, int], list[int]] = {}
    workers = 0
    for line in host.space.lines:
        plane = host.space.planes[line.plane].name
        is_sampled = plane.startswith(names.PYTHON_SAMPLES_PLANE) and is_of_child(plane)
        if not is_sampled or line.name == names.COUNTER_LINE or line.begin == line.end:
            continue
        calls = linked(host, np.arange(line.begin, line.end, dtype=np.int64), is_sampled=True)
        here = _places(calls, start, end)
        workers += bool(here)
        for place, time in here.items():
            spent.setdefault(place, []).append(time)
    if not spent:
        return None
    by_function: dict[tuple[str, str], int] = {}
    for (function, file, _line), times in spent.items():
        by_function[function, file] = by_function.get((function, file), 0) + sum(times)
    function, file = max(by_function, key=lambda one: by_function[one])
    lines = {at: times for at, times in spent.items() if at[:2] == (function, file)}
    at = max(lines, key=lambda one: sum(lines[one]))
    processes = max(map(len, lines.values()))
    return WorkerPlace(*at, processes, by_function[function, file] / workers / whole)


def _places(calls: Frames, start: I64, end: I64) -> dict[tuple[str, str, int], int]:
    """Time in steps that a worker is at each function of the program and its line."""
    works = _of_the_worker(calls) & ~is_idle(calls) & (calls.kind != RECORDER)
    owner = calls.moments.owner
    chosen = np.flatnonzero(works[owner])
    if len(chosen) == 0:
        return {}
    begin, until = calls.moments.start_ps[chosen], calls.moments.end_ps[chosen]
    time = covered(start, end, begin, until)
    own = calls.own[owner[chosen]]
    line = calls.line[owner[chosen]]
    found: dict[tuple[str, str, int], int] = {}
    keys = np.stack([calls.name[own], calls.name[np.where(line >= 0, line, own)]])
    distinct, which = np.unique(keys, axis=1, return_inverse=True)
    sums = np.bincount(which.ravel(), time).astype(np.int64)
    for (function, at), spent in zip(distinct.T.tolist(), sums.tolist(), strict=True):
        if spent:
            where = calls.names[at]
            place = calls.names[function].function, where.file, where.line
            found[place] = found.get(place, 0) + spent
    return found


def _of_the_worker(calls: Frames) -> Bool:
    """Calls in functions of the program that the worker calls, and not its parent."""
    begins = [row for row, one in calls.names.items() if _is_begin(one)]
    parent = one_line(calls.start_ps, calls.length_ps).parent.astype(np.int64)
    below: Bool = np.isin(calls.name, begins)
    while True:
        more = (parent >= 0) & below[np.maximum(parent, 0)] & ~below
        if not more.any():
            break
        below = below | more
    return (calls.own >= 0) & below[np.maximum(calls.own, 0)]


def _is_begin(one: Name) -> bool:
    package, file, function = _BEGINS
    folders = one.file.replace("\\", "/").split("/")
    return one.function == function and folders[-1] == file and package in folders
