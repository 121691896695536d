"""Something done on the main thread, asked for by another one.

Python runs such calls between two instructions of the main thread, as it runs signal handlers. A
main thread that waits in C code (a long kernel, a lock) does not get to it; the caller then stops
waiting, and the call is forgotten.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any, Final

from stepscope.errors import CaptureError

_CALL: Final = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


class _Pending:
    """A call on its way; the first of running it and giving it up wins."""

    def __init__(self, call: Callable[[], object]) -> None:
        self.call = call
        self.done = threading.Event()
        self.error: BaseException | None = None
        self._taken = threading.Lock()

    def take(self) -> bool:
        """Whether it is the caller's: to run it, or to give it up."""
        return self._taken.acquire(blocking=False)

    def run(self, _: Any) -> int:
        """What the interpreter calls."""
        if self.take():
            try:
                self.call()
            except BaseException as error:  # the main thread's program is not to see it
                self.error = error
            finally:
                self.done.set()
        return 0


# Keeps alive what the interpreter will call. It cannot free itself while it is being called: a
# call that was given up stays.
_on_their_way: dict[int, tuple[_Pending, Any]] = {}


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
    if not pending.done.wait(seconds) and pending.take():
        raise _busy(f"it ran no Python for {seconds:g} s")
    pending.done.wait()
    del _on_their_way[id(pending)]
    if pending.error is not None:
        raise pending.error


def _busy(why: str) -> CaptureError:
    return CaptureError(
        "The main thread could not be asked to end the PyTorch profiler.",
        why=why,
        mend="Stop the recording from the thread that started it, or record with memory=False.",
        slug="main-thread-busy",
    )
