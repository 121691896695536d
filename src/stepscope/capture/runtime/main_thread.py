"""Something done on the main thread, asked for by another one.

Python runs such calls between two instructions of the main thread, as it runs signal handlers. A
main thread that waits (for a lock, a thread, a socket) is woken for it by a signal that means
nothing, SIGURG, if ``prepare`` was called before. One that computes in C code does not get to it;
the caller then stops waiting, and the call is forgotten.

A signal handler of the program's may wait for the thread that asked: ``finish`` does at SIGTERM.
Within a call no handler runs therefore, and one that waits calls ``run_waiting``, as Python runs no
such call inside of another.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Final

from stepscope.errors import CaptureError

_CALL: Final = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


_WAKE: Final = getattr(signal, "SIGURG", None)
# Signals that end programs, and those that they use for their own ends.
_DEFERRED: Final = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGALRM")
    if hasattr(signal, name)
)
_WAKES, _WAKE_SECONDS = 5, 0.01
# How long a main thread may take without being woken, and how often it is woken after that.
_PATIENCE_SECONDS: Final = 0.1


def prepare() -> None:
    """Have the main thread ready to be woken; called on it. A handler of the program's stays."""
    if _WAKE is not None and signal.getsignal(_WAKE) in (signal.SIG_DFL, signal.SIG_IGN):
        signal.signal(_WAKE, _woken)


def _woken(number: int, frame: FrameType | None) -> None:
    """Nothing: to be interrupted is all there is to it."""


def _wake() -> None:
    ident = threading.main_thread().ident
    if _WAKE is not None and ident is not None and signal.getsignal(_WAKE) is _woken:
        signal.pthread_kill(ident, _WAKE)


class _Pending:
    """A call on its way; the first of running it and giving it up wins."""

    def __init__(self, call: Callable[[], object]) -> None:
        self.call = call
        self.done = threading.Event()
        self.error: BaseException | None = None
        #: Signals that came meanwhile, for which no handler has run.
        self.deferred: list[int] = []
        self._taken = threading.Lock()
        self._is_over = False
        self._process = os.getpid()

    def take(self) -> bool:
        """Whether it is the caller's: to run it, or to give it up."""
        return self._taken.acquire(blocking=False)

    def run(self, _: Any) -> int:
        """Run the call, for the interpreter; in a child that was forked just then, do nothing."""
        if os.getpid() == self._process:
            with _signals_deferred() as came:
                if self.take():
                    self.deferred = came
                    try:
                        self.call()
                    except BaseException as error:  # the main thread's program is not to see it
                        self.error = error
                    self._is_over = True
            # Handlers are back, so that the thread that asked can send the signals again. One that
            # runs just here gets to this line by run_waiting.
            if self._is_over:
                self.done.set()
        return 0


# Keeps alive what the interpreter will call. It cannot free itself while it is being called: a
# call that was given up stays.
_on_their_way: dict[int, tuple[_Pending, Any]] = {}


# Handlers of the program's while signals are deferred.
_handlers: dict[int, Any] = {}


@contextlib.contextmanager
def _signals_deferred() -> Iterator[list[int]]:
    """No signal handler of Python's runs within; yields the list of the signals that come."""
    came: list[int] = []
    wakeup = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(wakeup)

    def defer(number: int, frame: FrameType | None) -> None:
        came.append(number)

    try:
        # An event loop with a descriptor for signals hears of them in any case.
        for number in _DEFERRED if wakeup == -1 else ():
            handler = signal.getsignal(number)
            if callable(handler):
                _handlers[number] = handler
                signal.signal(number, defer)
        yield came
    finally:
        _restore_handlers()


def _restore_handlers() -> None:
    """Restore the handlers of signals; also in a child that another thread forks meanwhile."""
    while _handlers:
        signal.signal(*_handlers.popitem())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_restore_handlers)


def run_waiting() -> None:
    """Run pending calls if this is the main thread; for loops that wait for other threads."""
    if threading.current_thread() is threading.main_thread():
        for pending, _ in list(_on_their_way.values()):
            pending.run(None)


def _send_again(numbers: list[int]) -> None:
    """Send deferred signals to the main thread."""
    for number in numbers:
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    # A main thread that is just going back to its wait would run the handlers only after it.
    for _ in range(_WAKES):
        time.sleep(_WAKE_SECONDS)
        _wake()


def on_main_thread(call: Callable[[], object], *, seconds: float) -> None:
    """Run a call on the main thread and wait for it; at once when this is the main thread.

    Args:
        call: What to run; it must be short.
        seconds: How long to wait.

    Raises:
        CaptureError: The main thread did not get to it in time.
    """
    if threading.current_thread() is threading.main_thread():
        call()
        return
    pending = _Pending(call)
    function = _CALL(pending.run)
    _on_their_way[id(pending)] = pending, function
    add = ctypes.pythonapi.Py_AddPendingCall
    add.argtypes = (_CALL, ctypes.c_void_p)
    if add(function, None) != 0:
        raise _busy("too many calls wait for it already")
    deadline = time.monotonic() + seconds
    while not pending.done.wait(min(_PATIENCE_SECONDS, seconds)):
        if time.monotonic() < deadline:
            _wake()
        elif pending.take():
            raise _busy(f"it ran no Python for {seconds:g} s")
    pending.done.wait()
    del _on_their_way[id(pending)]
    if pending.deferred:
        _send_again(pending.deferred)
    if pending.error is not None:
        raise pending.error


def _busy(why: str) -> CaptureError:
    return CaptureError(
        "The main thread could not end the PyTorch profiler.",
        why=why,
        hint="Stop the recording from the thread that started it, or record with memory=False.",
        slug="main-thread-busy",
    )
