"""What the program's loaders do while the loop runs: their worker processes, and new iterators.

The stacks of worker processes were sampled, too.
A forked worker has its parent's calls at the bottom of its stack: what makes batches is above the
worker's own loop.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from stepscope.columns import union_spans
from stepscope.columns.space import I64, Bool, Line
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.core.presence import entries_shaped
from stepscope.tables.core.processes import is_of_child, processes
from stepscope.tables.core.profile import Host
from stepscope.tables.core.time_spans import covered
from stepscope.tables.host.events import is_data_loader, timed_rows
from stepscope.tables.python.frames import Frames, Name, linked
from stepscope.tables.steps.attribution import steps

if TYPE_CHECKING:
    from stepscope.tables.python.other_threads import Spans

# The loops of PyTorch's workers, and of the pools that other loaders have.
_LOOPS: Final = (
    ("torch/utils/data/_utils/worker.py", "_worker_loop"),
    ("multiprocessing/pool.py", "worker"),
    ("concurrent/futures/process.py", "_process_worker"),
)

# TensorFlow's op that makes a dataset's iterator, with those of its stages in it; inner datasets,
# as of an interleave, get theirs within ``Iterator::…``, on other threads.
_DATASET: Final = re.compile(r"^(?:Eager(?:Local)?Execute: )?MakeIterator(?:::RootDataset)?$")
# PyTorch's functions, as each recorder of Python writes them: the loader's ``__iter__`` makes an
# iterator, which begins the sampler's.
_LOADER: Final = re.compile(r"dataloader\.py(?:\(\d+\):|:\d+) (?:DataLoader\.)?__iter__$")
_SAMPLER: Final = re.compile(r"sampler\.py(?:\(\d+\):|:\d+) (?:\w+\.)?__iter__$")
# Without Python, the order of an epoch is drawn within the loader's first call.
_ORDER: Final = re.compile(r"^(?:aten::|aten/)randperm")


@dataclass(frozen=True, slots=True)
class WorkerPlace:
    """The line at which workers are most.

    Attributes:
        function: Function of the program in which the workers are.
        file: File of that function.
        line: Line of that function.
        processes: Maximum number of concurrent workers seen in the function.
        busy_frac: Mean share of the kept steps in which a working process is in the function.
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
    during = found.start_ps[found.kept], found.end_ps[found.kept]
    workers = [(line.label, _calls(host, line)) for line in host.space.lines if _is_of(host, line)]
    if not workers:
        return None
    from stepscope.tables.python.other_threads import busiest, stays

    seen = [
        (number, one)
        for number, (name, calls) in enumerate(workers)
        for one in stays([(name, calls)], [_works(calls)], during)
    ]
    if not seen:
        return None
    most = busiest([one for _number, one in seen])
    at = most.function, most.file
    lives = {number: _life(workers[number][1]) for number, _one in seen}
    there = {number for number, one in seen if (one.function, one.file) == at}
    whole = sum(int(covered(*life, *during).sum()) for life in lives.values()) or 1
    return WorkerPlace(
        most.function,
        most.file,
        most.line,
        _most_concurrent([lives[number] for number in there]),
        most.spent_ps / whole,
    )


def _life(calls: Frames) -> Spans:
    """From when until when a worker was sampled."""
    start, end = calls.moments.start_ps[:1], calls.moments.end_ps[-1:]
    return start, end


def _most_concurrent(lives: Sequence[Spans]) -> int:
    start, end = (np.sort(np.concatenate([life[side] for life in lives])) for side in (0, 1))
    over = np.searchsorted(end, start, side="right")
    return int((np.arange(1, len(start) + 1) - over).max(initial=0))


def _is_of(host: Host, line: Line) -> bool:
    """Whether a line has samples of a child process."""
    plane = host.space.planes[line.plane].name
    is_sampled = plane.startswith(names.PYTHON_SAMPLES_PLANE) and is_of_child(plane)
    return is_sampled and line.name != names.COUNTER_LINE and line.begin < line.end


def _calls(host: Host, line: Line) -> Frames:
    return linked(host, np.arange(line.begin, line.end, dtype=np.int64), is_sampled=True)


def _works(calls: Frames) -> Bool:
    """Calls in functions of the program that the worker's loop calls, and not its parent."""
    from stepscope.tables.python.other_threads import below, works

    made = below(calls, calls.named(_is_loop))
    return (calls.own >= 0) & made[np.maximum(calls.own, 0)] & works(calls)


def _is_loop(one: Name) -> bool:
    file = "/" + one.file.replace("\\", "/")
    return any(
        file.endswith("/" + known) and one.function == function for known, function in _LOOPS
    )


@dataclass(frozen=True, slots=True)
class Restarts:
    """How the kept steps start their input pipeline.

    Attributes:
        kind: "DataLoader" or "tf.data".
        count: Iterators made in all kept steps.
        time_ps: What making them takes in all kept steps; of a DataLoader the order's drawing, too.
    """

    kind: str
    count: int
    time_ps: int


def restarts(host: Host) -> Restarts | None:
    """How often a loader's iterator, or a dataset's, is made in the kept steps; None for never.

    A loop over epochs does so once for each. Where every step does, the step pays for what was
    meant for a whole epoch: a permutation of all samples, new workers, the tracing of a dataset's
    functions.
    """
    found = steps(host)
    if found is None or not found.kept.any():
        return None
    start, end = found.start_ps[found.kept], found.end_ps[found.kept]
    for kind, makes, spends in (
        ("tf.data", _spans(host, _DATASET), _spans(host, _DATASET)),
        ("DataLoader", _spans(host, _LOADER), _spans(host, _LOADER, _SAMPLER)),
        ("DataLoader", *2 * (_within_loads(host),)),
    ):
        at = np.searchsorted(end, makes[0], side="right")
        known = at < len(start)
        count = int((makes[0][known] >= start[at[known]]).sum())
        if count:
            return Restarts(kind, count, int(covered(*spends, start, end).sum()))
    return None


def _spans(host: Host, *wanted: re.Pattern[str]) -> tuple[I64, I64]:
    """When any of these ran in the program's first process; disjoint, ascending.

    A forked worker has the call that started it at the bottom of its stack, for all its life.
    """
    named = entries_shaped(host, lambda name: any(one.search(name) for one in wanted))
    rows = timed_rows(host, named)
    rows = rows[processes(host).of_rows(host, rows) == 0]
    begin = host.space.events.start_ps[rows]
    spans: tuple[I64, I64] = union_spans(begin, begin + host.space.length_ps[rows])
    return spans


def _within_loads(host: Host) -> tuple[I64, I64]:
    """When the order of an epoch was drawn within a loader's calls for a batch."""
    begin, end = _spans(host, _ORDER)
    loads = timed_rows(host, entries_shaped(host, is_data_loader))
    called = host.space.events.start_ps[loads]
    calls = union_spans(called, called + host.space.length_ps[loads])
    inside = covered(*calls, begin, end) == end - begin
    return begin[inside], end[inside]
