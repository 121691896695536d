"""The op of PyTorch's that a program called, of one that another op ran: "one_hot" of a fill."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from stepscope.tables.core.profile import Host

_ATEN: Final = re.compile(r"aten(?:/|::)(\w+)")


def outer_op(host: Host, event: int) -> str:
    """The outermost op around an event on its thread, without "aten"; "" of one by itself."""
    space = host.space
    if event < 0 or _ATEN.match(_name(host, event)) is None:
        return ""
    line = space.lines[int(space.lines_of(np.asarray([event]))[0])]
    start = space.events.start_ps[line.begin : line.end]
    end = start + space.length_ps[line.begin : line.end]
    at = event - line.begin
    around = np.flatnonzero((start <= start[at]) & (end >= end[at])) + line.begin
    for row in around[np.argsort(-space.length_ps[around], kind="stable")].tolist():
        found = _ATEN.match(_name(host, row))
        if found is not None:
            return found[1] if row != event else ""
    return ""


def _name(host: Host, event: int) -> str:
    space = host.space
    name: str = space.event_metadata.name[int(space.events.metadata[event])]
    return name
