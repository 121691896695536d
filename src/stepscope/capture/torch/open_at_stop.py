"""What PyTorch's profiler leaves open when it ends, and why none may begin over it.

A range that begins while the profiler records gets a pointer into the profiler's memory and writes
its end there. That memory goes with the profiler. A range that ends later writes nothing as long as
no profiler of the same kind records (one thread's and all threads' are kept apart); if one does, it
writes into what belongs to somebody else by then, and the program crashes. So it is in PyTorch 2.13
for everybody: ``torch.profiler`` alone does it, too, when it is started again within a
``record_function`` that it has seen begin.

So chunks are cut at quiet places, and when a recording has ended inside of something, the next one
begins only once that was seen to have ended.
"""

from __future__ import annotations

import contextlib
import threading
import time
import weakref
from types import FrameType
from typing import Final

from stepscope.capture.runtime.daemon_thread import beside
from stepscope.capture.runtime.main_thread import on_main_thread
from stepscope.capture.runtime.thread_frames import stacks
from stepscope.capture.runtime.ticker import THREAD_PREFIX
from stepscope.capture.torch.open_ranges import (
    holders,
    open_annotations,
    open_objects,
    place,
    waits,
)
from stepscope.errors import CaptureError

_AGAIN_SECONDS: Final = 0.001
_PAUSE_SECONDS: Final = 1.0


class Ended:
    """A profiler that has ended just now, and what may be open of what it saw begin.

    What is open is known by the Python objects that hold it: others like them, that come later,
    do not matter. A frame that is kept keeps its variables, hence ``Ledger.watch``.

    Args:
        is_local: Whether it watched the main thread; else all threads.
    """

    def __init__(self, *, is_local: bool) -> None:
        main = threading.main_thread().ident
        frames = {
            thread: chain for thread, chain in stacks().items() if thread == main or not is_local
        }
        self._lock = threading.Lock()
        self._names: tuple[str, ...] = ()
        self._annotations = set(open_annotations)
        self._objects = [weakref.ref(one) for one in open_objects()]
        #: By thread: frames that may hold ranges, and the instruction that may be an op.
        self._holders = {one: set(holders(chain)) for one, chain in frames.items()}
        # The thread that asks is in none: it asks.
        asking = threading.get_ident()
        self._ops = {
            one: (chain[0], chain[0].f_lasti) for one, chain in frames.items() if one != asking
        }

    def tell(self, left_open: tuple[str, ...]) -> None:
        """What it left open, by its own trace."""
        self._names = left_open
        if not left_open:
            with self._lock:
                self._annotations, self._objects = set(), []
                self._holders, self._ops = {}, {}

    @property
    def left_open(self) -> str:
        """What it left open, for a person."""
        return ", ".join(self._names) or "something"

    def inside(self) -> str | None:
        """What it left open that may be open still; None when all has ended."""
        frames = stacks()
        with self._lock:
            for thread, held in self._holders.items():
                held.intersection_update(frames.get(thread, ()))
                for holder in held:
                    return place(holder)
            for thread in list(self._ops):
                asks = thread == threading.get_ident()
                if not asks and self._is_in_op(thread, *frames.get(thread, ())[:1]):
                    return place(self._ops[thread][0])
                del self._ops[thread]
            self._annotations &= open_annotations
            if self._annotations:
                return "an annotation"
            self._objects = [one for one in self._objects if one() is not None]
            return "a record_function" if self._objects else None

    def _is_in_op(self, thread: int, now: FrameType | None = None) -> bool:
        then, instruction = self._ops[thread]
        return now is then and now.f_lasti == instruction and not waits(now)

    def main_thread_returned(self) -> None:
        """To be called on the main thread between two of its instructions: its op is over."""
        with self._lock:
            self._ops.pop(threading.get_ident(), None)


class Ledger:
    """The profilers that have ended and may have left something open; at most one of a kind."""

    def __init__(self) -> None:
        self._ended: dict[bool, Ended] = {}

    def end(self, *, is_local: bool) -> Ended:
        """One has ended; ``Ended.tell`` takes what it left open once that is known."""
        ended = self._ended[is_local] = Ended(is_local=is_local)
        return ended

    def why_not(self, *, is_local: bool, seconds: float) -> str | None:
        """Why a profiler of this kind may not begin; None when it may.

        Args:
            is_local: See ``Ended``.
            seconds: How long to wait for the end of what was left open.
        """
        ended = self._ended.get(is_local)
        if ended is None:
            return None
        deadline = time.monotonic() + seconds
        # A program of one long op is at its one instruction whenever it is looked at.
        with contextlib.suppress(CaptureError):
            on_main_thread(ended.main_thread_returned, seconds=seconds)
        while inside := ended.inside():
            if time.monotonic() >= deadline:
                return (
                    f"an earlier recording ended inside {ended.left_open}, and the program may be "
                    f"inside it still (in {inside}); PyTorch crashes when its profiler begins "
                    "again before that has ended. Record again once it has"
                )
            time.sleep(_AGAIN_SECONDS)
        return None

    def watch(self, ended: Ended) -> None:
        """Release what one has left open, as it ends, on a background thread."""
        if ended.inside():
            beside(THREAD_PREFIX + "left-open", _watch, ended)


def _watch(ended: Ended) -> None:
    pause_seconds = _AGAIN_SECONDS
    while ended.inside():
        time.sleep(pause_seconds)
        pause_seconds = min(2 * pause_seconds, _PAUSE_SECONDS)


#: This process's: PyTorch has one profiler of a kind in it.
ledger: Final = Ledger()
