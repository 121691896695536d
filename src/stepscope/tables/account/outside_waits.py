"""Where other threads wait for a clock or another machine while the loop waits for them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.columns import union_spans
from stepscope.columns.space import Bool
from stepscope.tables.core.interval_overlap import covered
from stepscope.tables.python.frames import RECORDER, Frames
from stepscope.tables.python.idle_calls import is_idle
from stepscope.tables.python.stays import Spans, Stay, Threads, most_at_once, stays

# A thread that is there for more of the time makes nothing of what comes: it keeps watch.
_NEVER_LEAVES_FRAC = 0.98
_PLACES = 5


@dataclass(frozen=True, slots=True)
class OutsideWait:
    """A place at which threads wait for what no thread of the process makes.

    Attributes:
        thread: Its name; of several, that of the one that is there most.
        count: How many are there at once, at most.
        function, file, line: The program's.
        call: What it calls of a library there, by its public name.
        wait_frac: Share of the loop's waits in which one of them is there.
    """

    thread: str
    count: int
    function: str
    file: str
    line: int
    call: str
    wait_frac: float


def outside_waits(threads: Threads, waits: Spans) -> list[OutsideWait]:
    """The places with most of the loop's waits, the largest first."""
    chosen = [_outside(calls, waits) for _thread, calls in threads]
    whole = int((waits[1] - waits[0]).sum()) or 1
    found = [_told(one, waits, whole) for one in stays(threads, chosen, waits)]
    return sorted(found, key=lambda one: -one.wait_frac)[:_PLACES]


def _outside(calls: Frames, waits: Spans) -> Bool:
    """Calls of the program that sleep or read from a socket; none of one that does nothing else."""
    found: Bool = is_idle(calls) & ~calls.is_passive & (calls.own >= 0) & (calls.kind != RECORDER)
    there = covered(*waits, calls.moments.start_ps, calls.moments.end_ps)
    outside = there[found[calls.moments.owner]].sum()
    return found if outside <= _NEVER_LEAVES_FRAC * there.sum() else np.zeros_like(found)


def _told(one: Stay, waits: Spans, whole: int) -> OutsideWait:
    frac = int(covered(*union_spans(*one.moments), *waits).sum()) / whole
    count = most_at_once(*one.moments)
    return OutsideWait(one.thread, count, one.function, one.file, one.line, one.call, frac)
