"""The share of each part that lies in the program's calls for its next batch."""

from __future__ import annotations

import re
from math import nan
from typing import Final

import numpy as np

from stepscope.columns import union_spans
from stepscope.columns.space import F64, I64
from stepscope.tables.account.account import Account
from stepscope.tables.core.interval_overlap import covered
from stepscope.tables.core.profile import Host
from stepscope.tables.host.events import Work
from stepscope.tables.parts.grouping import Part
from stepscope.tables.python.frames import OWN
from stepscope.tables.python.moments import one_line
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


_TAKES: Final = re.compile(r"(?:^|\.)rebuild_(?:storage_\w+|tensor|typed_storage\w*)$")


def received_frac(host: Host, found: Account) -> float:
    """The share; NaN where no call for a batch, or nothing of Python, was recorded."""
    calls = found.frames
    spans = input_spans(host, found)
    if calls is None or not len(spans[0]):
        return nan
    takes = np.isin(
        calls.name, [row for row, one in calls.names.items() if _TAKES.search(one.function)]
    )
    parent = one_line(calls.start_ps, calls.length_ps).parent.astype(np.int64)
    below = takes
    while below.any():
        below = (parent >= 0) & (calls.kind != OWN) & below[np.maximum(parent, 0)] & ~takes
        takes |= below
    moments = calls.moments
    within = covered(*spans, moments.start_ps, moments.end_ps)
    whole = int(within.sum())
    return float(within[takes[moments.owner]].sum()) / whole if whole else nan
