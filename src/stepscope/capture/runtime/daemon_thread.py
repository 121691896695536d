"""Threads of ours beside the program."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


def beside(name: str, target: Callable[..., object], *args: Any) -> threading.Thread | None:
    """Begin a thread that does not keep the program from ending.

    None where none can begin: from Python 3.12 on while the interpreter ends, and in a process that
    has as many as the system lets it have. What is written on the way out must do without.
    """
    thread = threading.Thread(target=target, args=args, name=name, daemon=True)
    try:
        thread.start()
    except RuntimeError:
        return None
    return thread
