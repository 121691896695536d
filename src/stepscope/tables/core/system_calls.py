"""Calls of the operating system, which Nsight Systems records beside those of the runtime."""

from __future__ import annotations

import re
from typing import Final

_CALL: Final = re.compile(
    r"(?:ioctl|mmap|munmap|f?(?:open|close|read|write|seek|flush|puts|gets)(?:64)?|"
    r"p(?:read|write)v?(?:64)?|fopen64|stat|fork|vfork|exec\w*|posix_\w+|fsync|send(?:to|msg)?|"
    r"recv(?:from|msg)?|socket|connect|bind|listen|pipe2?|pthread_create|sched_yield)$"
)
_WAIT: Final = re.compile(
    r"(?:p?poll|select|epoll_wait|futex|sem_\w*wait|pthread_(?:cond_\w*wait|join)|wait(?:pid|4)|"
    r"\w*sleep|accept4?)$"
)


def is_system_call(name: str) -> bool:
    """Whether a name is that of a call of the operating system that works."""
    return _CALL.match(name) is not None


def is_system_wait(name: str) -> bool:
    """Whether a name is that of a call of the operating system that waits."""
    return _WAIT.match(name) is not None
