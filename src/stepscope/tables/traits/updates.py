"""The optimizer's update as one thing to change, whatever ops it is made of."""

from __future__ import annotations

import numpy as np

from stepscope.columns import rows_of
from stepscope.columns.space import I64
from stepscope.tables.core.presence import entries_shaped
from stepscope.tables.core.profile import Host
from stepscope.tables.core.regions import is_of_backward
from stepscope.tables.core.time_spans import span_at
from stepscope.tables.in_steps.optimizer_updates import optimizer_scope, step_of_torch
from stepscope.tables.torch.autograd import numbered_ops

_UPDATE = " update"
# Classes of torch.optim that take ``fused=True`` (torch 2.13); others raise TypeError.
_FUSED = ("Adam", "AdamW", "SGD", "Adagrad")


def update_of(op: str) -> str:
    """The family of an op that a graph names after its optimizer; "" for others."""
    scope = optimizer_scope(op)
    return scope and scope + _UPDATE


def is_update(family: str) -> bool:
    """Whether a family is that of an optimizer's ops."""
    return family.endswith(_UPDATE)


def optimizer_of(family: str) -> str:
    """The optimizer of such a family, as its class is called."""
    return family.removesuffix(_UPDATE)


def has_fused(optimizer: str) -> bool:
    """Whether PyTorch has a fused update for this optimizer."""
    return optimizer.casefold() in map(str.casefold, _FUSED)


def marked_updates(host: Host, rows: I64) -> tuple[I64, list[str]]:
    """Code the family of each event of a line that lies within a PyTorch optimizer's step.

    By time, not by nesting: the profiler's own steps may begin in a step's closure and end after.

    Returns:
        A code of each, -1 for none, and the families that the codes stand for.
    """
    space = host.space
    meta = space.events.metadata[rows].astype(np.int64)
    named = [step_of_torch(text) for text in space.event_metadata.name]
    families = sorted({name for name in named if name})
    codes = {name: code for code, name in enumerate(families)}
    code = np.asarray([codes.get(name, -1) for name in named] or [-1], dtype=np.int64)[meta]
    steps = np.flatnonzero(code >= 0)
    if len(steps) == 0:
        return np.full(len(rows), -1, dtype=np.int64), []
    steps = steps[np.argsort(space.events.start_ps[rows[steps]], kind="stable")]
    begin = space.events.start_ps[rows[steps]]
    until = begin + space.length_ps[rows[steps]]
    updates_from = after_model(host, begin, until)
    start = space.events.start_ps[rows]
    last = np.searchsorted(begin, start, side="right") - 1
    within = (last >= 0) & (start < until[np.maximum(last, 0)])
    within &= start >= updates_from[np.maximum(last, 0)]
    return np.where(within, code[steps[np.maximum(last, 0)]], -1), [
        name + _UPDATE for name in families
    ]


def after_model(host: Host, begin: I64, until: I64) -> I64:
    """When each step of an optimizer begins to update, after what it calls of the model.

    A step may be given the model's work as a closure, as LBFGS and Lightning do: its forward ops,
    which autograd numbers, and its backward pass, on any thread. A recording that ends between
    the two, as Lightning's profiler does, has no update of that step: it begins at the end.
    """
    space, numbered = host.space, numbered_ops(host)
    rows = rows_of(space.events.metadata, entries_shaped(host, is_of_backward))
    start = space.events.start_ps[rows]
    backward = _last_end(begin, until, start, start + space.length_ps[rows])
    own = ~numbered.backward
    forward = _last_end(begin, until, numbered.start_ps[own], numbered.end_ps[own])
    has_update = (backward > begin) | (forward == begin)
    return np.where(has_update, np.maximum(backward, forward), until)


def _last_end(begin: I64, until: I64, start: I64, end: I64) -> I64:
    """The last end of what starts within each span; the span's begin where nothing does."""
    found = begin.copy()
    if len(begin) == 0:
        return found
    step = span_at(begin, until, start)
    np.maximum.at(found, step[step >= 0], end[step >= 0])
    return found
