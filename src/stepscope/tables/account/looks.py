"""What looks at a thread's Python tell of the stretches between them.

A sampler writes what it saw from one look until a look that saw something else. On a busy machine
looks are ten milliseconds apart, and an op or a gap between two of them takes one: what was seen
before it may long be over.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.columns import distinct_keys
from stepscope.columns.space import I64, Bool
from stepscope.tables.account import native as of_native
from stepscope.tables.account.frames import Frames
from stepscope.tables.account.native import Native
from stepscope.tables.core.distinct_rows import distinct_rows

# Gaps between the same two ops are the same code's if as large a share of the looks says so.
_AGREED = 2 / 3


def place_by_looks(
    said: Native, calls: Frames, event: I64, begin_ps: I64, until_ps: I64, step_ps: I64, call: I64
) -> None:
    """Write into ``call`` which sampled call each moment is in, as far as looks tell.

    Args:
        said: What the frameworks recorded on the thread.
        calls: What the sampler saw of it.
        event: Of each moment, the innermost of ``said``; -1 none.
        begin_ps: When each moment begins, ascending.
        until_ps: When it ends.
        step_ps: When each step begins.
        call: What was seen last, by place in ``calls``.
    """
    _within_ops(said, calls, event, begin_ps, call)
    gaps = _gaps(said, event, begin_ps, until_ps)
    if len(gaps.start_ps) and len(calls.looks_ps):
        _within_gaps(gaps, calls, begin_ps, step_ps, call)


def _within_ops(said: Native, calls: Frames, event: I64, begin_ps: I64, call: I64) -> None:
    """An op is called from one place: the first look within it tells, from its begin on."""
    ops = np.flatnonzero((event >= 0) & (said.kind[event] == of_native.OP))
    at = event[ops]
    seen, look = calls.first_seen(said.start_ps[at], said.start_ps[at] + said.length_ps[at])
    early = (seen >= 0) & (begin_ps[ops] < look)
    call[ops[early]] = seen[early]


@dataclass(frozen=True, eq=False, slots=True)
class _Gaps:
    """Stretches in which nothing of the frameworks' own tells what the thread does.

    Attributes:
        start_ps, end_ps: Of each.
        first, last: Its first moment, and the one after its last.
        key: The same for gaps between the same two ops.
    """

    start_ps: I64
    end_ps: I64
    first: I64
    last: I64
    key: I64


def _gaps(said: Native, event: I64, begin_ps: I64, until_ps: I64) -> _Gaps:
    kind = np.where(event >= 0, said.kind[np.maximum(event, 0)], of_native.NOTHING)
    is_gap: Bool = np.isin(kind, (of_native.NOTHING, of_native.PART))
    edge = np.diff(np.concatenate([[0], is_gap.astype(np.int8), [0]]))
    first, last = np.flatnonzero(edge == 1), np.flatnonzero(edge == -1)
    label = np.concatenate([[-1], np.where(event >= 0, said.label[event], -1), [-1]])
    key = (label[first] + 1) * (len(said.labels) + 1) + label[last + 1] + 1
    return _Gaps(begin_ps[first], until_ps[last - 1], first, last, key.astype(np.int64))


def _within_gaps(gaps: _Gaps, calls: Frames, begin_ps: I64, step_ps: I64, call: I64) -> None:
    """The first look within a gap tells from its begin on; of a gap without, those like it.

    Where these do not, what was seen in an earlier step, out of the program's functions, is over.
    """
    seen, look = calls.first_seen(gaps.start_ps, gaps.end_ps)
    around = calls.seen_around(gaps.start_ps, gaps.end_ps)
    told = np.where(seen >= 0, seen, _of_the_like(gaps, calls))
    told = np.where((seen < 0) & (around >= 0), around, told)
    until = np.where(seen >= 0, look, gaps.end_ps)
    last = np.maximum(np.searchsorted(calls.moments.start_ps, gaps.start_ps, side="right") - 1, 0)
    looked = np.searchsorted(step_ps, calls.looks_ps[last], side="right")
    over = (told < 0) & (looked < np.searchsorted(step_ps, gaps.start_ps, side="right"))
    over &= calls.call[calls.moments.owner[last]] >= 0
    length = gaps.last - gaps.first
    gap = np.repeat(np.arange(len(length)), length)
    moment = np.arange(len(gap)) - np.repeat(np.cumsum(length) - length, length)
    moment += np.repeat(gaps.first, length)
    early = (told[gap] >= 0) | over[gap]
    early &= begin_ps[moment] < until[gap]
    call[moment[early]] = told[gap[early]]


def _of_the_like(gaps: _Gaps, calls: Frames) -> I64:
    """Of each gap, what most looks into gaps between the same two ops found; -1 unknown."""
    gap = np.searchsorted(gaps.start_ps, calls.looks_ps, side="right") - 1
    inside = (gap >= 0) & (calls.looks_ps < gaps.end_ps[np.maximum(gap, 0)])
    gap, seen = gap[inside], calls.moments.owner[inside]
    found = np.full(len(gaps.key), -1, dtype=np.int64)
    if len(gap) == 0:
        return found
    own = np.where(calls.line[seen] >= 0, calls.line[seen], calls.own[seen])
    columns = [np.where(one >= 0, calls.name[one], -1) for one in (own, calls.call[seen])]
    _first, what = distinct_rows([gaps.key[gap], *columns])
    times = np.bincount(what)
    keys, which = distinct_keys(gaps.key[gap])
    whole = np.bincount(which)
    for_key = np.lexsort((times[what], which))  # the last of each key is what was seen most
    best = for_key[np.cumsum(whole) - 1]
    agreed = times[what[best]] >= _AGREED * whole
    known = gaps.key[gap][keys]
    at = np.minimum(np.searchsorted(known, gaps.key), len(known) - 1)
    same = (known[at] == gaps.key) & agreed[at]
    found[same] = seen[best[at[same]]]
    return found
