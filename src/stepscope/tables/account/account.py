"""The account of a host's steps: every moment with one owner, so that owners sum to the step."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stepscope.columns import among, distinct, distinct_keys, sum_by_key
from stepscope.columns import innermost as innermost_of
from stepscope.columns.space import I32, I64, U8, Bool
from stepscope.kernels.memory import give_back
from stepscope.records import dataclass
from stepscope.tables.account import native as of_native
from stepscope.tables.account.compute import Compute, compute, only_exchanges, spent_in
from stepscope.tables.account.native import (
    DISPATCH,
    OP,
    Around,
    Native,
    NativeLabels,
    native,
    op_spans,
)
from stepscope.tables.account.waits import (
    after_wait,
    between_marks,
    between_ops,
    computed_since,
    ends_with_work,
    gap_names,
    waited_for,
)
from stepscope.tables.core.distinct_rows import distinct_rows
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.thresholds import GROWN, LARGE, LONG_WAIT_PS, SEVERAL, VERY_LARGE
from stepscope.tables.core.time_spans import covered, span_at
from stepscope.tables.python.frames import COMPILER, FRAMEWORK, OWN, RECORDER, Frames, frames
from stepscope.tables.python.moments import Moments, innermost
from stepscope.tables.steps.attribution import HostSteps, steps, tracing_spans
from stepscope.tables.steps.found import WINDOW, Markers
from stepscope.tables.torch.autograd import numbered_ops


def place_by_looks(
    said: Native, calls: Frames, event: I32, begin_ps: I64, until_ps: I64, call: I32
) -> None:
    """Write the sampled call that each moment is in into ``call``, which has what was seen last."""
    if len(calls.looks_ps) == 0 or len(event) == 0:
        return
    kind = np.where(event >= 0, said.kind[np.maximum(event, 0)], of_native.NOTHING)
    ops = np.flatnonzero(kind == of_native.OP)
    first, place = distinct_keys(event[ops].astype(np.int64))
    row = event[ops[first]]
    start, end, label = said.start_ps[row], said.start_ps[row] + said.length_ps[row], said.label
    seen, look, around = _looked_at(calls, start, end)
    last = np.where(around >= 0, around, call[ops[first]])
    elsewhere = _of_the_name(label[row], start, calls, seen, around, last)
    # An op is called from one place: the first look within it tells, from its begin on.
    told = np.where(seen >= 0, seen, np.where(elsewhere >= 0, elsewhere, around))
    _write(call, begin_ps, ops, place, told, np.where(seen >= 0, look, end))

    # Stretches in which nothing of the frameworks' own tells what the thread does.
    is_gap = np.isin(kind, (of_native.NOTHING, of_native.PART))
    gaps = np.flatnonzero(is_gap)
    begins = is_gap & ~np.append(False, is_gap[:-1])
    ends = np.flatnonzero(is_gap & ~np.append(is_gap[1:], False))
    start, end = begin_ps[begins], until_ps[ends]
    named = np.concatenate([[-1], np.where(event >= 0, label[event], -1), [-1]])
    _first, pair = distinct_rows([named[:-2][begins], named[ends + 2]])
    seen, look, around = _looked_at(calls, start, end)
    told = np.where(
        seen >= 0, seen, np.where(around >= 0, around, _in_like_gaps(calls, start, end, pair))
    )
    _write(call, begin_ps, gaps, np.cumsum(begins)[gaps] - 1, told, np.where(seen >= 0, look, end))


def _looked_at(calls: Frames, start: I64, end: I64) -> tuple[I64, I64, I64]:
    """The call that the first look within each span found, when, and what looks around it saw."""
    return *calls.first_seen(start, end), calls.seen_around(start, end)


def _write(call: I32, begin_ps: I64, moments: I64, span: I64, told: I64, until: I64) -> None:
    """Write the call of each moment's span into the moments before a time in it."""
    early = (told[span] >= 0) & (begin_ps[moments] < until[span])
    call[moments[early]] = told[span[early]]


def _of_the_name(
    label: I32, start_ps: I64, calls: Frames, seen: I64, around: I64, last: I64
) -> I64:
    """Where an op of the same name was seen, of those that lie elsewhere; -1 of others.

    One that nobody looked at is not where no op of its name was ever seen, if many were: ``last``
    is what looks around it found, or was seen last before it. Ops ascend by begin.
    """
    count = int(label.max(initial=-1)) + 2
    # Looks ten milliseconds apart see the same line in two turns of a loop: what they tell of an op
    # between them counts where too few ops of its name were looked at.
    often = np.bincount(label[(seen >= 0) & (label >= 0)], minlength=count)[label] >= SEVERAL
    found = np.where((seen >= 0) | often, seen, around)
    sure = (found >= 0) & (label >= 0)
    function = np.append(np.where(calls.own >= 0, calls.functions()[0][calls.own] + 1, 0), 0)
    room = int(function.max()) + 1
    there, here = (label * room + function[one] for one in (found, last))
    is_open = (found < 0) & (last >= 0) & ~among(distinct(there[sure]), here)
    is_open &= np.bincount(label[sure], minlength=count)[label] >= SEVERAL
    return np.where(is_open, _alike(label, found, start_ps), -1)


def _in_like_gaps(calls: Frames, start: I64, end: I64, pair: I64) -> I64:
    """Return the call that the last look into a gap between the same two ops found.

    It leaves each kind of gap the shares that looks into them have; -1 where nobody looked.
    """
    looks, owner = calls.looks()
    gap = span_at(start, end, looks)
    inside = (gap >= 0) & (owner >= 0)
    found = np.full(len(pair), -1, dtype=np.int64)
    found[gap[inside]] = owner[inside]
    return _alike(pair, found)


def _alike(key: NDArray[np.integer], found: I64, start_ps: I64 | None = None) -> I64:
    """Return the value of the last row of the same key that has one, or of the next; -1: none.

    With the rows' starts it is the nearer of the two.
    """
    order, count = np.argsort(key, kind="stable"), len(key)
    group, known = key[order], found[order]
    rows = np.where(known >= 0, np.arange(count), 0)
    before = np.maximum.accumulate(rows)
    rows = np.where(known >= 0, np.arange(count), count - 1)
    after = np.minimum.accumulate(rows[::-1])[::-1]
    has_before, has_after = ((known[at] >= 0) & (group[at] == group) for at in (before, after))
    use_after = has_after & ~has_before
    if start_ps is not None:
        start = start_ps[order]
        use_after |= has_after & (start[after] - start < start - start[before])
    told = np.full(count, -1, dtype=np.int64)
    told[order] = np.where(use_after, known[after], np.where(has_before, known[before], -1))
    return told


# It is by so many times the usual number at most, and by as large a share of it at least: a step
# that compiles has more than one that does not, which does not make it growth.
_EVEN = 2


@dataclass(frozen=True, slots=True)
class Growth:
    """Ops on the loop's thread that grow in number from each step to the next.

    Attributes:
        first, last: Ops of the first and of the last kept step.
        mean: Of all kept steps.
        op: Which of them grows most.
    """

    first: int
    last: int
    mean: float
    op: str


def growth(said: Native | None, steps: HostSteps) -> Growth | None:
    """None where the steps do not grow by about the same, or hardly."""
    start, end = steps.kept_spans
    if said is None or len(start) < (SEVERAL - 1) or steps.markers.is_window:
        return None
    ops = np.flatnonzero(np.isin(said.kind, (OP, DISPATCH)) & (said.label >= 0))
    step = span_at(start, end, said.start_ps[ops])
    ops, step = ops[step >= 0], step[step >= 0]
    count = np.bincount(step, minlength=len(start))
    more = np.diff(count)
    usual = float(np.median(more))
    is_steady = more.min() > 0 and more.min() * _EVEN >= usual and more.max() <= _EVEN * usual
    if not is_steady or count[-1] < GROWN * count[0]:
        return None
    labels = said.named.labels
    first, last = (
        np.bincount(said.label[ops[step == one]], minlength=len(labels))
        for one in (0, len(start) - 1)
    )
    op = labels[int(np.argmax(last - first))][0]
    return Growth(int(count[0]), int(count[-1]), float(count.mean()), op)


# Kinds of owners beside those of events on the thread (``native.NOTHING`` to ``ALLOCATE``).
PYTHON, FRAMEWORK_CALL, RECORDING, COMPUTED, GAP = range(16, 21)
# Ops, and what hands them over.
_OF_OPS = (of_native.OP, of_native.DISPATCH, of_native.FRAME, FRAMEWORK_CALL)
_AROUND = (of_native.DISPATCH, of_native.FRAME)
_IDLE = (GAP, of_native.WAIT, of_native.FRAME, of_native.PART, FRAMEWORK_CALL)


@dataclass(frozen=True, eq=False, slots=True)
class Stretches:
    """The kept steps as stretches in which nothing changes on the loop's thread, in order.

    Attributes:
        start_ps, end_ps: Of each stretch.
        step: Which kept step it is in.
        waits: Whether the thread waits for what computes or is made beside it.
        stretch, owner, spent_ps: Who has how much of a stretch: rows of ``start_ps`` and of the
            account; the times of a stretch sum to its length.
        events_ps: Cost of recording its events (``correction``).
    """

    start_ps: I64
    end_ps: I64
    step: I32
    waits: Bool
    stretch: I32
    owner: I32
    spent_ps: I64
    events_ps: I64


@dataclass(frozen=True, eq=False, slots=True)
class Account:
    """Time of each owner in each kept step.

    Attributes:
        found: The steps.
        line: Row of the thread's line, -1 unknown.
        kind: Of each owner: ``native.*``, or PYTHON, FRAMEWORK_CALL, RECORDING, COMPUTED, GAP.
        item: What it is, by kind: one of the labels ``native``, a thing of ``compute`` (from 1),
            the place in ``frames`` of a call out of the program (-1: the program's own line), or
            one of ``gaps`` (-1 none).
        place: Place in ``frames`` of the program's line it is called from, else of its function;
            -1 unknown, below it a code of what is ``around``.
        under: Of an op: place in ``frames`` of a function that stands for all it calls; -1 none.
        time_ps: int64[owners, kept steps].
        stretches: Into how many each owner's time falls, in all kept steps: what interrupts it
            parts it.
        timeline: What the sums are of.
        gaps: The names before and after each kind of gap: "A → B".
        native, frames, compute: What it was derived from; of native events what their labels
            stand for.
        growth: Where each step runs more ops than the one before; None where it does not.
    """

    found: HostSteps
    line: int
    kind: U8
    item: I64
    place: I64
    under: I64
    time_ps: I64
    stretches: I64
    timeline: Stretches
    gaps: tuple[str, ...]
    native: NativeLabels | None
    frames: Frames | None
    compute: Compute
    growth: Growth | None

    @property
    def events_ps(self) -> int:
        """Estimated cost of recording the events, in all kept steps: part of RECORDING's time."""
        return int(self.timeline.events_ps.sum())

    @property
    def net_step_ps(self) -> float:
        """The mean kept step without the cost of its events."""
        kept_ps = self.found.duration_ps[self.found.kept]
        return (float(kept_ps.sum()) - self.events_ps) / len(kept_ps)

    def around(self, place: int) -> Around | None:
        """Return the op that a place without a line lies in; None for none."""
        return None if place > -2 or self.native is None else self.native.around[-2 - place]

    def busy_ps(self) -> int:
        """How long, in the kept steps, devices were busy: the mean of those that ran anything.

        Without devices, how long anything computed beside the thread.
        """
        found, work = self.found, self.compute
        ran = [busy[found.kept].sum() for busy in found.busy_ps.values() if busy.any()]
        if work.has_device and ran:
            return int(np.mean(ran))
        start, end = found.kept_spans
        return int(covered(work.busy_start_ps, work.busy_end_ps, start, end).sum())


@derived
def account(host: Host) -> Account | None:
    """None where the host has no kept steps."""
    found = steps(host)
    if found is None or not found.kept.any():
        return None
    start, end = found.kept_spans
    begin_ps, end_ps = int(start[0]), int(end[-1])
    line = found.markers.thread
    said = native(host, line, found.markers)
    # What devices do in the first step was asked for before it, where they run behind the thread.
    asked_ps = min(begin_ps, int(found.markers.start_ps[found.kept][0]))
    calls = frames(host, line, asked_ps, end_ps)
    runs_ops = said is not None and bool(np.isin(said.kind, _OF_OPS).any())
    if calls is not None and found.markers.source == WINDOW and not runs_ops:
        from stepscope.tables.python.other_threads import at_work

        calls = at_work(host, calls, begin_ps, end_ps)
    if calls is not None:
        from stepscope.tables.python.carriers import below_carriers
        from stepscope.tables.python.functions import at_module_calls, standing_for

        calls = at_module_calls(below_carriers(calls, found, op_spans(said)))
    _make_room(host, VERY_LARGE)
    work = compute(host, line, begin_ps, end_ps, with_rows=calls is not None)
    _make_room(host)
    begun, over, row = tracing_spans(host)
    own = host.space.lines_of(row) == line
    moments = _moments((start, end), found.markers, said, calls, work, (begun[own], over[own]))
    under = np.full(len(moments.kind), -1, dtype=np.int32)
    if calls is not None:
        _at_forward(moments, calls, host, line)
        ops = np.flatnonzero(np.isin(moments.kind, _OF_OPS))
        length = moments.end_ps[ops] - moments.start_ps[ops]
        under[ops] = standing_for(calls, found, moments.place[ops].astype(np.int64), length)
    named, grows = None if said is None else said.named, growth(said, found)
    del said  # the sums take as much
    _make_room(host)
    recorder = np.zeros(len(moments.start_ps), dtype=np.int64)
    if not work.has_device:
        from stepscope.tables.account.correction import recorder_ps

        recorder = recorder_ps(host, found, line, moments.start_ps, moments.end_ps, moments.waits)
    summed = _summed(moments, under, found, line, named, calls, work, grows, recorder)
    _make_room(host, VERY_LARGE)
    return summed


def _make_room(host: Host, least: int = LARGE) -> None:
    """Return what the last columns of many events were made from: the next need as much."""
    if len(host.space.events) > least:
        give_back()


def _at_forward(moments: _Moments, calls: Frames, host: Host, line: int) -> None:
    """A gradient is computed within ``backward``, for the line that ran the op it is of."""
    start, end = numbered_ops(host).forward_of(host.space.lines[line].id, moments.start_ps)
    call = calls.running(start, end)
    known = (start >= 0) & (call >= 0) & (moments.kind != RECORDING)
    moments.place[known] = calls.place_of(call[known])


@dataclass(frozen=True, eq=False, slots=True)
class _Moments:
    """Stretches of the kept steps in which nothing changes on the loop's thread.

    Attributes:
        kind, item, place: The owner, unless something else computes for the thread.
        waits: Whether the thread waits, so that what computes meanwhile is the owner.
        step: Which kept step.
        gaps: Names for the items of gaps: what they lie between.
    """

    start_ps: I64
    end_ps: I64
    kind: U8
    item: I32
    place: I32
    waits: Bool
    step: I32
    gaps: list[str]


def _moments(
    steps: tuple[I64, I64],
    markers: Markers,
    said: Native | None,
    calls: Frames | None,
    work: Compute,
    tracing: tuple[I64, I64],
) -> _Moments:
    start, end = steps
    events = None if said is None else innermost(said.start_ps, said.length_ps)
    parted = events, None if calls is None else calls.moments
    begin, until, of_step = _cut(start, end, work, parted, tracing)
    event, call = (
        np.broadcast_to(np.int32(-1), len(begin)) if one is None else one.at(begin).astype(np.int32)
        for one in parted
    )
    del events, parted  # as large as all that is found of the moments
    if len(begin) > LARGE:
        give_back()
    if said is not None and calls is not None and calls.is_sampled:
        place_by_looks(said, calls, event, begin, until, call)
    kind, item, place, waits = _owners(said, calls, event, call)
    busy = span_at(work.busy_start_ps, work.busy_end_ps, begin) >= 0
    passive = waits & np.isin(kind, (of_native.FRAME, of_native.WAIT))
    waiting, to_the_end = ends_with_work(calls, call, work, (int(start[0]), int(end[-1])))
    waits |= waiting
    pauses = to_the_end & ~busy & (kind == PYTHON) & computed_since(calls, call, begin, work)
    kind[pauses], item[pauses] = of_native.WAIT, -1
    within, wait = after_wait(event, said, call, calls)
    waits |= within
    # Nothing else was seen until the wait was over, though what it was for had not begun, or had
    # ended and nobody woke the thread.
    kind[wait >= 0], item[wait >= 0] = of_native.WAIT, wait[wait >= 0]
    waits = (waits | waited_for(begin, until, busy, waits, work)) & busy
    if work.has_device:
        waits |= busy
    if (exchanges := only_exchanges(work, begin)) is not None:
        waits &= ~exchanges | np.isin(kind, _IDLE)
    # While nothing computes, a long wait is for what tf.data's threads make.
    waits |= passive & (until - begin >= LONG_WAIT_PS)
    if said is not None:
        _hand_over(kind, item, begin, until, event, said, len(start))
        _wait_elsewhere(kind, item, begin, said)
    # A call that builds its function compiles, except while an op of it runs.
    traced = (span_at(*tracing, begin) >= 0) & ~np.isin(kind, (RECORDING, of_native.COMPILE))
    item[traced & np.isin(kind, (GAP, PYTHON, FRAMEWORK_CALL))] = -1
    kind[traced], waits[traced] = of_native.COMPILE, False
    gap, gaps = gap_names(kind == GAP, kind, event, said)
    gap, gaps = between_marks(markers, begin, gap, gaps)
    np.copyto(item, gap, casting="same_kind", where=kind == GAP)
    return _Moments(begin, until, kind, item, place, waits, of_step, gaps)


def _cut(
    start: I64,
    end: I64,
    work: Compute,
    parted: tuple[Moments | None, ...],
    tracing: tuple[I64, I64],
) -> tuple[I64, I64, I32]:
    """The steps cut wherever something begins or ends: begin and end of each piece, its step."""
    cuts = [start, end, work.busy_start_ps, work.busy_end_ps, *tracing]
    for one in parted:
        cuts += [] if one is None else [one.start_ps, one.end_ps]
    times = distinct(np.concatenate(cuts))
    step = span_at(start, end, times[:-1]).astype(np.int32)
    inside = step >= 0
    return times[:-1][inside], times[1:][inside], step[inside]


def _owners(
    said: Native | None, calls: Frames | None, event: I32, call: I32
) -> tuple[U8, I32, I32, Bool]:
    """Kind, item, place and whether the thread waits, of each moment, by the thread alone."""
    count = len(event)
    kind = np.full(count, GAP, dtype=np.uint8)
    item, place = (np.full(count, -1, dtype=np.int32) for _ in range(2))
    waits = np.ones(count, dtype=bool)  # in a gap, whatever computes is what is waited for
    if said is not None:
        has = (event >= 0) & (said.kind[event] != of_native.NOTHING)
        at = event[has]
        kind[has], item[has] = said.kind[at], said.label[at]
        waits[has] = np.isin(said.kind[at], (of_native.WAIT, of_native.FRAME, of_native.PART))
        if calls is None:
            place[has] = -2 - said.within[at]
    if calls is not None and len(calls.rows):
        has = call >= 0
        at = call[has]
        place[has] = calls.place_of(at)
        # Events of the frameworks tell more than the Python that called them, but for frames.
        free = has & ((kind == GAP) | _is_vague(said, calls, event, call, kind))
        at = call[free]
        is_framework = calls.kind[at] == FRAMEWORK
        kind[free] = np.where(is_framework, FRAMEWORK_CALL, PYTHON)
        item[free] = np.where(calls.kind[at] == OWN, -1, calls.call[at])
        waits[free] = calls.is_passive[at] | is_framework
        compiler = (free | np.isin(kind, _AROUND)) & has
        compiler &= calls.kind[np.maximum(call, 0)] == COMPILER
        kind[compiler], item[compiler], waits[compiler] = of_native.COMPILE, -1, False
        recorder = has & (calls.kind[np.maximum(call, 0)] == RECORDER)
        kind[recorder], item[recorder], waits[recorder] = RECORDING, -1, False
    return kind, item, place, waits


def _is_vague(said: Native | None, calls: Frames, event: I32, call: I32, kind: U8) -> Bool:
    """Moments whose event says less than the Python call inside of it."""
    if said is None:
        return np.zeros(len(event), dtype=bool)
    if calls.is_sampled:  # on planes of their own; a named part says less than any line
        at = np.maximum(call, 0)
        vague: Bool = (kind == of_native.PART) & (call >= 0) & (calls.kind[at] != FRAMEWORK)
        return vague
    # On one line the later of the two that contain a moment is the inner one.
    return (call >= 0) & (_begun(calls, call) >= _begun(said, event))


def _begun(one: Native | Frames, at: I32) -> I64:
    found: I64 = np.where(at >= 0, one.start_ps[np.maximum(at, 0)], np.iinfo(np.int64).min)
    return found


def _wait_elsewhere(kind: U8, item: I32, begin: I64, said: Native) -> None:
    """Gaps in which another thread of the step waits are that wait."""
    start, end, label = said.waits
    gaps = np.flatnonzero(kind == GAP)
    at = innermost_of(start, end, begin[gaps])
    waiting = gaps[at >= 0]
    kind[waiting], item[waiting] = of_native.WAIT, label[at[at >= 0]]


_DISPATCHES = (of_native.OP, of_native.DISPATCH, of_native.FRAME)


def _hand_over(
    kind: U8, item: I32, begin: I64, until: I64, event: I32, said: Native, steps: int
) -> None:
    """Gaps between ops that are dispatched one by one are their hand-over."""
    edge = np.diff(np.concatenate([[0], (kind == GAP).astype(np.int8), [0]]))
    first, last = np.flatnonzero(edge == 1), np.flatnonzero(edge == -1) - 1
    inner = (first > 0) & (last < len(kind) - 1)
    first, last = first[inner], last[inner]
    near = np.isin(kind[first - 1], _DISPATCHES) & np.isin(kind[last + 1], _DISPATCHES)
    near &= (event[first - 1] >= 0) & (event[last + 1] >= 0)
    first, last = first[near], last[near]
    op, after = (said.label[event[at]].astype(np.int64) for at in (first - 1, last + 1))
    found = between_ops(begin[first], until[last], op, after, steps)
    depth = np.zeros(len(kind) + 1, dtype=np.int8)
    depth[first[found]] += 1
    depth[last[found] + 1] -= 1
    is_handed = np.cumsum(depth[:-1], dtype=np.int8) > 0
    handed, known = np.flatnonzero(is_handed), np.flatnonzero(~is_handed & (event >= 0))
    before = known[np.searchsorted(known, handed) - 1]
    kind[handed], item[handed] = of_native.DISPATCH, said.label[event[before]]


def _summed(
    moments: _Moments,
    under: I32,
    found: HostSteps,
    line: int,
    said: NativeLabels | None,
    calls: Frames | None,
    work: Compute,
    grows: Growth | None,
    recorder: I64,
) -> Account:
    count = int(found.kept.sum())
    owners, code = _distinct_owners(moments, under, calls)
    alone = np.flatnonzero(~moments.waits).astype(np.int32)
    spent, beside, code_beside, stretch = _swept(moments, owners, code, work)
    code = np.concatenate([code[alone], np.int32(len(owners)) + code_beside])
    time = np.concatenate([moments.end_ps[alone] - moments.start_ps[alone], spent])
    of_time = np.concatenate([alone, stretch])
    del alone, spent, code_beside, stretch
    owners = np.concatenate([owners, beside])
    if recorder.any():
        cost = _shared_cost(recorder, time, of_time)
        costly = np.flatnonzero(cost)
        code = np.concatenate([code, np.full(len(costly), len(owners), dtype=np.int32)])
        time = np.concatenate([time - cost, cost[costly]])
        of_time = np.concatenate([of_time, of_time[costly]])
        owners = np.concatenate([owners, [[RECORDING, -1, -1, -1]]])
    # Owners of which others have all time are none; those in both are one.
    used = np.flatnonzero(np.bincount(code, minlength=len(owners)))
    first, merged = distinct_rows(list(owners[used].T))
    listed = owners[used[first]]
    which = np.zeros(len(owners), dtype=np.int32)
    which[used] = merged
    owner: I32 = which[code]
    del code
    cell = owner * np.int32(count) + moments.step[of_time]  # keys of sums take 32 bits
    total = sum_by_key(cell, time, len(listed) * count).reshape(len(listed), count)
    del cell
    place = _places_of(moments, listed, owner, of_time)
    stretches = _runs(listed, np.bincount(owner, minlength=len(listed)), work, found)
    timeline = Stretches(
        moments.start_ps,
        moments.end_ps,
        moments.step,
        moments.waits,
        of_time,
        owner,
        time,
        recorder,
    )
    return Account(
        found,
        line,
        listed[:, 0].astype(np.uint8),
        listed[:, 1],
        place,
        listed[:, 3],
        total,
        stretches,
        timeline,
        tuple(moments.gaps),
        said,
        calls,
        work,
        grows,
    )


def _shared_cost(recorder: I64, time: I64, of_time: I32) -> I64:
    """Return the cost of recording in each time, in proportion to the times of a stretch."""
    whole = np.maximum(np.bincount(of_time, time, len(recorder)), 1)
    cost: I64 = np.minimum(np.rint(time * (recorder / whole)[of_time]), time).astype(np.int64)
    return cost


def _places_of(moments: _Moments, listed: I64, owner: I32, moment: I32) -> I64:
    """A place of each owner's own, whose callers are its; places of one name count as one."""
    first = np.zeros(len(listed), dtype=np.int64)
    first[owner[::-1]] = moment[::-1]
    place: I64 = np.where(listed[:, 2] >= 0, moments.place[first], listed[:, 2])
    return place


def _distinct_owners(moments: _Moments, under: I32, calls: Frames | None) -> tuple[I64, I32]:
    """Kind, item, place and ``under`` of each distinct owner, and which one each moment has."""
    item, place = moments.item, moments.place
    if calls is not None:
        is_call = np.isin(moments.kind, (PYTHON, FRAMEWORK_CALL))
        item = np.where(is_call, _merged_places(item, calls), item)
        place = _merged_places(place, calls)
    keys = (moments.kind, item, place, under)
    first, code = distinct_rows(keys)
    # In few bytes: there is one for each moment.
    return np.stack([key[first] for key in keys], axis=1, dtype=np.int64), code.astype(np.int32)


def _merged_places(place: I32, calls: Frames) -> I32:
    """Places of one name are one: the first of them stands for all."""
    same = calls.first_of_name().astype(np.int32)
    if not len(same):
        return np.full_like(place, -1)
    known = (place >= 0) & (place < len(same))
    merged: I32 = np.where(known, same[np.where(known, place, 0)], np.int32(-1))
    return merged


def _runs(listed: I64, pieces: I64, work: Compute, found: HostSteps) -> I64:
    """Into how many each owner's time falls.

    The loop's thread cuts the runs of a computing thread beside it into pieces, of which there are
    no more than runs.
    """
    computed = np.flatnonzero(listed[:, 0] == COMPUTED)
    label = listed[computed, 1]
    step = np.searchsorted(found.start_ps, work.start_ps, side="right") - 1
    begun = (step >= 0) & found.kept[step] & (work.start_ps < found.end_ps[step])
    size = len(work.things) + 1
    runs = np.bincount(work.label[begun], minlength=size)
    parts = np.bincount(label, pieces[computed], size)
    share = np.minimum(runs / np.maximum(parts, 1), 1.0)
    result = pieces.astype(np.int64)
    result[computed] = np.maximum(np.rint(pieces[computed] * share[label]), 1)
    return result


def _swept(moments: _Moments, owners: I64, code: I32, work: Compute) -> tuple[I64, I64, I32, I32]:
    """Return compute during the thread's waits: times, owners, the owner of each, and when."""
    rows = np.flatnonzero(moments.waits).astype(np.int32)
    window, label, spent = spent_in(work, moments.start_ps[rows], moments.end_ps[rows])
    at = rows[window]
    del rows, window
    first, which = distinct_rows((code[at], label))
    chosen = owners[code[at[first]]]
    some = label[first] > 0
    chosen[some, 0], chosen[some, 1] = COMPUTED, label[first][some]
    chosen[some, 2] = np.maximum(chosen[some, 2], -1)
    chosen[some, 3] = np.minimum(chosen[some, 3], -1)
    return spent, chosen, which.astype(np.int32), at
