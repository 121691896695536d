"""In this process, one after another: for a few files, and for tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from stepscope.engine.outcome import Done, Failed, Outcome, describe_error


def run_here(
    items: Sequence[Any],
    work: Callable[[Any], Any],
    bytes_of: Callable[[Any], int],
    budget_bytes: int,
    width: int,
) -> Iterator[Outcome[Any, Any]]:
    """Run one item after another."""
    for item in items:
        try:
            yield Done(item, work(item))
        except Exception as error:
            yield Failed(item, describe_error(error))


ENGINE = run_here
