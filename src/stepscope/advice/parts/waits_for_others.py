"""Which functions of the program mostly wait for another thread or process."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stepscope.analysis.step_account import PartRow, StepAccount
    from stepscope.verdicts.other_threads import RivalRow

# The wait's share of the function.
_MOSTLY_FRAC = 0.5
# Who is at work for this share of the wait is what is waited for.
_BUSY_FRAC = 0.5
# Modules with calls in which a thread does nothing but wait for another one, or another process.
_FOR_OTHERS = (
    ("queue _queue queues multiprocessing asyncio", "get put join"),
    (
        "threading synchronize concurrent futures process popen_fork subprocess",
        "wait wait_for acquire join result exception communicate _wait_for_tstate_lock",
    ),
    ("socket ssl", "readinto recv recv_into accept"),
    ("multiprocessing connection selectors select", "recv recv_bytes poll select wait"),
)


def _is_wait_for_others(call: str) -> bool:
    """By the parts of its public name: ``queue.Queue.get`` is one, ``myqueue.get`` is not."""
    *modules, last = call.split(".")
    return any(
        last in calls.split() and not set(named.split()).isdisjoint(modules)
        for named, calls in _FOR_OTHERS
    )


def waits_for_others(part: PartRow) -> bool:
    """Whether a function of the program mostly waits for another thread or process."""
    return (
        part.kind in ("python", "library")
        and part.first_kind == "library"
        and part.first_frac >= _MOSTLY_FRAC
        and _is_wait_for_others(part.first)
    )


def waited_for(part: PartRow, account: StepAccount) -> RivalRow | None:
    """Who is at work for most of the time that a part waits for others; None where nobody is."""
    if not waits_for_others(part):
        return None
    busiest = max(account.rivals.records(), key=lambda one: one.busy_frac, default=None)
    is_busy = busiest is not None and busiest.busy_frac >= _BUSY_FRAC * part.step_frac
    return busiest if is_busy else None
