"""A library's call that runs the loop: what it calls counts as what the program calls.

``Trainer.train`` has all of every step; that it takes 84 % says nothing. What can be changed is
what it does besides the model: it saves, evaluates, logs. A call from the program's line stands for
what it calls unless it goes on through the steps.
"""

from __future__ import annotations

import numpy as np

from stepscope.columns.space import I64, Bool
from stepscope.records import dataclass, replace
from stepscope.tables.core.thresholds import ALL_FRAC, DEEPEST, DOZENS, HALF_FRAC, MOST_FRAC
from stepscope.tables.core.time_spans import covered
from stepscope.tables.python.frames import FRAMEWORK, LIBRARY, Frames
from stepscope.tables.python.moments import one_line
from stepscope.tables.steps.attribution import HostSteps

# Whose calls may run a loop: Keras's is a framework's own.
_CARRY = (LIBRARY, FRAMEWORK)


def below_carriers(calls: Frames, steps: HostSteps, ops: tuple[I64, I64]) -> Frames:
    """The calls, each below a library's loop with the call out of that loop that it lies in.

    ``ops`` is when ops ran on the thread: begins and ends, disjoint and ascending.
    """
    begin, end = steps.kept_spans
    moments = calls.moments
    at = np.maximum(np.searchsorted(begin, moments.start_ps, side="right") - 1, 0)
    inside = (moments.start_ps >= begin[0]) & (moments.start_ps < end[at])
    spent = (moments.end_ps - moments.start_ps)[inside]
    in_ops = covered(*ops, moments.start_ps[inside], moments.end_ps[inside])
    seen = _Seen(calls, moments.owner[inside], spent, in_ops, calls.functions()[0])
    first = moments.at(begin[1:])
    begin, first = begin[1:][first >= 0], first[first >= 0]
    if len(first) == 0:
        return calls
    call, is_carried = calls.call, np.zeros(len(calls.rows), dtype=bool)
    parent = None
    for _level in range(DOZENS):
        name = seen.carrier(call)
        begun = call[first]
        is_around = (begun >= 0) & (seen.code[np.maximum(begun, 0)] == name)
        if not calls.is_sampled:  # a look is not the begin of what it finds
            is_around &= calls.start_ps[np.maximum(begun, 0)] < begin
        if name < 0 or is_around.sum() < MOST_FRAC * len(first):
            break
        if parent is None:
            parent = one_line(calls.start_ps, calls.length_ps).parent.astype(np.int64)
        below = np.flatnonzero((call >= 0) & (seen.code[np.maximum(call, 0)] == name))
        outer, call = call, call.copy()
        call[below] = _next(calls, parent, below, outer[below])
        is_carried |= call != outer
    if parent is None:
        return calls
    for _level in range(DOZENS):
        wrappers = seen.wrappers(call, parent, is_carried)
        if not wrappers:
            break
        named = (call >= 0) & np.isin(seen.code[np.maximum(call, 0)], wrappers)
        rows = np.flatnonzero(named & is_carried)
        call[rows] = _next(calls, parent, rows, call[rows])
    return replace(calls, call=call, is_carried=is_carried)


def _next(calls: Frames, parent: I64, rows: I64, outer: I64) -> I64:
    """Of rows within calls that go out of the program, what each of these calls next; or itself."""
    now = rows.copy()
    for _level in range(DEEPEST):
        up = np.where(now == outer, outer, parent[now])
        climbs = up != outer
        if not climbs.any():
            break
        now = np.where(climbs, up, now)
    # Lines of the call are the call's own.
    return np.where(calls.named(lambda one: not one.function)[now], outer, now)


@dataclass(frozen=True, eq=False, slots=True)
class _Seen:
    """Calls that were seen in the steps.

    Attributes:
        calls: All calls.
        owner: The innermost ones.
        spent_ps: How long each was that.
        in_ops_ps: For how long of it ops ran.
        code: The function of each of ``calls``.
    """

    calls: Frames
    owner: I64
    spent_ps: I64
    in_ops_ps: I64
    code: I64

    def carrier(self, call: I64) -> int:
        """The library's call out of the program that has nearly all; -1 none."""
        own = call[self.owner]
        mine = (own >= 0) & np.isin(self.calls.kind[np.maximum(own, 0)], _CARRY)
        if not mine.any():
            return -1
        time = np.bincount(self.code[own[mine]], weights=self.spent_ps[mine])
        return int(time.argmax()) if time.max() >= ALL_FRAC * self.spent_ps.sum() else -1

    def wrappers(self, call: I64, parent: I64, is_carried: Bool) -> list[int]:
        """Functions of libraries below a carrier that stand for nothing.

        One other has nearly all of their time, or ops have most of it: it is the model's, which
        the whole loop is for.
        """
        calls, own = self.calls, call[self.owner]
        mine = (own >= 0) & is_carried[self.owner]
        mine &= np.isin(calls.kind[np.maximum(own, 0)], _CARRY)
        owner, outer, spent = self.owner[mine], own[mine], self.spent_ps[mine]
        inner = _next(calls, parent, owner, outer)
        is_called = inner != outer
        within = is_called & np.isin(calls.kind[inner], _CARRY)
        if not is_called.any():
            return []
        pairs, code = np.unique(
            np.stack([self.code[outer], np.where(within, self.code[inner], -1)]),
            axis=1,
            return_inverse=True,
        )
        time = np.bincount(code.ravel(), weights=spent)
        whole = np.bincount(self.code[outer], weights=spent)
        is_alone = (pairs[1] >= 0) & (pairs[1] != pairs[0])
        is_alone &= time >= ALL_FRAC * whole[pairs[0]]
        runs_ops = np.bincount(self.code[outer], weights=self.in_ops_ps[mine]) >= HALF_FRAC * whole
        runs_ops &= np.bincount(self.code[outer], weights=is_called) > 0
        return [*pairs[0][is_alone].tolist(), *np.flatnonzero(runs_ops).tolist()]
