"""What the step would take without a part: alone, and with all that can go with it.

What goes with a part depends on what it is: code leaves caches cold and threads asleep, calls that
are put together take their short ops with them, an op that shrinks shrinks its neighbours: those of
the functions that call it, where it is known who calls it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.columns.space import F64
from stepscope.kernels.memory import give_back
from stepscope.tables.account.account import Account
from stepscope.tables.account.owners import Owner, owners
from stepscope.tables.account.replay import (
    Dependencies,
    dependencies,
    hidden_ps,
    saved_ps,
    shared_ps,
)
from stepscope.tables.parts.grouping import Part

# Kinds of what the host does around the work itself.
_AROUND = (
    "framework",
    "annotated",
    "unrecorded",
    "region",
    "runtime",
    "allocation",
    "launch",
    "recorder",
)
# A run of an op that is shorter costs its hand-over, not what it computes.
_SHORT_PS = 50e6
# All that goes with a part is at most this many times the part: what it leaves cold, what makes its
# inputs, what reads its outputs each take no longer than itself.
_REACH = 2.0
# What is made of so many stretches is worth the time that returning its memory takes.
_MANY = 1 << 20
# So many parts are played again, the largest, if they have this share of the steps.
_MOST_PARTS, _SOME_FRAC = 16, 0.02
# Of all time in steps this is in those with a smaller share of a part. What comes from outside (a
# profiler that starts, a busy machine) only adds to the rest of a step: a large share is of one
# that was left alone.
_TYPICAL, _LEFT_ALONE = 0.5, 0.75
# A part is of the functions that are known for this share of it; those with less of it only add.
_KNOWN_FRAC, _CALLS_FRAC = 0.9, 0.1


@dataclass(frozen=True, slots=True)
class Consequence:
    """What a change to a part does, at best, to the rest of the step.

    Attributes:
        around: Share that goes of what the host does around the work: after a pause caches are
            cold and threads sleep, so that handing work over takes a multiple of its time, and a
            recorder adds to each call.
        ops: Share that goes of the other ops.
        short_ops: The same of those that are short; they cost their hand-over.
    """

    around: float
    ops: float
    short_ops: float


_REMOVE = Consequence(around=1.0, ops=1 / 3, short_ops=1 / 3)
_BATCH = Consequence(around=1.0, ops=1 / 3, short_ops=1.0)
_OVERLAP = Consequence(around=1.0, ops=0.0, short_ops=0.0)
# What makes an op's inputs and what reads its outputs shrinks with it.
_SHRINK = Consequence(around=0.5, ops=1.0, short_ops=1.0)
# What a line runs is left out whole, with the runtime's work around it.
_LINE = Consequence(around=1.0, ops=1.0, short_ops=1.0)
_CONSEQUENCES = {
    "python": _REMOVE,
    "library": _REMOVE,
    "unrecorded": _REMOVE,
    "region": _REMOVE,
    "compile": _REMOVE,
    "framework": _BATCH,
    "eager": _BATCH,
    "launch": _BATCH,
    "op": _SHRINK,
    "function": _SHRINK,
    "layer": _SHRINK,
    "line": _LINE,
    "program": _SHRINK,
}
# Parts that are made of ops.
_OF_OPS = ("op", "function", "layer", "line", "program")


@dataclass(frozen=True, slots=True)
class WhatIf:
    """How much shorter the mean step gets without a part, in ps.

    Attributes:
        alone_ps: When it takes no time and all else stays as it is.
        typical_ps: The same from the median of its shares: what only few steps have counts
            little.
        most_ps: When all goes with it that can; no less than it saves alone in a step that nothing
            from outside made longer.
    """

    alone_ps: float
    typical_ps: float
    most_ps: float


def what_if(
    found: Account, made: list[Part], cores: int = 0, listed: list[Owner] | None = None
) -> list[WhatIf]:
    """What the removal of the largest parts saves, in their order.

    Args:
        found: The account.
        made: Its parts.
        cores: Of the host; 0 not known.
        listed: Its owners, where they are already known, or placed more exactly.
    """
    plan = dependencies(found, cores)
    listed = owners(found) if listed is None else listed
    least = _SOME_FRAC * float(plan.step_ps.sum())
    large = [part for part in made[:_MOST_PARTS] if part.total_ps >= least]
    played = [_without(found, plan, listed, part) for part in large]
    del plan
    if len(found.timeline.step) > _MANY:
        give_back()
    return played


def _without(found: Account, plan: Dependencies, listed: list[Owner], part: Part) -> WhatIf:
    own = np.zeros(len(found.kind), dtype=np.float64)
    for one in part.owners:
        own[list(one.rows)] += one.share
    own = np.minimum(own, 1.0)
    if part.kind in _OF_OPS:
        own = np.maximum(own, _runtime_around(found, listed, part))
    best = np.maximum(own, _goes_with(found, listed, part))
    relief = shared_ps(found, plan, own > 0)
    relief /= plan.sharing  # in place, here and below: there may be as many stretches as events
    relief += hidden_ps(found, plan, best)
    is_work = part.kind in _OF_OPS
    alone = saved_ps(found, plan, own, work_goes=is_work)
    most = saved_ps(found, plan, best, relief, work_goes=is_work)
    mean, typical = float(alone.mean()), _at_share(alone, plan, _TYPICAL)
    # What runs beside ops of the host has a core of theirs, whether or not the step waits for it.
    own_ps = 0.0 if found.compute.has_device else part.total_ps / len(plan.step_ps)
    return WhatIf(
        mean,
        typical,
        max(
            _within_reach(mean, own_ps, float(most.mean())),
            _within_reach(typical, own_ps, _at_share(most, plan, _TYPICAL)),
            _at_share(alone, plan, _LEFT_ALONE),
        ),
    )


def _within_reach(alone: float, own: float, most: float) -> float:
    return max(alone, min(most, (1.0 + _REACH) * max(alone, own)))


def _at_share(saved: F64, plan: Dependencies, upto_frac: float) -> float:
    """The saving of the mean step if its share were that up to which this share of all time is.

    A short step beside a long one says little, however large its share.
    """
    length = np.maximum(plan.step_ps, 1)
    share = saved / length
    order = np.argsort(share, kind="stable")
    upto = np.cumsum(length[order])
    low, high = (
        share[order[np.searchsorted(upto, upto[-1] * upto_frac, side=side)]]
        for side in ("left", "right")
    )
    return float(np.clip((low + high) / 2, 0.0, 1.0)) * float(plan.step_ps.mean())


def _runtime_around(found: Account, listed: list[Owner], part: Part) -> F64:
    """What the runtime does around ops goes with them, in proportion."""
    share = np.zeros(len(found.kind), dtype=np.float64)
    whole = sum(one.total_ps for one in listed if one.kind == "op")
    for one in listed:
        if one.kind == "runtime" and whole:
            share[list(one.rows)] = min(part.total_ps / whole, 1.0)
    return share


def _goes_with(found: Account, listed: list[Owner], part: Part) -> F64:
    """Share of each owner that goes with a part at best."""
    consequence = _CONSEQUENCES.get(part.kind, _OVERLAP)
    calling = _calling(part) if part.kind in _OF_OPS else frozenset()
    share = np.zeros(len(found.kind), dtype=np.float64)
    for one in listed:
        goes = 0.0
        if one.kind in _AROUND:
            goes = consequence.around
        elif one.kind == "op" and calling and one.function:
            goes = consequence.ops if (one.file, one.function) in calling else 0.0
        elif one.kind == "op" and not one.on_device:
            is_short = one.total_ps < _SHORT_PS * one.stretches
            goes = consequence.short_ops if is_short else consequence.ops
        elif one.kind == "op":
            goes = consequence.ops if part.kind in _OF_OPS else 0.0
        share[list(one.rows)] += goes * one.share
    return np.minimum(share, 1.0)


def _calling(part: Part) -> frozenset[tuple[str, str]]:
    """File and name of the functions that a part's ops are called from; empty: not known of all.

    Ops that others call neither make their inputs nor read their outputs.
    """
    times: dict[tuple[str, str], int] = {}
    for one in part.owners:
        if one.function:
            place = one.file, one.function
            times[place] = times.get(place, 0) + one.total_ps
    if sum(times.values()) < _KNOWN_FRAC * part.total_ps:
        return frozenset()
    return frozenset(one for one, time in times.items() if time >= _CALLS_FRAC * part.total_ps)
