"""The optimizer's update as one thing to change, whatever ops it is made of."""

from __future__ import annotations

import numpy as np

from stepscope.columns import distinct
from stepscope.columns.nesting import Nesting
from stepscope.columns.space import I64
from stepscope.tables.core.profile import Host
from stepscope.tables.steps.optimizer_updates import is_of_backward, optimizer_scope, step_of_torch

_UPDATE = " update"


def update_of(op: str) -> str:
    """The family of an op that a graph names after its optimizer; "" for others."""
    scope = optimizer_scope(op)
    return scope and scope + _UPDATE


def is_update(family: str) -> bool:
    """Whether a family is that of an optimizer's ops."""
    return family.endswith(_UPDATE)


def marked_updates(host: Host, rows: I64, nesting: Nesting) -> tuple[I64, list[str]]:
    """The family of each event of a line that lies within a PyTorch optimizer's step.

    Args:
        host: Of the events.
        rows: Events of one line.
        nesting: How they contain each other.

    Returns:
        A code of each, -1 for none, and the families that the codes stand for.
    """
    space = host.space
    meta = space.events.metadata[rows].astype(np.int64)
    named = [step_of_torch(text) for text in space.event_metadata.name]
    families = sorted({name for name in named if name})
    codes = {name: code for code, name in enumerate(families)}
    code = np.asarray([codes.get(name, -1) for name in named] or [-1], dtype=np.int64)[meta]
    if not (code >= 0).any():
        return np.full(len(rows), -1, dtype=np.int64), []
    step = np.where(code >= 0, np.arange(len(rows)), -1)
    parent = nesting.parent.astype(np.int64)
    for level in range(1, int(nesting.depth.max(initial=0)) + 1):
        inner = np.flatnonzero((nesting.depth == level) & (step < 0))
        step[inner] = step[parent[inner]]
    # A step with a closure (LBFGS) holds the model's work, too.
    trains = np.asarray([is_of_backward(text) for text in space.event_metadata.name] or [False])
    whole = (step >= 0) & ~np.isin(step, distinct(step[trains[meta]]))
    return np.where(whole, code[step], -1), [name + _UPDATE for name in families]
