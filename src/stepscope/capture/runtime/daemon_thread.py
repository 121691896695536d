"""Background threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


def beside(name: str, target: Callable[..., object], *args: Any) -> threading.Thread | None:
    """Start a thread that does not keep the program from ending.

    None if none can start: from Python 3.12 on while the interpreter ends, and in a process that
    has reached the system's limit. What is written at exit must do without.
    """
    thread = threading.Thread(target=target, args=args, name=name, daemon=True)
    try:
        thread.start()
    except RuntimeError:
        return None
    return thread
