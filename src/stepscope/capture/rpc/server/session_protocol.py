"""What the service needs of the recording session, and the session of this process as that."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from stepscope.capture.options import ProfilerOptions
from stepscope.capture.result import Capture

_OWNERS = {"person": "by the program itself", "remote": "by a capture from outside"}


def said_of(owner: str) -> str:
    """Who records, in words; the owner's name may come from another version."""
    return _OWNERS.get(owner, f"by {owner!r}")


class CountedSteps(Protocol):
    """How many steps have ended since counting began."""

    @property
    def count(self) -> int:
        """Steps so far."""
        ...


class Door(Protocol):
    """The one recording session of a process, entered from outside."""

    def start(self, logdir: str, options: ProfilerOptions, steps: int | None = None) -> None:
        """Begin a recording that ends after ``steps`` steps, or by ``stop``.

        Raises ``CaptureError`` with the owner's name when somebody records already.
        """
        ...

    def stop(self, *, save: bool) -> Capture:
        """End what ``start`` began; with ``save`` it is one file below ``logdir``."""
        ...

    def recording(self) -> bool:
        """Whether what ``start`` began still records; a budget or a person may have ended it."""
        ...

    def owner(self) -> str:
        """Who records now: "person", "remote" or ""."""
        ...

    def counting(self) -> AbstractContextManager[CountedSteps]:
        """Count the steps the program marks while inside; begun after ``start``."""
        ...


def process_door() -> Door:
    """The session of this process."""
    from stepscope.capture.rpc.server.process_session import SessionDoor

    return SessionDoor()
