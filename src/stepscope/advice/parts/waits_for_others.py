"""Which functions of the program mostly wait for another thread or process."""

from __future__ import annotations

import re
from math import isnan
from typing import TYPE_CHECKING, Final

from stepscope.advice.parts.hints.calls import of_call
from stepscope.advice.parts.lock_words import LockTurns, turns
from stepscope.advice.parts.part_facts import PartWords, at, called_from, share, unusual

if TYPE_CHECKING:
    from stepscope.analysis.step_account import PartRow, StepAccount
    from stepscope.verdicts.other_threads import OutsideWaitRow, RivalRow

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
    "Give what makes it more threads or processes, or less to do for each piece; let it make "
    "larger pieces at once, or more of them ahead."
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


# What collects whatever comes in, by its name.
_GATHERS: Final = re.compile(r"collect|batch|gather|drain|assembl|coalesc", re.IGNORECASE)
_WINDOW: Final = (
    "If it collects requests until a time limit, a batch that cannot fill waits that limit out. Go "
    "on as soon as no more can come (all who could ask are waiting for answers), or shorten the "
    "limit to the delay that a request can bear."
)
# Threads that wait for something outside for this share of the wait are what is waited for.
_OUTSIDE_FRAC = 0.5
_IDLE_SERVER = "A server that nobody asks waits, too: that time is free."


def _outside(account: StepAccount) -> OutsideWaitRow | None:
    """Where threads wait for a clock or another machine; None where that is little of the wait."""
    most = max(account.outside_waits.records(), key=lambda one: one.wait_frac, default=None)
    return most if most is not None and most.wait_frac >= _OUTSIDE_FRAC else None


def _beside(account: StepAccount) -> tuple[str, str]:
    """What is known of other threads where none of them stands out, and what to do first."""
    if isnan(account.nobody_frac):
        return "What other threads do meanwhile was not recorded.", _SEE_OTHERS
    # They are at work, each for little of the time.
    return "Other threads of the process are at work for a part of it.", ""


def _who(one: RivalRow | OutsideWaitRow, verbs: tuple[str, str]) -> str:
    """Threads and what they do: "thread loader_2 waits", "4 threads such as loader_2 wait"."""
    if one.count > 1:
        return f"{one.count:.0f} threads such as {one.thread} {verbs[1]}"
    return f"thread {one.thread} {verbs[0]}"


def _at_work(one: RivalRow) -> str:
    """What a thread does: "numpy.convolve in Room.reverberate (train.py:52)"."""
    return f"{one.call} in {_where(one)}" if one.call else _where(one)


def _where(one: RivalRow | OutsideWaitRow) -> str:
    return f"{one.function} ({f'{one.file}:{one.line}' if one.line else one.file})"


def words_for_others(part: PartRow, account: StepAccount) -> PartWords:
    """What waits cannot be left out: what it waits for is to be quicker."""
    taken = turns(account)
    if taken is not None:
        what, beside, actions = _for_turns(taken)
    else:
        what, beside, actions = _for_makers(part, account)
    name, call = part.function or part.name, part.first
    called = called_from(part) if part.function else ""
    facts = " ".join(unusual(part))
    within = "" if name == call else f" in {call}"
    message = (
        f"{name}{at(part)}{called} waits{within} for another thread or process: "
        f"{share(part, account)}. {beside} {facts}"
    ).strip()
    return PartWords(
        f"Waiting {what or f'in {call}'} takes {part.step_frac:.0%} of the step",
        message,
        actions,
        f"{part.file}:{part.line}" if part.file and part.line else name,
    )


# What is waited for, as the end of "Waiting …", what others do meanwhile, and what to do.
_Told = tuple[str, str, tuple[str, ...]]


def _for_turns(taken: LockTurns) -> _Told:
    """Where the threads take turns at a lock: more of them would not help."""
    what = f"for {taken.brief} that take turns at {taken.lock}"
    return what, f"{taken.threads} take turns at {taken.lock}. {taken.held}", taken.actions


def _for_makers(part: PartRow, account: StepAccount) -> _Told:
    """Where they make what it waits for, wait themselves, or nobody is at work."""
    other, outside = waited_for(part, account), _outside(account)
    is_nobody = account.nobody_frac >= _NOBODY_FRAC
    if outside is not None and (is_nobody or other is None):
        waits = f"{_who(outside, ('waits', 'wait'))} in {outside.call} in {_where(outside)}"
        beside = f"Meanwhile {waits} for {outside.wait_frac:.0%} of it."
        return "", beside, (_MORE_OF_IT, _IDLE_SERVER)
    if is_nobody:
        return "", _NOBODY, (_GO_ON, _IDLE_SERVER)
    beside, first = _beside(account)
    busiest = max(account.rivals.records(), key=lambda one: one.busy_frac, default=None)
    if busiest is not None:
        who, first = _who(busiest, ("is", "are")), ""
        beside = f"Beside it {who} in {_at_work(busiest)} for {busiest.busy_frac:.0%} of it."
    what, asked = "", tuple[str, ...]()
    if other is None and _GATHERS.search(part.function):
        asked = (_WINDOW,)
    if other is not None:
        what = f"for {_at_work(other)} on another thread"
        asked = of_call(other.call, is_most=True)
        first = f"Leave out what {other.function} does, or a part of it, and time the loop."
    idle = () if other is not None else (_IDLE_SERVER,)
    return what, beside, (*asked, *filter(None, (first, _MORE_OF_IT)), *idle)
