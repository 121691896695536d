"""How much of a step's owners runs within the program's calls for its next batch.

A loader without workers makes the batch on the loop's own thread: what it runs there has owners of
its own, such as a function of the dataset, and is input anyway.
"""

from __future__ import annotations

from math import nan

import numpy as np

from stepscope.columns import union_spans
from stepscope.columns.space import F64, I64
from stepscope.tables.account.account import Account
from stepscope.tables.core.interval_overlap import covered
from stepscope.tables.core.profile import Host
from stepscope.tables.host.events import Work
from stepscope.tables.parts.parts import Part
from stepscope.tables.steps.attribution import host_work


def input_spans(host: Host, found: Account) -> tuple[I64, I64]:
    """When the loop's thread is within calls for its next batch: begins and ends, disjoint."""
    if found.line < 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    told, line = host_work(host), host.space.lines[found.line]
    calls = told.work == Work.INPUT_WAIT
    calls &= (told.rows >= line.begin) & (told.rows < line.end)
    return union_spans(told.start_ps[calls], told.end_ps[calls])


def below_input(host: Host, found: Account) -> F64:
    """Of each owner (row of the account) the share of its time, from 0 to 1."""
    share = np.zeros(len(found.kind))
    spans = input_spans(host, found)
    if not len(spans[0]):
        return share
    told = found.timeline
    length = told.end_ps - told.start_ps
    within = covered(*spans, told.start_ps, told.end_ps) / np.maximum(length, 1)
    size = len(share)
    input_ps = np.bincount(told.owner, within[told.stretch] * told.spent_ps, minlength=size)
    whole_ps = np.bincount(told.owner, told.spent_ps, minlength=size)
    np.divide(input_ps, whole_ps, out=share, where=whole_ps > 0)
    return share


def input_frac(one: Part, of_owner: F64) -> float:
    """The share of a part, from its owners' (of each of their rows of the account)."""
    within = sum(owner.total_ps * float(of_owner[list(owner.rows)].mean()) for owner in one.owners)
    return within / one.total_ps if one.total_ps else nan
