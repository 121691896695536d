"""When the loop's thread waits for what other threads make, and what these call."""

from __future__ import annotations

from stepscope.tables.account.account import Account
from stepscope.tables.core.interval_overlap import common_spans
from stepscope.tables.core.profile import Host
from stepscope.tables.python.frames import FRAMEWORK
from stepscope.tables.python.idle_calls import for_lock
from stepscope.tables.python.other_threads import other_threads
from stepscope.tables.python.stays import Spans, Threads

# Who waits less is not asked what others do: to read the calls of many threads takes its time.
_LEAST_FRAC = 0.05


def loop_waits(host: Host, found: Account) -> tuple[Threads, Spans] | None:
    """The other threads, and when the loop waits for them; None where it hardly does.

    A wait for a lock is not one, and a wait within a framework is for a device.
    """
    calls = found.frames
    if calls is None or not calls.is_passive.any():
        return None
    steps = found.found
    start, end = steps.start_ps[steps.kept], steps.end_ps[steps.kept]
    waits = calls.is_passive & ~for_lock(calls) & (calls.kind != FRAMEWORK)
    mine = waits[calls.moments.owner]
    spans = common_spans(calls.moments.start_ps[mine], calls.moments.end_ps[mine], start, end)
    if int((spans[1] - spans[0]).sum()) < _LEAST_FRAC * int((end - start).sum()):
        return None
    return list(other_threads(host, calls, int(start[0]), int(end[-1]))), spans
