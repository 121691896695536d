"""Whether a session of the frameworks begins or ends now: the program may wait for that."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

_running = 0


@contextlib.contextmanager
def at_work() -> Iterator[None]:
    """Within it, a session begins or ends; on a recording's own thread."""
    global _running
    _running += 1
    try:
        yield
    finally:
        _running -= 1


def is_at_work() -> bool:
    """Whether any does; from any thread."""
    return _running > 0
