"""What keeps a command short: most of the time of a small recording's answer is start-up.

All of it is for commands that read recordings. Others may run somebody's program, in this process
or one that inherits from it, and that program keeps its collector and its threads.
"""

from __future__ import annotations

import gc
import os
from typing import Final

_READ: Final = frozenset({
    "advise", "ask", "check", "compare", "explain", "export", "ls", "report", "show", "sql",
})  # fmt: skip

_BLAS_THREADS: Final = "OPENBLAS_NUM_THREADS"


def prepare(command: str) -> None:
    """Make ready for a command whose module is about to be imported."""
    if command not in _READ:
        return
    # What modules are made of lives as long as the process, and by default the collector walks it
    # again after every 700 new objects.
    gc.set_threshold(50_000, *gc.get_threshold()[1:])
    _import_numpy()
    # NumPy has imported what these import.
    from stepscope.kernels.memory import keep_freed, share_one_arena

    share_one_arena()
    keep_freed()


def _import_numpy() -> None:
    """Import NumPy without the threads of its linear algebra, of which we use next to nothing.

    Starting them is half of what its import costs the processor, and on a busy machine most of
    the time.
    """
    is_ours = _BLAS_THREADS not in os.environ
    if is_ours:
        os.environ[_BLAS_THREADS] = "1"
    try:
        import numpy  # noqa: F401 - its libraries look at the environment once, now
    finally:
        if is_ours:
            del os.environ[_BLAS_THREADS]
