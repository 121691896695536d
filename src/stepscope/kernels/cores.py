"""How many cores this process may use, and work spread over them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def cores() -> int:
    """As many as the process is allowed on, which containers, Slurm and taskset make fewer."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def on_cores(
    work: Callable[[T], R], items: Iterable[T], name: str, threads: int | None = None
) -> list[R]:
    """``work`` on every item, results in their order.

    NumPy and the kernels let go of the interpreter on long arrays, so threads do run side by side.

    Args:
        work: What to do with one.
        items: Those that take longest first.
        name: What the threads are called.
        threads: So many at a time; the cores this process may use by default. With one thread or
            one item the work is done here.
    """
    items = list(items)
    threads = min(threads or cores(), len(items))
    if threads <= 1:
        return [work(item) for item in items]
    from concurrent.futures import ThreadPoolExecutor  # 3 ms that a small recording never needs

    with ThreadPoolExecutor(threads, name) as pool:
        return list(pool.map(work, items))
