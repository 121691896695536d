"""What PyTorch's profiler leaves open when it ends, and why none may begin over it.

A range that begins while the profiler records gets a pointer into the profiler's memory and writes
its end there. That memory goes with the profiler. A range that ends later writes nothing as long as
no profiler of the same kind records (one thread's and all threads' are kept apart); if one does, it
writes into what belongs to somebody else by then, and the program crashes. So it is in PyTorch 2.13
for everybody: ``torch.profiler`` alone does it, too, when it is started again within a
``record_function`` that it has seen begin.

So chunks are cut at quiet places, and when a recording has ended inside of something, the next one
begins only once the program was seen outside of it.
"""

from __future__ import annotations

import sys
import threading
import time
from types import FrameType
from typing import Final

from stepscope.capture.open_ranges import (
    NoQuietPlace,
    open_frame,
    open_object,
    place,
    until_none,
    waits,
)
from stepscope.capture.ticker import THREAD_PREFIX

#: How long after a recording the program is watched beside it, and how often.
_WATCH_SECONDS: Final = 10.0
_AGAIN_SECONDS: Final = 0.02


class Ended:
    """A profiler that has ended just now.

    Args:
        is_local: Whether it watched the main thread; else all threads.
    """

    def __init__(self, *, is_local: bool) -> None:
        main = threading.main_thread().ident
        self._names: tuple[str, ...] = ()
        self._objects = True
        #: Threads that may still be inside of something, and where each was.
        self._threads = {
            thread: _instruction(frame)
            for thread, frame in sys._current_frames().items()
            if thread == main or not is_local
        }

    def tell(self, left_open: tuple[str, ...]) -> None:
        """What it left open, by its own trace."""
        self._names = left_open
        if not left_open:
            self._objects = False
            self._threads.clear()

    @property
    def left_open(self) -> str:
        """What it left open, for a person."""
        return ", ".join(self._names) or "something"

    @property
    def is_over(self) -> bool:
        """Whether all that it left open has ended, as far as was seen."""
        return not self._objects and not self._threads

    def look(self) -> str | None:
        """See where the program is; what it may still be inside of. For the main thread."""
        if self._objects:
            inside = open_object()
            if inside is not None:
                return inside
            self._objects = False
        frames = sys._current_frames()
        for thread, instruction in list(self._threads.items()):
            inside = self._inside(thread, frames.get(thread), instruction)
            if inside is not None:
                return inside
            self._threads.pop(thread, None)  # `tell` may have been quicker
        return None

    def _inside(
        self, thread: int, frame: FrameType | None, instruction: tuple[int, int]
    ) -> str | None:
        inside = open_frame(frame)
        if inside is not None or frame is None or thread == threading.get_ident() or waits(frame):
            return inside
        # An op that it had called itself has returned if it is at another instruction now.
        is_there = _instruction(frame) == instruction
        return f"{place(frame)} on another thread" if is_there else None


def _instruction(frame: FrameType) -> tuple[int, int]:
    return id(frame), frame.f_lasti


class Ledger:
    """The profilers that have ended and may have left something open; at most one of a kind."""

    def __init__(self) -> None:
        self._ended: dict[bool, Ended] = {}
        self._watched = threading.Lock()

    def end(self, *, is_local: bool) -> Ended:
        """One has ended; ``Ended.tell`` takes what it left open once that is known."""
        ended = self._ended[is_local] = Ended(is_local=is_local)
        return ended

    def why_not(self, *, is_local: bool, seconds: float) -> str | None:
        """Why a profiler of this kind may not begin; None when it may.

        Args:
            is_local: See ``Ended``.
            seconds: How long the program may be watched for the end of what was left open.
        """
        ended = self._ended.get(is_local)
        if ended is None or ended.is_over:
            return None
        try:
            until_none(ended.look, seconds=seconds)
        except NoQuietPlace as inside:
            return (
                f"an earlier recording ended inside {ended.left_open}, and the program may be "
                f"inside it still (it is in {inside}); PyTorch crashes when its profiler begins "
                "again before that has ended. Record again once it has"
            )
        return None

    def watch(self) -> None:
        """Watch the program for a while, beside it, for the end of what was left open."""
        name = THREAD_PREFIX + "left-open"
        threading.Thread(target=self._watch, name=name, daemon=True).start()

    def _watch(self) -> None:
        if not self._watched.acquire(blocking=False):
            return  # another thread is at it
        try:
            deadline = time.monotonic() + _WATCH_SECONDS
            while time.monotonic() < deadline:
                reasons = [self.why_not(is_local=kind, seconds=0) for kind in list(self._ended)]
                if not any(reasons):
                    return
                time.sleep(_AGAIN_SECONDS)
        finally:
            self._watched.release()


#: This process's: PyTorch has one profiler of a kind in it.
ledger: Final = Ledger()
