"""Waits in exchanges of many to many, which durations alone do not tell.

An all-to-all, or messages among many, ends on each member when its own parts have come; a member
that leaves early was not the last to come. Once symmetric collectives have brought the clocks
together, arrivals tell: members wait for the last to arrive if all were there before the first
left, and their clocks are known. Such an exchange *met*; the Workers page asks the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from stepscope.columns.space import I64, Bool
from stepscope.pod.clocks import Clocks
from stepscope.pod.meetings import Meetings, Units
from stepscope.summary.summary import Who

_PS_PER_NS: Final = 1000
_FAR_NS: Final = 10**15


def with_exchanges(found: Meetings, units: Units, who: Sequence[Who], clocks: Clocks) -> Meetings:
    """The meetings with the waits of exchanges that arrivals tell."""
    rows = np.flatnonzero(~found.of_node(found.tells))
    if not len(rows):
        return found
    node = found.node[rows]
    recording = units.recording[found.unit[rows]]
    duration = found.duration_ps[rows]
    start = found.start_ps[rows] + _shifts(who, clocks)[recording]
    last = np.full(len(found.size), np.iinfo(np.int64).min)
    np.maximum.at(last, node, start)
    leaves = np.full(len(found.size), np.iinfo(np.int64).max)
    np.minimum.at(leaves, node, start + duration)
    met = (last < leaves) & _on_one_clock(found, rows, clocks.component[recording])
    waits = np.where(met[node], np.clip(last[node] - start, 0, duration), 0)
    by_clock = np.zeros(len(found), dtype=np.int64)
    by_clock[rows] = waits
    stood = found.stood_ps.copy()
    stood[rows] = np.minimum(waits, found.exposed_ps)
    transfer = found.transfer_ps.copy()
    np.minimum.at(transfer, node, duration - waits)
    return replace(found, met=met, by_clock_ps=by_clock, stood_ps=stood, transfer_ps=transfer)


def _shifts(who: Sequence[Who], clocks: Clocks) -> I64:
    """By recording, what brings its times to the median clock."""
    origin = np.asarray([one.origin_ns for one in who], dtype=np.int64)
    apart = np.clip(origin - origin[0], -_FAR_NS, _FAR_NS) * _PS_PER_NS
    offset = np.where(np.isfinite(clocks.offset_ps), clocks.offset_ps, 0.0)
    shift: I64 = apart - offset.astype(np.int64)
    return shift


def _on_one_clock(found: Meetings, rows: I64, component: I64) -> Bool:
    """By meeting, whether several members are here and symmetric collectives tie their clocks."""
    node = found.node[rows]
    low = np.full(len(found.size), np.iinfo(np.int64).max)
    high = np.full(len(found.size), -1)
    np.minimum.at(low, node, component)
    np.maximum.at(high, node, component)
    one: Bool = (low == high) & (found.size > 1)
    return one
