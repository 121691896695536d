"""How much shorter the steps get without a part: the only place that knows what a change saves.

The steps are played again with some of their time taken away. Three clocks are followed: the
thread of the loop, the work beside it (pools, devices) and the making of its input. A clock with
less to do runs ahead until it waits for another that does not: a function that only filled the time
until a device was done saves nothing when it goes.

What goes with a part depends on what it is: code leaves caches cold and threads asleep, calls that
are put together take their short ops with them, an op that shrinks shrinks its neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stepscope.columns import sum_by_key, union_spans
from stepscope.columns.space import F64, I64, U8, Bool
from stepscope.kernels import core
from stepscope.kernels.memory import give_back
from stepscope.records import dataclass
from stepscope.tables.account import native as of_native
from stepscope.tables.account.account import COMPUTED, Account
from stepscope.tables.account.compute import Compute
from stepscope.tables.account.owners import Owner, owners
from stepscope.tables.core.thresholds import (
    BLOCK,
    DOZENS,
    HALF_FRAC,
    LITTLE_FRAC,
    MOST_FRAC,
    SHORT_OP_PS,
    THIRD_FRAC,
    VERY_LARGE,
)
from stepscope.tables.core.time_spans import covered
from stepscope.tables.parts.grouping import Part

THREAD, WORK, INPUT = range(3)
_CLOCKS = np.asarray([[THREAD], [WORK], [INPUT]])


@dataclass(frozen=True, eq=False, slots=True)
class Dependencies:
    """Waits of the clocks for each other in the kept steps, by stretch of the timeline.

    Attributes:
        first: The first stretch of each kept step, and how many stretches there are.
        waits_for: THREAD: it waits for nobody; WORK or INPUT.
        gap_ps: How long work, and the making of input, paused before what begins in the stretch;
            -1 where nothing begins.
        beside_ps: How long each of them was busy in the stretch.
        step_ps: Of each kept step.
        slack_ps: How long before its end all work was done; -1 there was none before.
        sharing: How many threads or cores share the host's work: what one of them leaves, the
            others get a share of.
    """

    first: I64
    waits_for: U8
    gap_ps: tuple[I64, I64]
    beside_ps: tuple[I64, I64]
    step_ps: I64
    slack_ps: I64
    sharing: float


def dependencies(found: Account, cores: int = 0) -> Dependencies:
    """The account's timeline with what it depends on, on a host with so many cores; 0 unknown."""
    line, work = found.timeline, found.compute
    is_input = np.asarray([False, *(one.kind == "input" for one in work.things)])[work.label]
    spans = (
        (work.busy_start_ps, work.busy_end_ps),
        union_spans(work.start_ps[is_input], work.end_ps[is_input]),
    )
    sharing = max(1.0 + _at_once(work), cores)
    works, makes = (_beside(line.start_ps, line.end_ps, *one) for one in spans)
    step_ps = found.found.duration_ps[found.found.kept]
    return Dependencies(
        np.searchsorted(line.step, np.arange(len(step_ps) + 1)),
        _waits_for(found, works[1] > 0, makes[1] > 0),
        (works[0], makes[0]),
        (works[1], makes[1]),
        step_ps,
        _slack(found),
        sharing,
    )


def _beside(start: I64, end: I64, begin: I64, until: I64) -> tuple[I64, I64]:
    """The pauses before the spans that begin in each stretch, and how long they last in it."""
    if len(begin) == 0:  # no memory for either
        nothing = np.broadcast_to(np.asarray([[-1], [0]], np.int64), (2, len(start)))
        return nothing[0], nothing[1]
    return _gaps(start, end, begin, until), covered(begin, until, start, end)


def _gaps(start: I64, end: I64, begin: I64, until: I64) -> I64:
    """The pauses before the spans that begin in each stretch, or after the one before it."""
    gap = np.full(len(start), -1, dtype=np.int64)
    if len(start) == 0 or len(begin) == 0:
        return gap
    pause = begin - np.concatenate([start[:1], until[:-1]])
    at = np.searchsorted(end, begin, side="right")
    inside = (at < len(start)) & (begin > start[0])
    at = at[inside]
    gap[at] = 0
    gap += sum_by_key(at, np.maximum(pause[inside], 0), len(start))
    return gap


def _waits_for(found: Account, works: Bool, makes: Bool) -> U8:
    """Return the clock that the thread waits for in each stretch, as far as it is busy."""
    line = found.timeline
    gets_input = np.zeros(len(line.start_ps), dtype=bool)
    gets_input[line.stretch[_is_input(found)[line.owner]]] = True
    waits = np.full(len(line.start_ps), THREAD, dtype=np.uint8)
    waits[(gets_input | line.waits) & makes] = INPUT
    waits[line.waits & works] = WORK
    return waits


def _slack(found: Account) -> I64:
    """The time from the last work's end, or none while there is some, to each step's end."""
    work = found.compute
    end = (found.found.start_ps + found.found.duration_ps)[found.found.kept]
    before = np.searchsorted(work.busy_start_ps, end, side="left") - 1
    began = before >= 0
    slack = np.full(len(end), -1, dtype=np.int64)
    slack[began] = np.maximum(end[began] - work.busy_end_ps[before[began]], 0)
    return slack


def _at_once(work: Compute) -> float:
    """The mean number of spans on the host while there is one."""
    on_host = np.asarray([False, *(not one.on_device for one in work.things)])[work.label]
    start, end = work.start_ps[on_host], work.end_ps[on_host]
    begin, until = union_spans(start, end)
    whole = int((until - begin).sum())
    return int((end - start).sum()) / whole if whole else 1.0


def saved_ps(
    found: Account,
    plan: Dependencies,
    share: F64,
    relief: F64 | None = None,
    *,
    work_goes: bool = False,
) -> F64:
    """How much shorter each kept step gets; an early end of one may delay the next.

    Args:
        found: The account.
        plan: Its dependencies.
        share: How much of each owner's time goes, 0 to 1.
        relief: Work that each stretch is spared, because cores are free that it had to share.
        work_goes: Whether the owners are work, which also goes where nobody waits for it.
    """
    line, is_input = found.timeline, _is_input(found)
    gone = _gone(found, share)
    of_input = float(share[is_input].max(initial=0.0))
    lead = np.zeros(len(plan.step_ps), dtype=np.int64)
    slack = np.full_like(plan.slack_ps, -1) if work_goes else plan.slack_ps
    clocks = np.zeros(3, dtype=np.int64)
    for rows in _blocks(plan.first):
        waits_for, gap = plan.waits_for[rows], [one[rows] for one in plan.gap_ps]
        part = np.where(waits_for == _CLOCKS, gone[rows], 0.0)
        # Input that is made faster is so all the time, not only while it is waited for.
        np.maximum(part[INPUT], of_input * plan.beside_ps[1][rows], out=part[INPUT])
        if relief is not None:
            part[WORK] += relief[rows]
        core.wait.replay(
            line.step[rows].astype(np.int64),
            waits_for,
            line.end_ps[rows] - line.start_ps[rows],
            np.stack(gap),
            np.round(part, out=part).astype(np.int64),
            slack,
            clocks,
            lead,
        )
    saved: F64 = np.diff(lead, prepend=0).astype(np.float64)
    return saved


def _gone(found: Account, share: F64) -> F64:
    """How much of each stretch goes with these shares of the owners."""
    line = found.timeline
    gone = np.zeros(len(line.start_ps), dtype=np.float64)
    for begin in range(0, len(line.owner), BLOCK):
        rows = slice(begin, begin + BLOCK)
        stretch = line.stretch[rows]  # ascending, but for one that begins again
        first, last = int(stretch.min()), int(stretch.max())
        part = share[line.owner[rows]] * line.spent_ps[rows]
        gone[first : last + 1] += np.bincount(stretch - first, part, last - first + 1)
    return gone


def _blocks(first: I64) -> Iterator[slice]:
    """Whole steps together, of about ``BLOCK`` stretches or of one step."""
    begin, count = 0, int(first[-1])
    while begin < count:
        after = np.searchsorted(first, begin + BLOCK, side="right") - 1
        end = int(first[after])
        if end <= begin:
            end = int(first[np.searchsorted(first, begin, side="right")])
        yield slice(begin, end)
        begin = end


def hidden_ps(found: Account, plan: Dependencies, share: F64) -> F64:
    """Work in each stretch that goes although nobody waits for it: as much as where one does."""
    line = found.timeline
    seen = (plan.waits_for == WORK)[line.stretch]
    spent = line.spent_ps[seen]
    whole, goes = float(spent.sum()), float((share[line.owner[seen]] * spent).sum())
    del seen, spent
    part = goes / whole if whole else 0.0
    hidden: F64 = np.where(plan.waits_for == THREAD, plan.beside_ps[0], 0.0)
    hidden *= part
    return hidden


def shared_ps(found: Account, plan: Dependencies, goes: Bool) -> F64:
    """Work in each stretch that shares the host's cores with owners that go; 0 on a device."""
    line, work = found.timeline, found.compute
    if work.has_device:
        return np.zeros(len(line.start_ps), dtype=np.float64)
    gone = goes[line.owner]
    own = np.bincount(line.stretch[gone], line.spent_ps[gone], len(line.start_ps))
    beside_thread: F64 = np.where(plan.waits_for == THREAD, np.minimum(own, plan.beside_ps[0]), 0.0)
    if not (goes & _is_input(found)).any():
        return beside_thread
    either: F64 = beside_thread + np.minimum(plan.beside_ps[0], plan.beside_ps[1])
    return either


def _is_input(found: Account) -> Bool:
    """Which owners are waits for input, or what is made of it meanwhile."""
    makes = np.asarray([False, *(one.kind == "input" for one in found.compute.things)])
    at = np.where(found.kind == COMPUTED, np.clip(found.item, 0, len(makes) - 1), 0)
    either: Bool = makes[at] | (found.kind == of_native.INPUT)
    return either


# ---------------------------------------------------------------------------- parts

# Kinds of what the host does around the work itself.
_AROUND = (
    *("framework", "annotated", "unrecorded", "region"),
    *("runtime", "allocation", "launch", "recorder"),
)
# All that goes with a part is at most this many times the part: what it leaves cold, what makes its
# inputs, what reads its outputs each take no longer than itself.
_REACH = 2.0


@dataclass(frozen=True, slots=True)
class Consequence:
    """Return the effect of a change to a part, at best, on the rest of the step.

    Attributes:
        around: Share that goes of what the host does around the work: after a pause caches are
            cold and threads sleep, so that a dispatch costs a multiple of its time, and a recorder
            adds to each call.
        ops: Share that goes of the other ops.
        short_ops: The same for short ops, whose cost is their dispatch.
    """

    around: float
    ops: float
    short_ops: float


_REMOVE = Consequence(around=1.0, ops=THIRD_FRAC, short_ops=THIRD_FRAC)
_BATCH = Consequence(around=1.0, ops=THIRD_FRAC, short_ops=1.0)
_OVERLAP = Consequence(around=1.0, ops=0.0, short_ops=0.0)
# The producers of an op's inputs and the readers of its outputs shrink with it.
_SHRINK = Consequence(around=HALF_FRAC, ops=1.0, short_ops=1.0)
# Parts that are made of ops.
_OF_OPS = ("op", "function", "layer", "program")
_CONSEQUENCES = {
    **dict.fromkeys(("python", "library", "unrecorded", "region", "compile"), _REMOVE),
    **dict.fromkeys(("framework", "eager", "launch"), _BATCH),
    **dict.fromkeys(_OF_OPS, _SHRINK),
}


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
    """Return the time saved by removing each of the largest parts, in their order."""
    plan = dependencies(found, cores)
    listed = owners(found) if listed is None else listed
    least = LITTLE_FRAC * float(plan.step_ps.sum())
    large = [part for part in made[:DOZENS] if part.total_ps >= least]
    played = [_without(found, plan, listed, part) for part in large]
    del plan
    if len(found.timeline.step) > VERY_LARGE:
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
    mean, typical = float(alone.mean()), _at_share(alone, plan, HALF_FRAC)
    # Work concurrent with the host's ops occupies one of their cores, whether or not a step waits.
    own_ps = 0.0 if found.compute.has_device else part.total_ps / len(plan.step_ps)
    return WhatIf(
        mean,
        typical,
        max(
            _within_reach(mean, own_ps, float(most.mean())),
            _within_reach(typical, own_ps, _at_share(most, plan, HALF_FRAC)),
            # Disturbances (a profiler that starts, a busy machine) add to the rest of a step, so
            # a large share is of an undisturbed step.
            _at_share(alone, plan, MOST_FRAC),
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
    """Share the work of the runtime around ops among them, in proportion."""
    share = np.zeros(len(found.kind), dtype=np.float64)
    whole = sum(one.total_ps for one in listed if one.kind == "op")
    for one in listed:
        if one.kind == "runtime" and whole:
            share[list(one.rows)] = min(part.total_ps / whole, 1.0)
    return share


def _goes_with(found: Account, listed: list[Owner], part: Part) -> F64:
    """Share of each owner that goes with a part at best."""
    consequence = _CONSEQUENCES.get(part.kind, _OVERLAP)
    share = np.zeros(len(found.kind), dtype=np.float64)
    for one in listed:
        goes = 0.0
        if one.kind == "recorder" and found.events_ps:
            goes = 0.0  # an undisturbed step has none of it
        elif one.kind in _AROUND:
            goes = consequence.around
        elif one.kind == "op" and not one.on_device:
            is_short = one.total_ps < SHORT_OP_PS * one.stretches
            goes = consequence.short_ops if is_short else consequence.ops
        elif one.kind == "op":
            goes = consequence.ops if part.kind in _OF_OPS else 0.0
        share[list(one.rows)] += goes * one.share
    return np.minimum(share, 1.0)
