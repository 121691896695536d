"""Gradients of the same forward op that a step computes more than once.

A backward pass for each of several losses, or from each row of one, goes through the layers that
they share again and again. PyTorch's gradients carry the number of their forward op. TensorFlow
names them after it, and counts on where a function computes one again: only the gradient of a
weight tells, as that of an input may be asked for twice for its own sake.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from stepscope.columns import distinct_keys, sum_by_key, union_spans
from stepscope.columns.space import I64
from stepscope.tables.account.account import Account
from stepscope.tables.account.owners import CallSite
from stepscope.tables.core.interval_overlap import covered
from stepscope.tables.core.op_name import parse_op_name
from stepscope.tables.core.presence import entries_named
from stepscope.tables.core.profile import Host
from stepscope.tables.host.events import timed_rows
from stepscope.tables.host.tapes import TAPE
from stepscope.tables.parts.gradients.higher import differentiates_gradients
from stepscope.tables.parts.gradients.unused_graph import longest_name, place_of
from stepscope.tables.torch.autograd import numbered_ops
from stepscope.tables.traits.gradient_names import DIGITS, gradient_path, numbered
from stepscope.tables.traits.graph_lines import graph_lines

# Functions of TensorFlow that open a scope for their one op: its number tells which op it is.
# Below any other scope a number only tells one convolution from the next.
_OWN_SCOPES = frozenset(
    (
        *("conv1d", "conv2d", "conv3d", "convolution", "conv2d_transpose", "conv3d_transpose"),
        *("depthwise", "biasadd", "matmul"),
    )
)


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
    """Return None if each is computed once, or gradients are differentiated: they are needed."""
    if differentiates_gradients(host):
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
    place = _asked_at(host, name) or place_of(found.frames, *spans)
    return RepeatedGradients(time, len(which), times, name, place)


def _asked_at(host: Host, op: str) -> CallSite | None:
    """The line that asks for a gradient of a graph's, where the recorder noted it."""
    known = graph_lines(host)
    stack = known.asked(parse_op_name(op).name) if known is not None else ()
    if not stack:
        return None
    caller = next((f"{one.file}:{one.line} {one.function}" for one in stack[1:]), "")
    return CallSite(stack[0].function, stack[0].file, stack[0].line, caller)


def _of_torch(host: Host) -> tuple[I64, I64]:
    """The nodes of autograd that ran, and which forward op each is of."""
    numbered, names = numbered_ops(host), host.space.event_metadata.name
    is_node = np.asarray([*map(_is_node, names), False])
    of = host.space.events.metadata[numbered.row]
    nodes = np.flatnonzero(numbered.backward & is_node[of])
    # An op and what evaluates it have one number, and each is computed as often.
    _first, code = distinct_keys(of[nodes].astype(np.int64))
    return numbered.row[nodes], numbered.number[nodes] * np.int64(len(_first) or 1) + code


def _of_tensorflow(host: Host) -> tuple[I64, I64]:
    """The ops of tapes that compute some gradient of a weight again, and which op each is of."""
    paths = [gradient_path(name) for name in host.space.event_metadata.name]
    bases = {path: base for path in set(paths) if _is_known((base := _base(path))[0])}
    weights = Counter(base for base, _ in bases.values() if _is_of_weight(base))
    if max(weights.values(), default=0) < 2:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    known = {base: at for at, base in enumerate(sorted(set(bases.values())))}
    code = np.asarray(
        [known[bases[path]] if path in bases else -1 for path in paths], dtype=np.int64
    )
    rows = timed_rows(host, entries_named(host, lambda name: TAPE in name))
    group = code[host.space.events.metadata[rows]]
    return rows[group >= 0], group[group >= 0]


# Names are strangers', and may be long: nothing here goes over one more than a few times.


def _is_node(name: str) -> bool:
    """Whether it is a node of autograd: ``MmBackward0``, with any words before it."""
    return name.rstrip(DIGITS).endswith("Backward")


def _base(path: str) -> tuple[str, int]:
    """The gradient that an op computes, and of which factor where it is a product's.

    The number at the end is left out: it counts the times the gradient is asked for. A product has
    two gradients under one name, of either factor in turn.
    """
    base, number = numbered(path)
    # Its last digit tells whether it is even, however many a stranger's name has.
    return base, int(number[-1:] or 0) % 2 if base.endswith("MatMul") else 0


def _is_known(base: str) -> bool:
    """Whether the gradient's number tells how often it is asked for."""
    scope = base.rpartition("/")[0].rpartition("/")[2]
    return numbered(scope)[0].lower() in _OWN_SCOPES


def _is_of_weight(base: str) -> bool:
    return base.endswith(("BackpropFilter", "BackpropFilterV2", "/BiasAddGrad"))
