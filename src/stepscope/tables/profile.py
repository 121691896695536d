"""Profile: the decoded facts of one session, handed to every tool.

A ``Profile`` is one or many ``Host``s; a ``Host`` is one decoded XSpace. Everything else under
``tables`` is a function of one of them, marked ``@derived``: computed when first asked for,
then kept with its owner, so tools share the work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from threading import RLock
from typing import Any, TypeVar

from stepscope.columns.space import Space
from stepscope.result import Diagnostic

T = TypeVar("T")
Owner = TypeVar("Owner", "Host", "Profile")


@dataclass(frozen=True, eq=False)
class Host:
    """One host of a session: its name and its columns."""

    name: str
    space: Space
    cache: dict[str, Any] = field(default_factory=dict, repr=False)
    lock: RLock = field(default_factory=RLock, repr=False)


@dataclass(frozen=True, eq=False)
class Profile:
    """One session.

    Attributes:
        name: The session's name (the run directory, or the file).
        hosts: Its hosts, in name order.
        diagnostics: What the store already knows (files that did not open, damage).
    """

    name: str
    hosts: tuple[Host, ...]
    diagnostics: tuple[Diagnostic, ...] = ()
    cache: dict[str, Any] = field(default_factory=dict, repr=False)
    lock: RLock = field(default_factory=RLock, repr=False)


def derived(build: Callable[[Owner], T]) -> Callable[[Owner], T]:
    """Memoise a table on its owner: built once per host or profile, by whoever asks first."""
    key = f"{build.__module__}.{build.__qualname__}"

    @wraps(build)
    def get(owner: Owner) -> T:
        if key not in owner.cache:  # without the lock: what is built waits for no other table
            with owner.lock:
                if key not in owner.cache:
                    owner.cache[key] = build(owner)
        found: T = owner.cache[key]
        return found

    return get
