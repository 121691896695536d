"""Through which library's call the program runs an op: a metric, a solver, an augmentation.

A line such as ``self.auc.compute()`` runs a dozen ops that the program has never heard of; what it
can change is the call.
"""

from __future__ import annotations

import numpy as np

from stepscope.tables.account.account import Account
from stepscope.tables.core.profile import Host
from stepscope.tables.parts.grouping import Part
from stepscope.tables.python.frames import LIBRARY, Frames
from stepscope.tables.python.functions import is_decorator


def _is_on_thread(host: Host, found: Account, calls: Frames, event: int) -> bool:
    """Whether an op ran on the thread that these calls are of."""
    lines, (ran, own) = host.space.lines, host.space.lines_of(np.asarray([event, calls.rows[0]]))
    return int(ran) == found.line or lines[ran].id == lines[own].id


def _seen_in(host: Host, calls: Frames, event: int) -> tuple[int, int]:
    """When the thread's calls were known within an op, and the innermost; -1 where never.

    What a look saw before the op may have ended before it, too.
    """
    start = host.space.events.start_ps[event : event + 1]
    if not calls.is_sampled:
        return int(start[0]), int(calls.moments.at(start)[0])
    at, when = calls.first_seen(start, start + host.space.length_ps[event])
    return int(when[0]), int(at[0])


def library_call(host: Host, found: Account, one: Part, event: int) -> str:
    """The library's call that runs a part's op on the loop's thread; "" where none does.

    Args:
        host: Whose.
        found: The account.
        one: A part of ops.
        event: Row of the longest run of its largest op.
    """
    calls = found.frames
    if calls is None or event < 0 or one.kind != "op" or one.first.on_device or one.first.others:
        return ""
    if not one.first.file:  # another thread ran it: what this one was in meanwhile says nothing
        return ""
    if not _is_on_thread(host, found, calls, event):
        return ""
    now, at = _seen_in(host, calls, event)
    # What a thread runs, it does not run in a wait.
    if at < 0 or calls.call[at] < 0 or calls.is_passive[at]:
        return ""
    # From the program's call outwards to the innermost, in the order in which they began.
    begin = int(calls.call[at])
    during = (calls.start_ps <= now) & (calls.start_ps + calls.length_ps > now)
    during &= calls.call == begin
    inwards = np.flatnonzero(during)
    for row in inwards[np.argsort(calls.start_ps[inwards], kind="stable")].tolist():
        name = calls.names[int(calls.name[row])]
        if int(calls.kind[row]) != LIBRARY:
            return ""
        if name.function and name.public and not is_decorator(name.function):
            return name.public
    return ""
