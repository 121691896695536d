"""What looks at a thread's Python tell of the stretches between them.

A sampler writes what it saw from one look until a look that saw something else. On a busy machine
looks are ten milliseconds apart, and an op or a gap between two of them takes one: what was seen
before it may long be over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.columns import among, distinct, distinct_keys
from stepscope.columns.space import I32, I64, Bool
from stepscope.tables.account import native as of_native
from stepscope.tables.account.native import Native
from stepscope.tables.core.distinct_rows import distinct_rows
from stepscope.tables.python.frames import Frames

# So many looks at ops of a name would hardly miss a function that runs half of them.
_OFTEN: Final = 5
_FAR: Final = np.iinfo(np.int64).max


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
    """An op is called from one place: the first look within it tells, from its begin on.

    One that nobody looked at is not where no op of its name was ever seen, if many were.
    """
    ops = np.flatnonzero((event >= 0) & (said.kind[event] == of_native.OP))
    if len(ops) == 0 or len(calls.looks_ps) == 0:
        return
    first, place = distinct_keys(event[ops].astype(np.int64))
    row = event[ops][first]
    start, end = said.start_ps[row], said.start_ps[row] + said.length_ps[row]
    seen, look = calls.first_seen(start, end)
    around = calls.seen_around(start, end)
    last = np.where(around >= 0, around, call[ops[first]])
    # Looks ten milliseconds apart see the same line in two turns of a loop: what they tell of an op
    # between them counts where too few ops of its name were looked at.
    known = (seen >= 0) & (said.label[row] >= 0)
    often = np.bincount(said.label[row][known], minlength=int(said.label.max()) + 2) >= _OFTEN
    found = np.where((seen >= 0) | often[said.label[row]], seen, around)
    elsewhere = _of_the_name(said.label[row], start, calls, found, last)
    told = np.where(seen >= 0, seen, np.where(elsewhere >= 0, elsewhere, around))
    until = np.where(seen >= 0, look, end)
    early = (told[place] >= 0) & (begin_ps[ops] < until[place])
    call[ops[early]] = told[place[early]]


def _of_the_name(label: I32, start_ps: I64, calls: Frames, found: I64, last: I64) -> I64:
    """Where an op of the same name was seen, nearest in time, of those that lie elsewhere.

    Args:
        label: Of each op.
        start_ps: When it begins.
        calls: What the sampler saw.
        found: What a look within it found, or the looks around it where those count; -1 neither.
        last: What the looks around it found, or was seen last before it; -1 nothing.

    Returns:
        -1 of ops that looks tell of, or that may well be where the program was seen last.
    """
    told = np.full(len(label), -1, dtype=np.int64)
    sure = np.flatnonzero((found >= 0) & (label >= 0))
    open_ = np.flatnonzero((found < 0) & (last >= 0) & (label >= 0))
    if len(sure) < _OFTEN or len(open_) == 0:
        return told
    room = len(calls.name) + 1
    there = label[sure].astype(np.int64) * room + _function(calls, found[sure])
    here = label[open_].astype(np.int64) * room + _function(calls, last[open_])
    often = np.bincount(label[sure], minlength=int(label.max()) + 1) >= _OFTEN
    open_ = open_[often[label[open_]] & ~among(distinct(there), here)]
    order = sure[np.lexsort((start_ps[sure], label[sure]))]
    span = len(label)
    rank = np.empty(span, dtype=np.int64)
    rank[np.argsort(start_ps, kind="stable")] = np.arange(span)
    known = label[order].astype(np.int64) * span + rank[order]
    after = np.searchsorted(known, label[open_].astype(np.int64) * span + rank[open_])
    best, apart = np.full(len(open_), -1, dtype=np.int64), np.full(len(open_), _FAR, np.int64)
    for at in (after - 1, after):
        one = order[np.clip(at, 0, len(order) - 1)]
        away = np.abs(start_ps[one] - start_ps[open_])
        nearer = (label[one] == label[open_]) & (away < apart)
        best[nearer], apart[nearer] = found[one[nearer]], away[nearer]
    told[open_] = best
    return told


def _function(calls: Frames, call: I64) -> I64:
    """The program's function that each call is in, by a number of its name; 0 none."""
    own = calls.own[call]
    _first, number = distinct_keys(calls.name)
    return np.where(own >= 0, number[np.maximum(own, 0)] + 1, 0)


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
    looks, owner = calls.looks()
    gap = np.searchsorted(gaps.start_ps, looks, side="right") - 1
    inside = (gap >= 0) & (looks < gaps.end_ps[np.maximum(gap, 0)]) & (owner >= 0)
    gap, seen = gap[inside], owner[inside]
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
