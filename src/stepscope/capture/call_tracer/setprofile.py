"""Hears of calls through ``sys.setprofile`` (before Python 3.12).

A thread has its hook to itself: the calling thread and those that begin later are heard, not
those that ran before. For the same reason a hook cannot be taken from another thread; once
hearing has ended, each takes itself off at its next call.
"""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections.abc import Callable
from threading import get_ident
from types import CodeType, FrameType
from typing import Any, Final

from stepscope.capture.call_tracer.log import NOWHERE, Log
from stepscope.capture.runtime.main_thread import on_main_thread
from stepscope.capture.runtime.ticker import THREAD_PREFIX

# Between two chunks a hook stays this long, waiting for the recording to go on.
_GRACE_NS: Final = 1_000_000_000
_INSTALL_SECONDS: Final = 5.0


# Hooks of ours that a thread may still have.
_hooks: weakref.WeakSet[Any] = weakref.WeakSet()


def _is_ours() -> bool:
    """Whether this is a thread of the recording, which is not to be heard itself."""
    return threading.current_thread().name.startswith(THREAD_PREFIX)


# This thread's hook, and that of threads to come: as a pair of how to ask and how to set.
_PLACES: Final = (
    (sys.getprofile, sys.setprofile),
    (threading.getprofile, threading.setprofile),
)


def _take_off(hook: Callable[..., object], places: Any = _PLACES) -> None:
    """Take a hook off the calling thread, and off those to come."""
    for installed, install in places:
        if installed() is hook:
            install(None)


class SetProfile:
    """Hears of calls while it is on.

    Args:
        log: Receives the calls.
        admits: Which functions count.
        with_lines: Whether to note where each call was made.
    """

    def __init__(self, log: Log, admits: Callable[[CodeType], bool], *, with_lines: bool) -> None:
        # Since when it is off; 0 while it is on.
        self._off_since: list[int] = [0]
        self._hook = self._made(log, admits, with_lines)
        self._is_installed = False

    def start(self) -> None:
        """Begin to hear, or go on; raises ``RuntimeError`` when another hook is set."""
        self._off_since[0] = 0
        if self._is_installed:
            return
        if _is_ours():
            on_main_thread(self._install, seconds=_INSTALL_SECONDS)
        else:
            self._install()

    def _install(self) -> None:
        for what, other in (
            ("sys.setprofile", sys.getprofile()),
            ("threading.setprofile", threading.getprofile()),
        ):
            if other is not None and other not in _hooks:
                raise RuntimeError(f"{other!r} is set by {what} already")
        _hooks.add(self._hook)
        threading.setprofile(self._hook)
        sys.setprofile(self._hook)
        self._is_installed = True

    def stop(self) -> None:
        """Hear no more."""
        self._off_since[0] = time.perf_counter_ns()
        if self._is_installed and not _is_ours():
            self._is_installed = False
            _take_off(self._hook)

    def _made(
        self, log: Log, admits: Callable[[CodeType], bool], with_lines: bool
    ) -> Callable[[FrameType, str, Any], None]:
        writers, writer, codes = log.writers, log.writer, log.codes
        # A hook outlives this module's names: Python forgets them first when it ends.
        clock, ident, grace_ns, nowhere = time.perf_counter_ns, get_ident, _GRACE_NS, NOWHERE
        take_off, end_here, off_since = _take_off, sys.setprofile, self._off_since
        left_out: dict[int, CodeType] = {}

        def known(code: CodeType) -> bool:
            (codes if admits(code) else left_out)[id(code)] = code
            return id(code) in codes

        def hook(frame: FrameType, event: str, value: Any) -> None:
            if event == "call":
                sign = 1
            elif event == "return":
                sign = -1
            else:
                return
            off = off_since[0]
            if off:
                if clock() - off > grace_ns:
                    take_off(hook)
                return
            code = frame.f_code
            number = id(code)
            if number not in codes and (number in left_out or not known(code)):
                return
            write = writers.get(ident())
            if write is None:
                write = writer()
                if write is nowhere:
                    end_here(None)
            if sign > 0:
                caller = frame.f_back if with_lines else None
                write[2](caller.f_lasti if caller is not None else -1)
            write[0](sign * number)
            write[1](clock())

        return hook
