"""What the optimizer does in a step: how many ops it dispatches, and how long it takes.

PyTorch marks each call as ``Optimizer.step#Adam.step``; TensorFlow and Keras name the ops after
the optimizer ("adam/mul_3"). One update for each variable is hundreds of small ops.
"""

from __future__ import annotations

import re
from math import nan
from typing import Final

import numpy as np

from stepscope.columns import distinct, median, rows_of, union_spans
from stepscope.columns.space import I64, Bool
from stepscope.records import dataclass
from stepscope.tables.core.presence import entries_shaped
from stepscope.tables.core.profile import Host
from stepscope.tables.core.regions import is_of_backward
from stepscope.tables.core.time_spans import covered
from stepscope.tables.host.events import on_host_threads, timed_rows
from stepscope.tables.host.ops import host_ops
from stepscope.tables.in_steps.host_activity import HostTime, host_time, torch_dispatches
from stepscope.tables.steps.attribution import steps

_STEP_OF_TORCH = re.compile(r"Optimizer\.step#(\w+?)(?:\.step)?$")
_SCOPE = re.compile(
    r"(?:^|/)(adam\w*|nadam|sgd|rmsprop|adagrad|adadelta|ftrl|lion|lamb|adafactor)(?:_\d+)?/",
    re.IGNORECASE,
)
# What optimizers with a closure (LBFGS) do within their step: the model's work, not theirs.
#: Up to this time an op is mostly overhead.
SHORT_PS: Final = 100_000_000
_TOGETHER = re.compile(r"(?:^|[/:_])(?:_foreach_|_fused_|_multi_tensor)")

# Of a loop that updates more seldom most steps are of another kind.
_MOST_FRAC: Final = 0.8


@dataclass(frozen=True, slots=True)
class OptimizerUpdates:
    """The updates of one optimizer in the kept steps.

    Attributes:
        optimizer: Its name.
        ops: Ops it dispatched.
        time_ps: Σ time of its calls; of a graph's ops, the time in which one of them ran.
        short_ps: Of that, while no op that takes longer than ``SHORT_PS`` ran: what many small
            ops cost, their dispatch included, and large ones do not.
        op_ps: Median length of an op: what other programs on the machine do does not move it.
        is_together: Whether it updates variables in groups (foreach, fused).
    """

    optimizer: str
    ops: int
    time_ps: int
    short_ps: int
    op_ps: int
    is_together: bool


def optimizer_updates(host: Host) -> tuple[OptimizerUpdates, ...]:
    """By time, the longest first; empty where no optimizer is named."""
    time = host_time(host)
    if time is None:
        return ()
    found = [*_torch_updates(host, time), *_graph_updates(host, time)]
    return tuple(sorted(found, key=lambda one: (-one.time_ps, one.optimizer)))


def _torch_updates(host: Host, time: HostTime) -> list[OptimizerUpdates]:
    space = host.space
    named = [step_of_torch(text) for text in space.event_metadata.name]
    backward = entries_shaped(host, is_of_backward)
    evaluated = rows_of(space.events.metadata, backward)
    found = []
    for name in sorted({one for one in named if one}):
        rows = timed_rows(host, np.asarray([one == name for one in named]))
        rows = rows[on_host_threads(host)[rows]]
        spans = union_spans(space.events.start_ps[rows], _ends(host, rows))
        if len(_within(host, evaluated, spans)):
            continue
        found.append(
            _updates(host, time, name, _within(host, torch_dispatches(host), spans), spans)
        )
    return [one for one in found if one.ops]


def step_of_torch(text: str) -> str:
    """The optimizer whose step an event of this name is; "" for others."""
    said = _STEP_OF_TORCH.match(text)
    return said.group(1) if said is not None else ""


def optimizer_scope(op: str) -> str:
    """The optimizer that an op of a graph is named after; "" for others."""
    said = _SCOPE.search(op)
    return said.group(1) if said is not None else ""


def _graph_updates(host: Host, time: HostTime) -> list[OptimizerUpdates]:
    ops = host_ops(host)
    scopes = [optimizer_scope(op.name) for op in ops.ops]
    found = []
    for name in sorted({one for one in scopes if one}):
        mine: Bool = np.asarray([one == name for one in scopes])[ops.op] & ops.is_execution
        rows = ops.rows[mine]
        spans = union_spans(host.space.events.start_ps[rows], _ends(host, rows))
        found.append(_updates(host, time, name, rows, spans))
    return [one for one in found if one.ops]


def _updates(
    host: Host, time: HostTime, name: str, ops: I64, spans: tuple[I64, I64]
) -> OptimizerUpdates:
    events = host.space.events
    start = events.start_ps[ops]
    place = np.searchsorted(time.start_ps, start, side="right") - 1
    inside = (place >= 0) & (start < time.end_ps[np.maximum(place, 0)])
    used = distinct(events.metadata[ops[inside]]).tolist()
    texts = [host.space.event_metadata.name[row] for row in used]
    length = host.space.length_ps[ops]
    large = ops[length > SHORT_PS]
    without = union_spans(events.start_ps[large], _ends(host, large))
    whole = int(covered(*spans, time.start_ps, time.end_ps).sum())
    return OptimizerUpdates(
        optimizer=name,
        ops=int(inside.sum()),
        time_ps=whole,
        short_ps=max(whole - int(covered(*without, time.start_ps, time.end_ps).sum()), 0),
        op_ps=int(median(length[inside])) if inside.any() else 0,
        is_together=any(_TOGETHER.search(text) for text in texts),
    )


def _ends(host: Host, rows: I64) -> I64:
    ends: I64 = host.space.events.start_ps[rows] + host.space.length_ps[rows]
    return ends


def _within(host: Host, rows: I64, spans: tuple[I64, I64]) -> I64:
    """The rows that begin in one of the disjoint ascending spans."""
    if not len(spans[0]):
        return rows[:0]
    start = host.space.events.start_ps[rows]
    place = np.searchsorted(spans[0], start, side="right") - 1
    inside = (place >= 0) & (start < spans[1][np.maximum(place, 0)])
    return rows[inside]


def after_update_frac(host: Host) -> float:
    """How much of the kept steps comes after their optimizer's last update.

    Then the step's training is done: what still runs are previews, metrics, averages of weights.
    It is all that a recording without lines knows of where in the loop an op is. NaN where no step
    is marked, or few have an update of PyTorch's.

    Steps that were found by their updates begin and end there, which says nothing.
    """
    found = steps(host)
    if found is None or found.markers.source != "markers" or not found.kept.any():
        return nan
    start, end = found.start_ps[found.kept], found.end_ps[found.kept]
    space = host.space
    named = entries_shaped(host, lambda name: bool(step_of_torch(name)))
    rows = np.flatnonzero(named[space.events.metadata])
    done = np.sort(space.events.start_ps[rows] + space.length_ps[rows])
    if len(done) == 0:
        return nan
    last = np.searchsorted(done, end, side="right") - 1
    has = (last >= 0) & (done[np.maximum(last, 0)] > start)
    if has.mean() < _MOST_FRAC:
        return nan
    return float((end - done[np.maximum(last, 0)])[has].sum() / (end - start)[has].sum())
