"""Slices from the begins and ends of calls on one thread, without walking them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.capture.call_tracer.log import I64


@dataclass(frozen=True, slots=True, eq=False)
class CallSpans:
    """Calls of one thread, in no particular order.

    Attributes:
        code: ``id`` of the code object of each.
        start_ns, end_ns: When.
        parent: Row of the call it was made in, -1 for none.
        event: Row of its begin among what was given, -1 for calls that ran before.
        open: Codes of the calls that run still, outermost first.
    """

    code: I64
    start_ns: I64
    end_ns: I64
    parent: I64
    event: I64
    open: list[int]


def pair(code: I64, time: I64, begin_ns: int, end_ns: int) -> CallSpans:
    """Calls from begins (positive codes) and ends (negative) in order of time.

    Begins and ends nest like brackets. The depth after a begin, and before an end, is the level
    of the call; on one level begins and ends take turns. An end without a begin is of a call that
    ran at ``begin_ns`` already, a begin without an end of one that runs at ``end_ns`` still.
    """
    sign = np.where(code > 0, 1, -1)
    after = np.cumsum(sign)
    level = np.where(sign > 0, after, after - sign)
    by_level = np.argsort(level, kind="stable")
    levels, signs = level[by_level], sign[by_level]
    is_first = np.diff(levels, prepend=levels[0] - 1) != 0 if len(levels) else signs > 0
    is_last = np.append(is_first[1:], True) if len(levels) else is_first
    opens = signs > 0
    # The end that goes with a begin comes right after it on its level.
    place = np.flatnonzero(opens)
    unended = is_last[place]
    start_row = by_level[place]
    next_row = by_level[np.minimum(place + 1, max(len(by_level) - 1, 0))]
    end = np.where(unended, end_ns, time[next_row]) if len(place) else np.empty(0, np.int64)
    orphan = by_level[~opens & is_first]
    rows = np.concatenate([start_row, orphan])
    called = np.concatenate([start_row, np.full(len(orphan), -1, np.int64)])
    running = start_row[unended]
    return CallSpans(
        code=np.abs(code[rows]),
        start_ns=np.concatenate([time[start_row], np.full(len(orphan), begin_ns, np.int64)]),
        end_ns=np.concatenate([end, time[orphan]]),
        parent=_parents(level[rows], called),
        event=called,
        open=[int(one) for one in code[running[np.argsort(level[running], kind="stable")]]],
    )


def _parents(level: I64, event: I64) -> I64:
    """The row of the last call of the level above to begin before each call."""
    count = int(event.max()) + 2 if len(event) else 1
    low = int(level.min()) if len(level) else 0
    key = (level - low) * (count + 1) + event + 1
    order = np.argsort(key, kind="stable")
    wanted = (level - low - 1) * (count + 1) + event + 1
    at = np.searchsorted(key[order], wanted, side="right") - 1
    found = order[np.maximum(at, 0)]
    good = (at >= 0) & (level[found] == level - 1)
    parent: I64 = np.where(good, found, -1)
    return parent
