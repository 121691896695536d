"""Profile: the decoded facts of one session, handed to every tool.

A ``Profile`` is one or many ``Host``s; a ``Host`` is one decoded XSpace. Everything else under
``tables`` is a function of one of them, marked ``@derived``: computed when first asked for,
then kept with its owner, so tools share the work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from threading import RLock
from typing import Any, Literal, TypeVar

from stepscope.columns.space import Space
from stepscope.kernels.cores import on_cores
from stepscope.kernels.memory import give_back
from stepscope.records import dataclass, field
from stepscope.result import Diagnostic

#: What times are of: the mean step, or the recording as a whole.
TimeBase = Literal["step", "recording"]
# Whose steps times are of, where several hosts run them: in each step the slowest host's, those of
# the host with the longest ones, the mean or the sum over hosts.
StepsOf = Literal["slowest", "longest", "mean", "sum"]

T = TypeVar("T")
Owner = TypeVar("Owner", "Host", "Profile")


@dataclass(frozen=True, eq=False)
class Host:
    """One host of a session.

    Attributes:
        name: Its name.
        space: Its columns.
        as_window: Whether the recording as a whole counts as a step, whatever steps it has.
        span_ps: The range of its clock that it is clipped to; None: as long as it was recorded.
        whole: What it was clipped from: a value of a counter holds until the next one.
    """

    name: str
    space: Space
    as_window: bool = False
    span_ps: tuple[int, int] | None = None
    whole: Host | None = field(default=None, repr=False)
    cache: dict[str, Any] = field(default_factory=dict, repr=False)
    locks: dict[str, RLock] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, eq=False)
class Profile:
    """One session.

    Attributes:
        name: The session's name (the run directory, or the file).
        hosts: Its hosts, in name order.
        diagnostics: What the store already knows (files that did not open, damage).
        times_of: What times are of (``tables.steps.time_base``); None: what each tool's are of by
            itself.
        beside: Hosts of other recordings of the same program, such as its other windows; they are
            opened when this is called.
        selection: The part of the recording that this is, in words; "" for all of it.
    """

    name: str
    hosts: tuple[Host, ...]
    diagnostics: tuple[Diagnostic, ...] = ()
    times_of: TimeBase | None = None
    beside: Callable[[], tuple[Host, ...]] = tuple
    selection: str = ""
    cache: dict[str, Any] = field(default_factory=dict, repr=False)
    locks: dict[str, RLock] = field(default_factory=dict, repr=False)


def _key_of(table: Callable[[Owner], T]) -> str:
    return f"{table.__module__}.{table.__qualname__}"


def known(table: Callable[[Owner], T], owner: Owner) -> T | None:
    """A derived table if it is there already; None if it would have to be built."""
    found: T | None = owner.cache.get(_key_of(table))
    return found


def set_known(table: Callable[[Owner], T | None], owner: Owner, value: T | None) -> None:
    """Give a new owner a derived table that follows from another owner's."""
    owner.cache[_key_of(table)] = value


def derived(build: Callable[[Owner], T]) -> Callable[[Owner], T]:
    """Memoise a table on its owner: built once per host or profile, by the first caller.

    Each table has a lock of its own, so threads build different tables beside each other. They
    cannot wait for each other in a circle, because tables do not need each other in a circle.
    """
    key = _key_of(build)

    @wraps(build)
    def get(owner: Owner) -> T:
        if key not in owner.cache:  # without the lock: what is built waits for no other table
            with owner.locks.setdefault(key, RLock()):
                if key not in owner.cache:
                    owner.cache[key] = build(owner)
        found: T = owner.cache[key]
        return found

    return get


# Below this many events the threads cost more than they save.
_TOGETHER_FROM_EVENTS = 1 << 17


def build_together(hosts: Sequence[Host], *tables: Callable[[Host], object]) -> None:
    """Build tables of all hosts on all cores, for a tool that will ask for them anyway.

    NumPy and the kernels let go of the interpreter on long arrays, so tables that do not need
    each other do run at the same time. What they share is built once, by the first to need it.
    """
    if sum(len(host.space.events) for host in hosts) < _TOGETHER_FROM_EVENTS:
        return
    wanted = [(table, host) for host in hosts for table in tables]
    on_cores(lambda one: one[0](one[1]), wanted, "stepscope-tables")
    give_back()  # what they were made from
