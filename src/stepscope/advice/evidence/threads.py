"""Whom the loop waits for: makers of input, holders of locks, models that dispatch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stepscope.result import Place
from stepscope.tables.core.thresholds import HALF_FRAC, THIRD_FRAC
from stepscope.tables.python.frames import LOCK_CALL

if TYPE_CHECKING:
    from stepscope.analysis.step_account import AccountPart, StepAccount
    from stepscope.verdicts.other_threads import LockHolderRow, RivalRow

# Modules with calls in which a thread does nothing but wait for another one, or another process.
_FOR_OTHERS: Final = (
    ("queue _queue queues multiprocessing asyncio", "get put join"),
    (
        "threading synchronize concurrent futures process popen_fork subprocess",
        "wait wait_for acquire join result exception communicate _wait_for_tstate_lock",
    ),
    ("socket ssl", "readinto recv recv_into accept"),
    ("multiprocessing connection selectors select", "recv recv_bytes poll select wait"),
)
# Methods of sockets, which a sampler of C calls names without their module.
_OF_SOCKETS: Final = ("recv", "recv_into", "accept")
# Calls by which a server waits for its next request.
_REQUESTS: Final = (
    "get", "accept", "recv", "recv_into", "readinto", "recv_bytes", "poll", "select",
)  # fmt: skip
# Names by which frameworks call a model or a layer.
_MODEL_CALLS: Final = ("forward", "call", "__call__")
_OPS: Final = ("op", "function", "eager")


def maker(account: StepAccount | None) -> RivalRow | None:
    """Return the thread that is in the program's Python most while the loop runs; None for none.

    What tf.data calls goes first. A thread that holds the lock all the time is another matter
    (``gil-contention``).
    """
    listed = () if account is None else account.rivals.records()
    others = (one for one in listed if one.function and (one.makes_input or not one.loop_waits))
    return max(others, key=lambda one: (one.makes_input, one.busy_frac), default=None)


def place(row: RivalRow | LockHolderRow | None) -> Place | None:
    """Return where a thread is; None for none."""
    return None if row is None else Place(row.function, row.file, row.line or 0, call=row.call)


def waits_for_lock(part: AccountPart) -> bool:
    """Return whether a function of the program mostly waits for a lock."""
    return part.text("first") == LOCK_CALL and _is_mostly_its_call(part)


def waits_for_others(part: AccountPart) -> bool:
    """Return whether a function of the program mostly waits for another thread or process."""
    is_call = part.text("first_kind") == "library" and _is_mostly_its_call(part)
    return is_call and is_wait_for_others(part.text("first"))


def _is_mostly_its_call(part: AccountPart) -> bool:
    return part.kind in ("python", "library") and part.number("first_frac") >= HALF_FRAC


def is_wait_for_others(call: str) -> bool:
    """Return whether a public name is of a wait: ``queue.Queue.get`` is, ``myqueue.get`` is not."""
    *modules, last = call.split(".")
    if not modules:
        return last in _OF_SOCKETS
    return any(
        last in calls.split() and not set(named.split()).isdisjoint(modules)
        for named, calls in _FOR_OTHERS
    )


def waits_for_requests(part: AccountPart, account: StepAccount, serves: bool) -> bool:
    """Return whether a thread waits for work that nobody makes.

    Args:
        part: A part of the account.
        account: The step account.
        serves: Whether the program infers: a training's loop that waits so starves.
    """
    is_idle = (account.is_window or serves) and waited_for(part, account) is None
    return is_idle and waits_for_others(part) and part.text("first").rpartition(".")[2] in _REQUESTS


def waited_for(part: AccountPart, account: StepAccount) -> RivalRow | None:
    """Return who is at work for most of the time that a part waits for others; None for nobody."""
    if not waits_for_others(part):
        return None
    busiest = max(account.rivals.records(), key=lambda one: one.busy_frac, default=None)
    is_busy = busiest is not None and busiest.busy_frac >= HALF_FRAC * part.step_frac
    return busiest if is_busy else None


def place_of_wait(part: AccountPart, account: StepAccount) -> Place | None:
    """Return where another thread is that a part waits for; None where none is known."""
    held = list(account.lock_holders.records())
    if waits_for_lock(part):
        return place(held[0] if held and held[0].wait_frac >= THIRD_FRAC else None)
    return place(waited_for(part, account))


def dispatches(account: StepAccount | None, function: str, own_ms: float) -> bool:
    """Return whether a function is a model's or a layer's, whose ops take as long as its Python.

    Args:
        account: The step account; None unknown.
        function: A function of the program.
        own_ms: Time of its Python per step.
    """
    if account is None or not is_model(function):
        return False
    parts = account.part_list()
    return sum(part.time_ms for part in parts if part.kind in _OPS) >= own_ms


def is_model(function: str) -> bool:
    """Return whether a function is by its name a model's work."""
    return function.rpartition(".")[2] in _MODEL_CALLS or function.endswith("_forward")
