"""Long questions end early when nobody waits for the answer any more."""

from __future__ import annotations

from collections.abc import Callable

#: Called now and then during the work; raises ``GivenUp`` when it should end.
CancellationCheck = Callable[[], None]


class GivenUp(Exception):
    """The caller has gone: the work stops, and nothing of it is kept."""


def waits() -> None:
    """Somebody waits to the end."""
