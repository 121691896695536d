"""Rounds around rounds: a loop whose turns are alike but for those that end a round of another.

A sampler's step computes 24 gradients and draws once; a text takes one pass for each of its
letters. What is called again and again is the inner loop; each n-th of its turns calls something
else besides, and the whole sequence comes again after n turns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from stepscope.columns import rows_of, union_spans
from stepscope.columns.space import I64
from stepscope.tables.core.presence import entries_named
from stepscope.tables.core.profile import Host
from stepscope.tables.core.regions import is_of_backward
from stepscope.tables.steps.cycle import Calls, Cycle

# Outer rounds that make a loop.
_FEWEST: Final = 3
# Inner turns that are looked at; a recording of more has outer rounds enough among these.
_MOST_TURNS: Final = 4_000
# A loop that trains, and evaluates every n-th step, has as regular a pattern, and its turns are the
# steps. Without an optimizer it changes weights in place.
_TRAINS: Final = re.compile(
    r"^aten(?:/|::)(?:_foreach_)?(?:add|sub|copy|addcdiv|addcmul|lerp)_(?::|$)"
)


def around_turns(host: Host, cycle: Cycle, found: Sequence[Calls]) -> Cycle | None:
    """The outer rounds of a loop; None where its turns are all alike, or alike in no period."""
    if len(cycle) < 2 * _FEWEST or _is_training(host, cycle, found):
        return None
    edges = np.append(cycle.start_ps, np.iinfo(np.int64).max)[: _MOST_TURNS + 1]
    called = np.stack([np.diff(np.searchsorted(one.start_ps, edges)) for one in found], axis=1)
    period = _period(called)
    if period < 2:
        return None
    # What comes between two outer rounds counts for the last turn of the first: it calls most.
    most = int(np.argmax(called[1 : 1 + period].sum(axis=1))) + 1
    first = (most + 1) % period
    start = cycle.start_ps[first::period]
    if len(start) < _FEWEST:
        return None
    last = np.minimum(np.arange(first, len(cycle), period) + period, len(cycle)) - 1
    return replace(cycle, start_ps=start, end_ps=cycle.end_ps[last], explained=1.0, every=period)


def _is_training(host: Host, cycle: Cycle, found: Sequence[Calls]) -> bool:
    """Whether most turns fetch a batch, or change something in place beside making gradients."""
    often = [one for one in found if 2 * len(one) >= len(cycle)]
    if any(one.kind in ("fetch", "optimizer") for one in often):
        return True
    events = host.space.events
    rows = rows_of(events.metadata, entries_named(host, is_of_backward))
    if len(rows) == 0:
        return False
    begin, end = union_spans(
        events.start_ps[rows], events.start_ps[rows] + host.space.length_ps[rows]
    )
    changed = [one.start_ps for one in often if _TRAINS.match(one.name)]
    changes = np.concatenate([begin[:0], *changed])
    # Gradients that several ops have are added in place, too.
    at = np.searchsorted(begin, changes, side="right") - 1
    beside = (at < 0) | (changes >= end[np.maximum(at, 0)])
    return bool(2 * beside.sum() >= len(cycle))


def _period(called: I64) -> int:
    """After how many turns the same are called again; 1 where all are alike, 0 where never.

    The first turn may have been cut, and to the last belongs what came after the loop.
    """
    inner = called[1:-1]
    for period in range(1, len(called) // _FEWEST + 1):
        if len(inner) > period and (inner[period:] == inner[:-period]).all():
            return period
    return 0
