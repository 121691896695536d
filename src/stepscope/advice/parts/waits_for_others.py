"""Which functions of the program mostly wait for another thread or process."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

from stepscope.advice.parts.part_facts import PartWords, at, called_from, share, unusual

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


_SEE_OTHERS = (
    "Record what other threads do: stepscope record, or stepscope.Profile, samples all threads; "
    "the frameworks' own recorders of Python see the one that starts them."
)

_MORE_OF_IT = (
    "Look at what makes what it waits for: more threads or processes of it, larger portions at "
    "once, more of them ahead, or less to do for each."
)
# Nobody is at work beside a wait where this share of the waits has nobody.
_NOBODY_FRAC = 0.8
_NOBODY = (
    "No other thread of the process is at work meanwhile: a time limit ends the wait (a timeout, "
    "a batching window, an interval), or something outside of the process."
)
_GO_ON = (
    "Look for that limit. Go on with what has come as soon as no more can come (all who could ask "
    "wait for their answers), or shorten it to the delay that a request can bear."
)


def _beside(account: StepAccount) -> tuple[str, str]:
    """What other threads do while the loop waits, and what to do first; "" nothing."""
    if isnan(account.nobody_frac):
        return "What other threads do meanwhile was not recorded.", _SEE_OTHERS
    if account.nobody_frac >= _NOBODY_FRAC:
        return _NOBODY, _GO_ON
    # They are at work, each for little of the time.
    return "Other threads of the process are at work for a part of it.", ""


def words_for_others(part: PartRow, account: StepAccount) -> PartWords:
    """What waits cannot be left out: what it waits for is to be quicker."""
    name, call = part.function or part.name, part.first
    called = called_from(part) if part.function else ""
    other = max(account.rivals.records(), key=lambda one: one.busy_frac, default=None)
    beside, first = _beside(account)
    what = f"in {call}"
    if other is not None and first != _GO_ON:
        first = ""
        where = f"{other.file}:{other.line}" if other.line else other.file
        who = f"thread {other.thread} is"
        if other.count > 1:
            who = f"{other.count:.0f} threads such as {other.thread} are"
        beside = f"Beside it {who} in {other.function} ({where}) for {other.busy_frac:.0%} of it."
        if waited_for(part, account) is not None:
            what = f"for {other.function} ({where}) on another thread"
            first = f"Leave out what {other.function} does, or a part of it, and time the loop."
    facts = " ".join(unusual(part))
    within = "" if name == call else f" in {call}"
    message = (
        f"{name}{at(part)}{called} waits{within} for another thread or process: "
        f"{share(part, account)}. {beside} {facts}"
    ).strip()
    return PartWords(
        f"Waiting {what} takes {part.step_frac:.0%} of the step",
        message,
        (
            *filter(None, (first, "" if first == _GO_ON else _MORE_OF_IT)),
            "A server that nobody asks waits, too: that time is free.",
        ),
        f"{part.file}:{part.line}" if part.file and part.line else name,
    )
