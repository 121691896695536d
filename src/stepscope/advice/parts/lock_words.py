"""What to say of a part in which the loop waits for a lock."""

from __future__ import annotations

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
_HOLD_LESS: Final = (
    "Hold the lock only for what threads share: prepare before, and write, log and compute after "
    "it; or give each thread its own copy, and put together what they made."
)


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
    listed = list(account.lock_holders.records())[:_PLACES]
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
            "Threads that all want one lock do the work of one: count what a single thread does.",
        ),
        f"{part.file}:{part.line}" if part.file and part.line else name,
    )


def lock_place(account: StepAccount) -> Place | None:
    """Where the thread is that has the lock; None where none stands out."""
    first = _first(account)
    if first is None:
        return None
    return Place(first.function, first.file, first.line or 0, call=first.call)


def _first(account: StepAccount) -> LockHolderRow | None:
    first = next(account.lock_holders.records(), None)
    return first if first is not None and first.wait_frac >= _HOLDS_FRAC else None


def _where(one: LockHolderRow) -> str:
    place = f"{one.file}:{one.line}" if one.line else one.file
    what = f"{one.call} in {one.function}" if one.call else one.function
    return f"{what} ({place})"


def _leave_out(one: LockHolderRow) -> str:
    what = f"{one.call} in {one.function}" if one.call else one.function
    return f"Leave out {what}, or do it where the lock is not held, and time the loop."
