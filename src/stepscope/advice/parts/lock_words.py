"""What to say of a part in which the loop, or threads that it waits for, wait for a lock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from stepscope.advice.parts.part_facts import PartWords, at, called_from, share
from stepscope.result import Place
from stepscope.tables.python.frames import LOCK_CALL

if TYPE_CHECKING:
    from stepscope.analysis.step_account import PartRow, StepAccount
    from stepscope.verdicts.other_threads import LockHolderRow

# The call's share of a part that mostly waits for a lock.
_MOSTLY_FRAC: Final = 0.5
# So many places are named; the first is who has the lock where it has this share of the waits.
_PLACES, _HOLDS_FRAC = 3, 0.3
# Beside the first, who holds it for less of the wait is not told.
_SOME_FRAC: Final = 0.05
_HOLD_LESS: Final = (
    "Hold the lock only for what threads share: prepare before, and write, log and compute after "
    "it; or give each thread its own copy, and put together what they made."
)
_OF_ONE: Final = "Threads that all want one lock do the work of one."


def waits_for_lock(part: PartRow) -> bool:
    """Whether a function of the program mostly waits for a lock."""
    return (
        part.kind in ("python", "library")
        and part.first == LOCK_CALL
        and part.first_frac >= _MOSTLY_FRAC
    )


def lock_words(part: PartRow, account: StepAccount) -> PartWords:
    """Where it waits, and what the thread that has the lock does meanwhile."""
    name = part.function or part.name
    called = called_from(part) if part.function else ""
    listed = _holders(account)[:_PLACES]
    meanwhile = ", ".join(f"{_where(one)} {one.wait_frac:.0%}" for one in listed)
    first = _first(account)
    return PartWords(
        f"Waiting for a lock takes {part.step_frac:.0%} of the step"
        + (f"; {_where(first)} holds it" if first is not None else ""),
        f"{name}{at(part)}{called} waits for a lock: {share(part, account)}. "
        + (
            f"Meanwhile other threads are in {meanwhile} of that time."
            if meanwhile
            else "What other threads do meanwhile was not recorded."
        ),
        (
            *(() if first is None else (_leave_out(first),)),
            _HOLD_LESS,
            f"{_OF_ONE[:-1]}: count what a single thread does.",
        ),
        f"{part.file}:{part.line}" if part.file and part.line else name,
    )


def lock_place(account: StepAccount) -> Place | None:
    """Where the thread is that has the lock; None where none stands out."""
    first = _first(account)
    if first is None:
        return None
    return Place(first.function, first.file, first.line or 0, call=first.call)


def _holders(account: StepAccount) -> list[LockHolderRow]:
    """Who has a lock that the loop itself waits for."""
    return [one for one in account.lock_holders.records() if not one.waiters]


@dataclass(frozen=True, slots=True)
class LockTurns:
    """Threads that take turns at a lock while the loop waits for what they make.

    Attributes:
        threads: Who and how many they are: "4 threads such as loader_2".
        brief: The same without a name.
        lock: Where they ask for it.
        held: What its holder does meanwhile.
        actions: What to do.
        place: The function that asks for it.
    """

    threads: str
    brief: str
    lock: str
    held: str
    actions: tuple[str, ...]
    place: Place


def turns(account: StepAccount) -> LockTurns | None:
    """Who takes turns at a lock, in words; None where nobody does."""
    listed = [one for one in account.lock_holders.records() if one.waiters]
    if not listed:
        return None
    first = listed[0]
    told = [first, *(one for one in listed[1:_PLACES] if one.wait_frac >= _SOME_FRAC)]
    brief = f"{first.waiters + 1:.0f} threads"
    file, line = first.taken_file, first.taken_line
    lock = f"a lock in {first.taken_in} ({f'{file}:{line}' if line else file})"
    shares = (f"{_where(one)} for {one.wait_frac:.0%} of the wait" for one in told)
    return LockTurns(
        f"{brief} such as {first.thread}",
        brief,
        lock,
        f"Meanwhile the thread that holds it is in {', in '.join(shares)}.",
        (f"Do {_what(first)} where the lock is not held, and time the loop.", _HOLD_LESS, _OF_ONE),
        Place(first.taken_in, file, line or 0),
    )


def _first(account: StepAccount) -> LockHolderRow | None:
    first = next(iter(_holders(account)), None)
    return first if first is not None and first.wait_frac >= _HOLDS_FRAC else None


def _where(one: LockHolderRow) -> str:
    place = f"{one.file}:{one.line}" if one.line else one.file
    return f"{_what(one)} ({place})"


def _what(one: LockHolderRow) -> str:
    return f"{one.call} in {one.function}" if one.call else one.function


def _leave_out(one: LockHolderRow) -> str:
    return f"Leave out {_what(one)}, or do it where the lock is not held, and time the loop."
