"""Functions of TensorFlow's that a training step runs, and in which no gradient is computed.

An evaluation within ``fit``, a frozen teacher or a preview run the same layers as the model that is
trained, by the same names; that they run within another function tells them apart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from stepscope.columns import union_spans
from stepscope.columns.space import I32, I64, Bool
from stepscope.tables.core.profile import Host
from stepscope.tables.host.ops import host_ops
from stepscope.tables.traits.gradient_names import TAPE
from stepscope.tables.traits.gradients import APART, Labels
from stepscope.tables.traits.op_families import PRODUCTS, family_of

#: The label of what lies in such a function: its type tells it from what PyTorch's ops tell.
IN_FUNCTION: Final = (APART, "function")

# One that is traced without its gradients; that of a tape's forward pass has another name.
_INFERENCE = re.compile(r"^__inference_\w+$")
_GRADIENT = re.compile(rf"(?:^|/)(?:{TAPE}|gradients/)")
# A pass of a model has so many products; a metric has fewer.
_PRODUCTS: Final = 2


def by_functions(
    host: Host, start: I64, length: I64, label: I64, within: I32, labels: Labels
) -> I32:
    """The labels of what events lie in, with the functions that compute no gradient.

    Only where another function computes some: a program that trains nothing has no such pass.

    Args:
        host: Of the events.
        start: When the events of one line begin.
        length: How long they take.
        label: Of each event, -1 none.
        within: Label of the outermost op that each lies in, -1 none.
        labels: (name, type) of each label; one that is new is added.
    """
    called = [code for code, (name, _) in enumerate(labels) if _INFERENCE.match(name)]
    if not called:
        return within
    spans = [union_spans(*_spans(start, length, label == code)) for code in called]
    gradients, products = _moments(host)
    trains = [bool(_within(gradients, *one)) for one in spans]
    if not any(trains):
        return within
    apart = [
        one
        for one, has in zip(spans, trains, strict=True)
        if not has and _within(products, *one) >= _PRODUCTS
    ]
    if not apart:
        return within
    inside = np.zeros(len(start), dtype=bool)
    for begin, end in apart:
        inside |= _covers(start, begin, end)
    found = within.copy()
    found[inside] = len(labels)
    labels.append(IN_FUNCTION)
    return found


def in_functions(labels: Sequence[tuple[str, str]]) -> I64:
    """Which labels say that an event lies in such a function."""
    return np.flatnonzero(np.asarray([one == IN_FUNCTION for one in labels] or [False]))


def _spans(start: I64, length: I64, chosen: Bool) -> tuple[I64, I64]:
    return start[chosen], start[chosen] + length[chosen]


def _moments(host: Host) -> tuple[I64, I64]:
    """When gradients begin to be computed, and when products do, on any thread."""
    ops = host_ops(host)
    start = host.space.events.start_ps[ops.rows]
    gradient = np.asarray([bool(_GRADIENT.search(op.name)) for op in ops.ops] or [False])
    product = np.asarray([family_of(op.type) in PRODUCTS for op in ops.ops] or [False])
    return np.sort(start[gradient[ops.op]]), np.sort(start[product[ops.op]])


def _within(moments: I64, begin: I64, end: I64) -> int:
    """How many of these moments, in ascending order, lie in disjoint intervals."""
    return int((np.searchsorted(moments, end) - np.searchsorted(moments, begin)).sum())


def _covers(at: I64, begin: I64, end: I64) -> Bool:
    row = np.searchsorted(begin, at, side="right") - 1
    inside: Bool = (row >= 0) & (at < end[np.maximum(row, 0)])
    return inside
