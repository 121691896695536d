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
from stepscope.tables.host.tapes import count_within, gradient_starts
from stepscope.tables.traits.gradients import APART, Labels
from stepscope.tables.traits.op_families import PRODUCTS, family_of

#: Between the name of such a function and what it is.
A_PASS: Final = f", {APART}"
# The type of the label of what lies in such a function.
_TYPE: Final = "function"

# One that is traced without its gradients; that of a tape's forward pass has another name.
_INFERENCE = re.compile(r"^__inference_(\w+?)(?:_\d+)?$")
# A pass of a model has more products than a metric.
_OF_METRICS: Final = 1


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
    called = {
        code: match[1] for code, (name, _) in enumerate(labels) if (match := _INFERENCE.match(name))
    }
    if not called:
        return within
    spans = {code: union_spans(*_spans(start, length, label == code)) for code in called}
    gradients, products = gradient_starts(host), _products(host)
    trains = {code for code, one in spans.items() if count_within(gradients, *one)}
    if not trains:
        return within
    found = within.copy()
    for code, one in spans.items():
        if code not in trains and count_within(products, *one) > _OF_METRICS:
            found[_covers(start, *one)] = len(labels)
            labels.append((f"{called[code]}{A_PASS}", _TYPE))
    return found


def in_functions(labels: Sequence[tuple[str, str]]) -> I64:
    """Which labels say that an event lies in such a function."""
    return np.flatnonzero(
        np.asarray([type_ == _TYPE and name.endswith(A_PASS) for name, type_ in labels] or [False])
    )


def _spans(start: I64, length: I64, chosen: Bool) -> tuple[I64, I64]:
    return start[chosen], start[chosen] + length[chosen]


def _products(host: Host) -> I64:
    """When products begin, on any thread, ascending."""
    ops = host_ops(host)
    is_product = np.asarray([family_of(op.type) in PRODUCTS for op in ops.ops] or [False])
    return np.sort(host.space.events.start_ps[ops.rows][is_product[ops.op]])


def _covers(at: I64, begin: I64, end: I64) -> Bool:
    row = np.searchsorted(begin, at, side="right") - 1
    inside: Bool = (row >= 0) & (at < end[np.maximum(row, 0)])
    return inside
