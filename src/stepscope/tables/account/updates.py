"""The optimizer's update as one thing to change, whatever ops it is made of."""

from __future__ import annotations

import numpy as np

from stepscope.columns import rows_of
from stepscope.columns.space import I64
from stepscope.tables.core.presence import entries_named
from stepscope.tables.core.profile import Host
from stepscope.tables.core.regions import is_of_backward
from stepscope.tables.steps.optimizer_updates import optimizer_scope, step_of_torch

_UPDATE = " update"


def update_of(op: str) -> str:
    """The family of an op that a graph names after its optimizer; "" for others."""
    scope = optimizer_scope(op)
    return scope and scope + _UPDATE


def is_update(family: str) -> bool:
    """Whether a family is that of an optimizer's ops."""
    return family.endswith(_UPDATE)


def marked_updates(host: Host, rows: I64) -> tuple[I64, list[str]]:
    """The family of each event of a line that lies within a PyTorch optimizer's step.

    A step may be given the model's work as a closure, as LBFGS and Lightning do: what runs up to
    the end of the last backward pass in it is not its update. By time, not by nesting: the
    profiler's own steps may begin in such a closure and end after it.

    Args:
        host: Of the events.
        rows: Events of one line, ascending by start.

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
    updates_from = _after_backward(host, begin, until)
    start = space.events.start_ps[rows]
    last = np.searchsorted(begin, start, side="right") - 1
    within = (last >= 0) & (start < until[np.maximum(last, 0)])
    within &= start >= updates_from[np.maximum(last, 0)]
    return np.where(within, code[steps[np.maximum(last, 0)]], -1), [
        name + _UPDATE for name in families
    ]


def _after_backward(host: Host, begin: I64, until: I64) -> I64:
    """When the last backward pass within each step ends, on any thread; else when it begins."""
    space = host.space
    rows = rows_of(space.events.metadata, entries_named(host, is_of_backward))
    start = space.events.start_ps[rows]
    end = start + space.length_ps[rows]
    found = begin.copy()
    step = np.searchsorted(begin, start, side="right") - 1
    inside = (step >= 0) & (start < until[np.maximum(step, 0)])
    np.maximum.at(found, step[inside], end[inside])
    return found
