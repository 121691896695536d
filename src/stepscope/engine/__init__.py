"""A function over many items, wherever there are processors: here, in processes, on a cluster.

``run`` is the only door. What is done is reported as it is done, in any order; to stop, stop
iterating. One item's failure is its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import TypeVar

from stepscope.engine.outcome import Done, Engine, Failed, Outcome
from stepscope.errors import UsageError

__all__ = ["ENGINES", "Done", "Engine", "Failed", "Outcome", "run"]

Item = TypeVar("Item")
Answer = TypeVar("Answer")

#: By name, the module that has it; imported when it is asked for.
ENGINES: dict[str, str] = {
    "here": "stepscope.engine.here",
    "pool": "stepscope.engine.pool",
    "ray": "stepscope.engine.on_ray",
}


def run(
    items: Sequence[Item],
    work: Callable[[Item], Answer],
    *,
    engine: str,
    bytes_of: Callable[[Item], int],
    budget_bytes: int = 0,
    width: int = 0,
) -> Iterator[Outcome[Item, Answer]]:
    """Apply a function to items.

    Args:
        items: What to work on; they and the answers travel between processes.
        work: A function of a module, so that other processes can import it.
        engine: A name in ``ENGINES``.
        bytes_of: What an item needs at most in memory.
        budget_bytes: What all that run at once may need; 0: as much as there is.
        width: How many run at once at most; 0: as many as there are processors.

    Raises:
        UsageError: There is no such engine, or it is not installed.
    """
    if engine not in ENGINES:
        raise UsageError(f"There is no engine {engine!r}.", hint=f"One of {', '.join(ENGINES)}.")
    chosen: Engine = import_module(ENGINES[engine]).ENGINE
    # Largest first: the last to end is then one item, not many.
    ordered = sorted(items, key=bytes_of, reverse=True)
    return chosen(ordered, work, bytes_of, budget_bytes, width)
