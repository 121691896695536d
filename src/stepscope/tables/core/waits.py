"""Calls in which a thread only waits, by name: one table for every tool.

A thread that waits computes nothing. Its time belongs to the work that ends the wait, on a device
or on another thread, and to the wait itself only where no such work was recorded.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Final


class Wait(Enum):
    """What ends a wait."""

    DEVICE = "a device"
    """Work on a device, or an asynchronous computation: CUDA, HIP, TensorFlow, PjRt, PyTorch."""
    RUNTIME = "the runtime"
    """Another thread of the framework's runtime."""
    PYTHON = "another thread"
    """Another Python thread, another process or a clock, through Python's standard library."""
    SYSTEM = "the system"
    """The operating system: a lock, a file descriptor, another process or a clock."""


_BY_NAME: Final[dict[Wait, re.Pattern[str]]] = {
    Wait.DEVICE: re.compile(
        r"^(cu|cuda|hip)(Stream|Device|Event|Ctx|Context)?Synchronize|BlockHostUntilDone|"
        r"block_?until_?ready|BlockUntilReady|BlockHostUntilReady|Buffer::Await|"
        # Copies that return when they are done. Those whose name ends in Async return before.
        r"^cu(da)?Memcpy(2D|3D)?(DtoH|HtoD|DtoD|AtoH|HtoA|AtoD|DtoA|AtoA|Peer|(To|From)(Symbol|"
        r"Array)|ArrayToArray)?(_v2)?(_pt[ds][sz])?$|"
        r"^hipMemcpy(2D|3D)?(DtoH|HtoD|DtoD|AtoH|HtoA|Peer|WithStream|(To|From)(Symbol|Array))?$|"
        r"aten::(item|_local_scalar_dense)$|_EagerConst\.numpy|EagerTensor\.numpy|"
        r"SynchronizeAllActivity",
        re.IGNORECASE,
    ),
    Wait.RUNTIME: re.compile(
        r"wait for completion|::Await\b|\bAwait\b|^Wait for |Synchronize(?!d)|BlockUntil|BlockHost|"
        # XLA runs it on a thread of its own for what waits until a buffer has been written.
        r"^BufferSequencingEvent::Execute$|"
        r"\bWaitFor[A-Z]\w*|BlockingCounter::Wait|Notification::Wait|CondVar::Wait|"
        r"condition_variable(?:_any)?::wait|\bwait_tensor\b"
    ),
    Wait.PYTHON: re.compile(
        r"^\$(?:"
        r"(?:.*[/\\])?(?:queue\.py:\d+ (?:\w+\.)*(?:get|put|join)"
        r"|threading\.py:\d+ (?:\w+\.)*(?:wait|wait_for|join|acquire|_wait_for_tstate_lock)"
        r"|selectors\.py:\d+ (?:\w+\.)*select"
        r"|subprocess\.py:\d+ (?:\w+\.)*(?:wait|_wait|_try_wait|communicate|_communicate)"
        r"|(?:futures[/\\])?_base\.py:\d+ (?:\w+\.)*(?:result|wait)"
        r"|(?:multiprocessing[/\\])?(?:connection\.py:\d+ (?:\w+\.)*(?:wait|poll|_poll|_recv)"
        r"|synchronize\.py:\d+ (?:\w+\.)*(?:wait|wait_for|acquire)"
        r"|popen_\w+\.py:\d+ (?:\w+\.)*(?:wait|poll)|queues\.py:\d+ (?:\w+\.)*get)"
        r"|poll\.py:\d+ (?:\w+\.)*poll|socket\.py:\d+ (?:\w+\.)*(?:recv\w*|accept|readinto))"
        r"|(?:time sleep|select (?:e?poll|select|kqueue)|_queue get|_thread (?:lock )?acquire)"
        r"|<built-in (?:method|function) (?:sleep|select|poll"
        r"|acquire of _thread\.\w*lock .*|get of _queue\.SimpleQueue .*"
        r"|poll of select\.\w+ .*)>)$"
    ),
    Wait.SYSTEM: re.compile(
        r"^(?:p?poll|select|epoll_wait|futex|sem_\w*wait|wait(?:pid|4)|"
        r"pthread_(?:cond_\w*wait|join|(?:mutex|rwlock)_(?:timed|rd|wr)?lock)|"
        r"\w*sleep|accept4?)$"
    ),
}
# A name that matches has one of these words, in any case: most names have none, and a look for a
# word takes a hundredth of a search.
_WORDS: Final[dict[Wait, tuple[str, ...]]] = {
    Wait.DEVICE: ("sync", "block", "await", "memcpy", "item", "scalar_dense", "numpy"),
    Wait.RUNTIME: ("wait", "sync", "block", "bufferseq"),
    Wait.PYTHON: ("$",),
    Wait.SYSTEM: ("poll", "select", "wait", "futex", "pthread", "sleep", "accept"),
}
# Python functions in which JAX and TensorFlow wait for what they compute, by file and function.
_FETCHES: Final = re.compile(
    r"(api\.py (try_to_block|block_until_ready|device_get)"
    r"|array\.py (_value|__(array|float|int|bool|index|complex|format|repr|str|iter)__|item|tolist|"
    r"block_until_ready|_single_device_array\w*)"
    r"|ops\.py (_?numpy|__(array|float|int|bool|index)__|_numpy_internal))"
)
_SYSTEM_CALL: Final = re.compile(
    r"(?:ioctl|m(?:un)?map(?:64)?|mremap|m(?:protect|advise|lock)|"
    r"f?d?(?:open|close|read|write|flush|puts|gets)(?:at)?(?:64)?(?:_unlocked)?|"
    r"p(?:read|write)v?(?:64)?|[fl]?stat(?:64)?|fcntl(?:64)?|flock|dup[23]?|[fl]seek(?:64)?|"
    r"(?:get|put)c|getentropy|sig(?:nal|action|procmask)|backtrace|fork|vfork|exec\w*|"
    r"posix_\w+|fsync|send(?:to|msg)?|recv(?:from|msg)?|socket|connect|bind|listen|pipe2?|"
    r"pthread_(?:create|cond_(?:signal|broadcast)|mutex_trylock)|sched_yield|"
    r"OS runtime libraries profiling \w+)$"
)
_PYTHON_CALL: Final = re.compile(r"\$(?P<file>.+?):\d+ (?P<function>.+)", re.S)


def wait_of(name: str) -> Wait | None:
    """What ends the wait that a host event of this name is; None if it is no wait."""
    call = _PYTHON_CALL.match(name)
    if call is not None and waits_for_device(call["file"], call["function"]):
        return Wait.DEVICE
    lower = name.lower()
    return next((wait for wait in _BY_NAME if _is(wait, name, lower)), None)


def _is(wait: Wait, name: str, lower: str) -> bool:
    for word in _WORDS[wait]:
        if word in lower:
            return _BY_NAME[wait].search(name) is not None
    return False


def waits_for_device(file: str, function: str) -> bool:
    """Whether a Python function is one in which a framework waits for what it computes."""
    base = re.split(r"[/\\]", file)[-1]
    return _FETCHES.fullmatch(f"{base} {function.rpartition('.')[2]}") is not None


def is_wait_for_device(name: str) -> bool:
    """Whether a host event of this name is a call that returns when the device has finished."""
    return _is(Wait.DEVICE, name, name.lower())


def is_system_wait(name: str) -> bool:
    """Whether a name is that of a call of the operating system that waits."""
    return _BY_NAME[Wait.SYSTEM].match(name) is not None


def is_system_call(name: str) -> bool:
    """Whether a name is that of a call of the operating system that works."""
    return _SYSTEM_CALL.match(name) is not None
