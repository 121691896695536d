"""What autograd tells of PyTorch's ops: what each gradient is of, and what has none.

Without Python's calls it is all that tells a model from what runs beside it: the ops have the same
names.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import numpy as np

from stepscope.columns import innermost
from stepscope.columns.space import I32, I64, Bool
from stepscope.tables.core.distinct_rows import distinct_rows
from stepscope.tables.core.presence import entries_named
from stepscope.tables.core.profile import Host
from stepscope.tables.torch.autograd import numbered_ops
from stepscope.tables.traits.op_families import PRODUCTS, family_of
from stepscope.tables.traits.updates import is_update

#: Between a gradient and the op that the program called.
GRADIENT_OF: Final = ", the gradient of "
#: Ends where ops lie of a model's pass that no gradient goes through.
APART: Final = "a pass without gradients"

Labels = list[tuple[str, str]]

# A checkpointed pass has no numbers, and runs again, numbered, for its gradients.
_CHECKPOINT: Final = re.compile(r"Checkpoint\w{0,60}Backward")


def by_gradients(
    host: Host, rows: I64, is_op: Bool, label: I64, within: I32, labels: Labels
) -> I32:
    """The labels of what events lie in, with what autograd tells of it.

    Args:
        host: Of the events.
        rows: Events of one line.
        is_op: Whether each is an op.
        label: Of each event, -1 none.
        within: Label of the outermost op that each lies in, -1 none.
        labels: (name, type) of each label; those that are new are added.
    """
    line = int(host.space.lines_of(rows[:1])[0])
    thread, start = host.space.lines[line].id, host.space.events.start_ps[rows]
    found = within.copy()
    inside = np.flatnonzero(within >= 0)
    called = numbered_ops(host).called_for(thread, start[inside])
    inside, called = inside[called >= 0], called[called >= 0]
    meta, texts = host.space.events.metadata[called].astype(np.int64), host.space.event_metadata
    _relabel(
        found, inside, meta, labels, lambda outer, op: f"{outer}{GRADIENT_OF}{_op(texts.name[op])}"
    )
    chosen = _in_passes(host, thread, start, is_op, label, labels)
    plain = np.zeros(len(chosen), dtype=np.int64)
    _relabel(
        found, chosen, plain, labels, lambda outer, _: f"{outer}, in {APART}" if outer else APART
    )
    return found


# A pass of a model has so many products; a metric has fewer.
_PRODUCTS: Final = 2


def _in_passes(host: Host, thread: int, start: I64, is_op: Bool, label: I64, labels: Labels) -> I64:
    """Ops of passes without gradients: between two ops that have one, with products among them."""
    updates = np.asarray([is_update(type_) for _, type_ in labels] or [False])
    products = np.asarray([family_of(type_) in PRODUCTS for _, type_ in labels] or [False])
    ops = np.flatnonzero(is_op)
    free = _without_gradient(host, thread, start[ops]) & ~updates[label[ops]]
    edges = np.flatnonzero(np.diff(free, prepend=False, append=False))
    begin, end = edges[::2], edges[1::2]
    count = np.append(0, np.cumsum(products[label[ops]]))
    is_pass = count[end] - count[begin] >= _PRODUCTS
    inside = np.zeros(len(ops) + 1, dtype=np.int64)
    np.add.at(inside, begin[is_pass], 1)
    np.add.at(inside, end[is_pass], -1)
    chosen: I64 = ops[np.cumsum(inside)[:-1] > 0]
    return chosen


def _relabel(
    found: I32, chosen: I64, about: I64, labels: Labels, say: Callable[[str, int], str]
) -> None:
    """Give chosen events labels that say more, one for each pair of label and code."""
    if len(chosen) == 0:
        return
    first, code = distinct_rows([found[chosen], about])
    told = [(int(found[chosen[at]]), int(about[at])) for at in first.tolist()]
    found[chosen] = len(labels) + code
    labels += [(say(labels[outer][0] if outer >= 0 else "", op), "") for outer, op in told]


def _op(name: str) -> str:
    return name.partition(":")[0]


def _without_gradient(host: Host, thread: int, times: I64) -> Bool:
    """Whether what a thread does at each time is in no op that autograd differentiates.

    Under ``torch.no_grad`` ops have no number of autograd. Where gradients are on, what needs none,
    such as a frozen model or a constant, notes the number of the next op that does.

    All false where nothing is differentiated, or passes run again for their gradients. What
    begins after the last gradient may belong to a step that the recording cut.
    """
    ops = numbered_ops(host)
    if not ops.backward.any() or _is_checkpointed(host):
        return np.zeros(len(times), dtype=bool)
    with_one = ops.backward.copy()
    with_one[ops.differentiated()] = True
    mine = with_one & (ops.thread == thread)
    apart = innermost(ops.start_ps[mine], ops.end_ps[mine], times) < 0
    result: Bool = apart & (times < ops.start_ps[ops.backward].max())
    return result


def _is_checkpointed(host: Host) -> bool:
    named = entries_named(host, lambda name: _CHECKPOINT.search(name) is not None)
    return bool(named.any())
