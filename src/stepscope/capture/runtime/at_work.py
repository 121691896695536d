"""Whether a session of the frameworks begins or ends now: the program may wait for that."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

# One for each that does: appending to a list and taking from it are safe from any thread.
_running: list[None] = []


@contextlib.contextmanager
def at_work() -> Iterator[None]:
    """Within it, a session begins or ends; on a recording's own thread."""
    _running.append(None)
    try:
        yield
    finally:
        _running.pop()


def is_at_work() -> bool:
    """Whether any does; from any thread."""
    return bool(_running)
