"""What looks at a thread's Python tell of the stretches between them.

A sampler writes what it saw from one look until a look that saw something else. On a busy machine
looks are ten milliseconds apart, and an op or a gap between two of them takes one: what was seen
before it may long be over.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.columns.space import I32, I64, Bool
from stepscope.tables.account import native as of_native
from stepscope.tables.account.frames import Frames
from stepscope.tables.account.native import Native
from stepscope.tables.core.distinct_rows import distinct_rows


def place_by_looks(
    said: Native, calls: Frames, event: I32, begin_ps: I64, until_ps: I64, call: I32
) -> None:
    """Write into ``call`` which sampled call each moment is in, as far as looks tell.

    Args:
        said: What the frameworks recorded on the thread.
        calls: What the sampler saw of it.
        event: Of each moment, the innermost of ``said``; -1 none.
        begin_ps: When each moment begins, ascending.
        until_ps: When it ends.
        call: What was seen last, by place in ``calls``.
    """
    _within_ops(said, calls, event, begin_ps, call)
    gaps = _gaps(said, event, begin_ps, until_ps)
    if len(gaps.start_ps) and len(calls.looks_ps):
        _within_gaps(gaps, calls, begin_ps, call)


def _within_ops(said: Native, calls: Frames, event: I32, begin_ps: I64, call: I32) -> None:
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


def _gaps(said: Native, event: I32, begin_ps: I64, until_ps: I64) -> _Gaps:
    kind = np.where(event >= 0, said.kind[np.maximum(event, 0)], of_native.NOTHING)
    is_gap: Bool = np.isin(kind, (of_native.NOTHING, of_native.PART))
    edge = np.diff(np.concatenate([[0], is_gap.astype(np.int8), [0]]))
    first, last = np.flatnonzero(edge == 1), np.flatnonzero(edge == -1)
    label = np.concatenate([[-1], np.where(event >= 0, said.label[event], -1), [-1]])
    _first, key = distinct_rows([label[first], label[last + 1]])
    return _Gaps(begin_ps[first], until_ps[last - 1], first, last, key)


def _within_gaps(gaps: _Gaps, calls: Frames, begin_ps: I64, call: I32) -> None:
    """The first look within a gap tells from its begin on; of a gap without, those like it."""
    seen, look = calls.first_seen(gaps.start_ps, gaps.end_ps)
    around = calls.seen_around(gaps.start_ps, gaps.end_ps)
    told = np.where(seen >= 0, seen, _of_the_like(gaps, calls))
    told = np.where((seen < 0) & (around >= 0), around, told)
    until = np.where(seen >= 0, look, gaps.end_ps)
    length = gaps.last - gaps.first
    gap = np.repeat(np.arange(len(length)), length)
    moment = np.arange(len(gap)) - np.repeat(np.cumsum(length) - length, length)
    moment += np.repeat(gaps.first, length)
    early = (told[gap] >= 0) & (begin_ps[moment] < until[gap])
    call[moment[early]] = told[gap[early]]


def _of_the_like(gaps: _Gaps, calls: Frames) -> I64:
    """Of each gap, what the last look into one between the same two ops found, or the next.

    It leaves each kind of gap the shares that looks into them have; -1 where nobody looked.
    """
    gap = np.searchsorted(gaps.start_ps, calls.looks_ps, side="right") - 1
    inside = (gap >= 0) & (calls.looks_ps < gaps.end_ps[np.maximum(gap, 0)])
    gap, seen = gap[inside], calls.moments.owner[inside]
    if len(gap) == 0:
        return np.full(len(gaps.key), -1, dtype=np.int64)
    room = len(gaps.key)
    looked = gaps.key[gap] * room + gap  # ascending by kind of gap, then by time
    order = np.argsort(looked, kind="stable")
    looked, seen = looked[order], seen[order]
    before = np.searchsorted(looked, gaps.key * room + np.arange(room)) - 1
    found = np.full(room, -1, dtype=np.int64)
    for at in (before + 1, before):  # the one before it counts, if there is one
        known = np.clip(at, 0, len(looked) - 1)
        same = (at == known) & (looked[known] // room == gaps.key)
        found[same] = seen[known[same]]
    return found
