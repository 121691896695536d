"""How many cores this process may use."""

from __future__ import annotations

import os


def cores() -> int:
    """As many as the process is allowed on, which containers, Slurm and taskset make fewer."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1
