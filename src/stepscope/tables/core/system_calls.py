"""Calls of the operating system, which Nsight Systems records beside those of the runtime."""

from __future__ import annotations

import re
from typing import Final

_CALL: Final = re.compile(
    r"(?:ioctl|m(?:un)?map(?:64)?|mremap|m(?:protect|advise|lock)|"
    r"f?d?(?:open|close|read|write|flush|puts|gets)(?:at)?(?:64)?(?:_unlocked)?|"
    r"p(?:read|write)v?(?:64)?|[fl]?stat(?:64)?|fcntl(?:64)?|flock|dup[23]?|[fl]seek(?:64)?|"
    r"(?:get|put)c|getentropy|sig(?:nal|action|procmask)|backtrace|fork|vfork|exec\w*|"
    r"posix_\w+|fsync|send(?:to|msg)?|recv(?:from|msg)?|socket|connect|bind|listen|pipe2?|"
    r"pthread_(?:create|cond_(?:signal|broadcast)|mutex_trylock)|sched_yield|"
    r"OS runtime libraries profiling \w+)$"
)
_WAIT: Final = re.compile(
    r"(?:p?poll|select|epoll_wait|futex|sem_\w*wait|wait(?:pid|4)|"
    r"pthread_(?:cond_\w*wait|join|(?:mutex|rwlock)_(?:timed|rd|wr)?lock)|"
    r"\w*sleep|accept4?)$"
)


def is_system_call(name: str) -> bool:
    """Whether a name is that of a call of the operating system that works."""
    return _CALL.match(name) is not None


def is_system_wait(name: str) -> bool:
    """Whether a name is that of a call of the operating system that waits."""
    return _WAIT.match(name) is not None
