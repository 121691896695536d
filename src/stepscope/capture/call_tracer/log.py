"""Begins and ends of calls as they happen: two appends each, per thread."""

from __future__ import annotations

import sys
import threading
import time
from array import array
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.capture.runtime.ticker import THREAD_PREFIX
from stepscope.records import dataclass, field

I64 = NDArray[np.int64]
_FIRST_FRAMES: Final = ("_bootstrap", "_bootstrap_inner")
#: Appends to a thread's codes, times and places.
Writer = tuple[Callable[[int], None], Callable[[int], None], Callable[[int], None]]


@dataclass(slots=True)
class ThreadLog:
    """What one thread did.

    Attributes:
        number: The system's id of the thread.
        code: ``id`` of the code object: a call's begin, or negative: its end.
        time: ``time.perf_counter_ns()``.
        caller_at: Where in the caller's code a call was made (its ``f_lasti``); one per begin,
            none at all where lines are not asked for.
    """

    number: int
    name: str
    code: array[int] = field(default_factory=lambda: array("q"))
    time: array[int] = field(default_factory=lambda: array("q"))
    caller_at: array[int] = field(default_factory=lambda: array("q"))


@dataclass(frozen=True, slots=True, eq=False)
class Heard:
    """A copy of what one thread did, all columns of one length."""

    number: int
    name: str
    code: I64
    time: I64
    caller_at: I64


def _forget(value: int) -> None:
    """Takes what threads of ours do."""


#: The writer of threads that are not to be heard: those of the recording itself.
NOWHERE: Final[Writer] = (_forget, _forget, _forget)


def _name_of_thread() -> str:
    """Name of the calling thread, "" when it has none.

    ``threading.current_thread()`` is not asked: a thread that is only just beginning, where a
    first call is heard of, would be given a second object. Its first frame knows it.
    """
    frame: FrameType | None = sys._getframe()
    outermost = frame
    while frame is not None:
        outermost, frame = frame, frame.f_back
        if outermost.f_code.co_filename == threading.__file__ and "self" in outermost.f_locals:
            thread = outermost.f_locals["self"]
            if isinstance(thread, threading.Thread) and outermost.f_code.co_name in _FIRST_FRAMES:
                return thread.name
    is_main = threading.get_ident() == threading.main_thread().ident
    return threading.main_thread().name if is_main else ""


class Log:
    """What was heard of.

    Attributes:
        writers: By ``threading.get_ident()``; hooks append through them.
        codes: Code objects by id; they stay alive, so that no id is given twice.
    """

    def __init__(self) -> None:
        self.writers: dict[int, Writer] = {}
        self.codes: dict[int, CodeType] = {}
        #: The same of functions that are no longer heard of.
        self.muted: dict[int, CodeType] = {}
        self._kept: list[ThreadLog] = []
        # What perf_counter_ns has to be moved by to be the time of day.
        self.offset_ns = time.time_ns() - time.perf_counter_ns()

    def writer(self) -> Writer:
        """A new writer for the calling thread."""
        number = threading.get_native_id()
        kept = ThreadLog(number, _name_of_thread() or f"thread {number}")
        if kept.name.startswith(THREAD_PREFIX):
            self.writers[threading.get_ident()] = NOWHERE
            return NOWHERE
        made = kept.code.append, kept.time.append, kept.caller_at.append
        self._kept.append(kept)
        self.writers[threading.get_ident()] = made
        return made

    def mute(self, number: int) -> None:
        """Hear no more of a function; only between two chunks, when nothing is heard."""
        self.muted[number] = self.codes.pop(number)

    def take(self) -> list[Heard]:
        """What was heard since the last time.

        Threads may be appending meanwhile: what is taken is a copy, a call that is being written
        is left out, and nobody's array is ever locked.
        """
        kept, self._kept = self._kept, []
        self.writers.clear()
        heard = []
        for one in kept:
            code, moment, caller = (
                np.frombuffer(column[:], np.int64) for column in (one.code, one.time, one.caller_at)
            )
            count = min(len(code), len(moment))
            at = np.full(count, -1, np.int64)
            begins = np.flatnonzero(code[:count] > 0)[: len(caller)]
            at[begins] = caller[: len(begins)]
            heard.append(
                Heard(one.number, one.name, code[:count], moment[:count] + self.offset_ns, at)
            )
        return heard
