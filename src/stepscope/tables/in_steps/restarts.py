"""How often the input pipeline is started again: a loader's iterator, or a dataset's, is made.

A loop over epochs does so once for each. Where every step does, the step pays for what was meant
for a whole epoch: a permutation of all samples, new workers, the tracing of a dataset's functions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.columns import union_spans
from stepscope.columns.space import I64
from stepscope.tables.core.interval_overlap import covered
from stepscope.tables.core.presence import entries_named
from stepscope.tables.core.processes import processes
from stepscope.tables.core.profile import Host
from stepscope.tables.host.events import is_data_loader, timed_rows
from stepscope.tables.steps.attribution import steps

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
    """None where no iterator was seen to be made in a kept step."""
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
    named = entries_named(host, lambda name: any(one.search(name) for one in wanted))
    rows = timed_rows(host, named)
    rows = rows[processes(host).of_rows(host, rows) == 0]
    begin = host.space.events.start_ps[rows]
    spans: tuple[I64, I64] = union_spans(begin, begin + host.space.length_ps[rows])
    return spans


def _within_loads(host: Host) -> tuple[I64, I64]:
    """When the order of an epoch was drawn within a loader's calls for a batch."""
    begin, end = _spans(host, _ORDER)
    loads = timed_rows(host, entries_named(host, is_data_loader))
    called = host.space.events.start_ps[loads]
    calls = union_spans(called, called + host.space.length_ps[loads])
    inside = covered(*calls, begin, end) == end - begin
    return begin[inside], end[inside]
