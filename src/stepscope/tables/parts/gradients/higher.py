"""Whether a program asks for gradients of gradients: penalties, forces, residuals of equations."""

from __future__ import annotations

import numpy as np

from stepscope.columns import distinct, union_spans
from stepscope.columns.space import I64, Bool
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.host.tapes import TAPE
from stepscope.tables.torch.autograd import NumberedOps, numbered_ops

# With this share of all nodes in what a backward pass has computed, gradients are differentiated.
# Ops within one that is not to be differentiated note the number that the next op will take.
_OF_GRADIENTS_FRAC = 0.1


@derived
def differentiates_gradients(host: Host) -> bool:
    """By the names of ops, or by the numbers that PyTorch's autograd gives them."""
    return any(map(_is_higher, host.space.event_metadata.name)) or _goes_through_gradients(host)


def _is_higher(name: str) -> bool:
    """A gradient of a gradient: penalties on gradients need those of the first pass again."""
    return "BackwardBackward" in name or name.count(TAPE) > 1


def _goes_through_gradients(host: Host) -> bool:
    """Whether PyTorch's backward passes go through ops that ran within one (``create_graph``)."""
    numbered = numbered_ops(host)
    nodes = distinct(numbered.number[numbered.backward])
    made = [
        _made_within(numbered, numbered.thread == thread)
        for thread in distinct(numbered.thread[numbered.backward]).tolist()
    ]
    return sum(map(len, made)) > 0 and _is_some(nodes, np.concatenate(made))


def _is_some(nodes: I64, made: I64) -> bool:
    return int(np.isin(nodes, made).sum()) > _OF_GRADIENTS_FRAC * len(nodes)


def _made_within(numbered: NumberedOps, mine: Bool) -> I64:
    """Numbers of the ops of a thread that ran within its backward passes."""
    back, other = mine & numbered.backward, mine & ~numbered.backward
    start, end = union_spans(numbered.start_ps[back], numbered.end_ps[back])
    begun = numbered.start_ps[other]
    at = np.searchsorted(start, begun, side="right") - 1
    within = (at >= 0) & (begun < np.append(end, 0)[at])
    return distinct(numbered.number[other][within])
