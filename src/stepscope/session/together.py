"""How many recordings can be open together; a pod may have more, and needs only summaries."""

from __future__ import annotations

import os
from typing import Final

from stepscope.errors import StepscopeError
from stepscope.store import Run

#: A recording costs milliseconds however small it is; a job that hangs has a dump per rank.
MOST_HOSTS: Final = 4096
# Columns need about so many times the bytes of a file; of a compressed one, many times more.
_TIMES_FILE: Final = 5
_TIMES_COMPRESSED: Final = 40


class TooManyTogether(StepscopeError):
    """More recordings than fit beside each other."""

    slug = "too-many-together"
    exit_code = 2


def decoded_bytes(path: str, size_bytes: int) -> int:
    """What the columns of a recording need in memory, roughly."""
    return size_bytes * (_TIMES_COMPRESSED if path.endswith(".gz") else _TIMES_FILE)


def check_together(run: Run, hosts: tuple[str, ...]) -> None:
    """Refuse to open more hosts at once than fit into memory.

    Raises:
        TooManyTogether: With what to do instead.
    """
    wanted = set(hosts)
    if len(wanted) == 1:
        return  # alone it may be tried
    sources = [source for source in run.sources if source.host in wanted]
    needed = sum(decoded_bytes(source.path, source.size_bytes) for source in sources)
    memory = _memory_bytes()
    if len(sources) <= MOST_HOSTS and needed <= memory:
        return
    size = sum(source.size_bytes for source in sources) / 1e9
    memory_why = (
        f"They hold {size:,.1f} GB; side by side they need about {needed / 1e9:,.0f} GB of "
        f"memory of {memory / 1e9:,.0f}."
    )
    raise TooManyTogether(
        f"{len(sources):,} recordings are too many to open together.",
        where=run.path,
        why=memory_why if needed > memory else f"The limit is {MOST_HOSTS:,}.",
        hint="`stepscope pod` (on the pages: Pod) reads all of them, and with --baseline compares "
        "two such runs; open a few with --host A,B.",
    )


def _memory_bytes() -> int:
    """The memory of this machine; without an answer there is no limit."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 1 << 62
