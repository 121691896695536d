"""A run whose owner's names are taken out: of its folder, its hosts, and what they recorded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from threading import Lock
from typing import Final

from stepscope.columns.space import Space
from stepscope.redaction import Redaction, key_of, redact
from stepscope.store import Found, Run

NAME: Final = "recording"


def anonymous(found: Found, run: Run) -> tuple[Found, Run]:
    """The search and the run under names that tell nothing; files stay where they are."""
    sources = tuple(
        replace(source, host=f"host-{number}", note="")
        for number, source in enumerate(run.sources, start=1)
    )
    named = replace(run, id=NAME, path=NAME, sources=sources)
    return Found(NAME, (named,), (), found.folders, found.files), named


class Redactor:
    """Redacts the hosts of one run under one key and one epoch.

    Args:
        redaction: What to take out.
        first: Decodes the run's first host, from whose names the key is taken.
    """

    def __init__(self, redaction: Redaction, first: Callable[[], Space]) -> None:
        self._redaction, self._first = redaction, first
        self._lock = Lock()
        self._secret: tuple[bytes, int] | None = None

    def __call__(self, space: Space, *, is_first: bool) -> Space:
        """A host's columns, redacted."""
        with self._lock:
            if self._secret is None:
                first = space if is_first else self._first()
                self._secret = (self._redaction.key or key_of(first), first.origin_ns)
        return redact(space, self._redaction.level, *self._secret)
