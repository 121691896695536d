"""Where the numbers are from, and one line of progress."""

from __future__ import annotations

import os
import platform
import sys
from typing import Any


def machine() -> dict[str, Any]:
    """Where the numbers are from, and what else was going on there."""
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": os.cpu_count() or 1,
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0,
    }


def say(text: str) -> None:
    """One line of progress."""
    print(f"▸ {text}", file=sys.stderr, flush=True)
