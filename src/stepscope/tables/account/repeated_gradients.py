"""Gradients of the same forward op that a step computes more than once.

A backward pass for each of several losses, or from each row of one, goes through the layers that
they share again and again. PyTorch's gradients carry the number of their forward op. TensorFlow
names them after it, and counts on where a function computes one again: only the gradient of a
weight tells, as that of an input may be asked for twice for its own sake.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np

from stepscope.columns import distinct_keys, sum_by_key, union_spans
from stepscope.columns.space import I64
from stepscope.tables.account.account import Account
from stepscope.tables.account.owners import CallSite
from stepscope.tables.account.unused_graph import longest_name, place_of
from stepscope.tables.core.interval_overlap import covered
from stepscope.tables.core.presence import entries_named
from stepscope.tables.core.profile import Host
from stepscope.tables.host.events import timed_rows
from stepscope.tables.torch.autograd import numbered_ops

# A gradient of a gradient: penalties on gradients need those of the first pass again.
_HIGHER = re.compile(r"BackwardBackward|gradient_tape/.*gradient_tape/")
_NODE = re.compile(r"(?:^|[:/ ])\w+Backward\d*$")
# In TensorFlow: the scope of a forward op, what its weight's gradient is, and which one.
_OF_WEIGHT = re.compile(
    r"(.*\bgradient_tape/.+)/(?:\w+BackpropFilter(?:V2)?|BiasAddGrad)(?:_(\d+))?(?::\w+)?$"
)
_OF_TAPE = re.compile(r"\bgradient_tape/(.+?)(?:_(\d+))?(?::\w+)?$")


@dataclass(frozen=True, slots=True)
class RepeatedGradients:
    """Gradients that steps compute again.

    Attributes:
        time_ps: Of all but the first time each is computed, in the kept steps.
        ops: How many ran again.
        times: How often those with most of the time are computed, on average.
        op: Of which name most of the time is.
        place: The line of the program that most of it is called from; None unknown.
    """

    time_ps: int
    ops: int
    times: float
    op: str
    place: CallSite | None


def repeated_gradients(host: Host, found: Account) -> RepeatedGradients | None:
    """None where each is computed once, or where gradients of gradients are asked for."""
    if any(map(_HIGHER.search, host.space.event_metadata.name)):
        return None
    rows, group = _of_torch(host)
    if len(rows) == 0:
        rows, group = _of_tensorflow(host)
    steps = found.found
    start, end = steps.start_ps[steps.kept], steps.end_ps[steps.kept]
    begin = host.space.events.start_ps[rows]
    until = begin + host.space.length_ps[rows]
    step = np.searchsorted(start, begin, side="right") - 1
    inside = (step >= 0) & (begin < end[np.maximum(step, 0)])
    rows, begin, until, step = rows[inside], begin[inside], until[inside], step[inside]
    order = np.lexsort((begin, group[inside], step))
    key = np.stack([step[order], group[inside][order]])
    again = np.append(False, (np.diff(key) == 0).all(axis=0))[: len(order)]
    if not again.any():
        return None
    which = order[again]
    spans = union_spans(begin[which], until[which])
    time = int(covered(*spans, start, end).sum())
    length = until[which] - begin[which]
    _first, code = distinct_keys(np.cumsum(~again))
    runs = np.bincount(code)
    spent = sum_by_key(code[again], length, len(runs))
    times = float(np.average(runs, weights=spent)) if spent.any() else float(runs.max())
    name = longest_name(host, rows[which], length)
    return RepeatedGradients(time, len(which), times, name, place_of(found, *spans))


def _of_torch(host: Host) -> tuple[I64, I64]:
    """The nodes of autograd that ran, and which forward op each is of."""
    numbered, names = numbered_ops(host), host.space.event_metadata.name
    is_node = np.asarray([_NODE.search(name) is not None for name in names] or [False])
    of = host.space.events.metadata[numbered.row]
    nodes = np.flatnonzero(numbered.backward & is_node[of])
    # An op and what evaluates it have one number, and each is computed as often.
    _first, code = distinct_keys(of[nodes].astype(np.int64))
    return numbered.row[nodes], numbered.number[nodes] * np.int64(len(_first) or 1) + code


def _of_tensorflow(host: Host) -> tuple[I64, I64]:
    """The ops of tapes that compute some gradient of a weight again, and which op each is of."""
    names = host.space.event_metadata.name
    weights = Counter(told[1] for name in names if (told := _OF_WEIGHT.search(name)))
    if max(weights.values(), default=0) < 2:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    of_name: dict[int, str] = {}
    known = {told[1] for name in names if (told := _OF_TAPE.search(name)) and told[2] is None}
    for entry, name in enumerate(names):
        told = _OF_TAPE.search(name)
        if told is not None and told[1] in known:
            of_name[entry] = told[1]
    rows = timed_rows(host, entries_named(host, lambda name: _OF_TAPE.search(name) is not None))
    listed = sorted(set(of_name.values()))
    number = {name: at for at, name in enumerate(listed)}
    code = np.full(len(names), -1, dtype=np.int64)
    for entry, name in of_name.items():
        code[entry] = number[name]
    group = code[host.space.events.metadata[rows]]
    return rows[group >= 0], group[group >= 0]
