"""The frames of other threads, which must not be looked at while Python collects garbage.

``sys._current_frames()`` and ``f_back`` make the objects of frames. Before Python 3.12 that may
start a collection in their midst; a finalizer that it runs lets go of the GIL, the watched thread
returns from the frame that is just being wrapped, and what follows reads memory that is another
frame's by then: the program crashes, seldom, and the more garbage it makes (a ``tf.function`` that
is traced in each step did). From 3.12 on collections wait for the next instruction.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import threading
from collections.abc import Iterator
from itertools import dropwhile
from pathlib import Path
from types import FrameType
from typing import Final

#: The folder of Stepscope's own code.
OURS: Final = f"{Path(__file__).parents[2]}/"
_COLLECTS_ANYWHERE: Final = sys.version_info < (3, 12)


class _Pause:
    """Whether we have switched collections off, and for whom."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.is_on = False

    def after_fork(self) -> None:
        """The thread that would have switched them on again is not in the child."""
        self.lock = threading.RLock()
        if self.is_on:
            self.is_on = False
            gc.enable()


_pause = _Pause()
if _COLLECTS_ANYWHERE and hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pause.after_fork)


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """No collection of garbage begins within, on any thread; for some ten microseconds only.

    A program that switches collections off at that very moment has them on again afterwards.
    """
    if not _COLLECTS_ANYWHERE:
        yield
        return
    with _pause.lock:
        if not gc.isenabled():
            yield
            return
        _pause.is_on = True
        gc.disable()
        try:
            yield
        finally:
            gc.enable()
            _pause.is_on = False


def stacks() -> dict[int, list[FrameType]]:
    """The frames of all threads, innermost first; of the asking thread's, none of ours at the top.

    Those hold this answer, and it would hold them: a cycle of garbage that keeps everybody's
    variables (a loader's batch, a model's tensors) until the next collection.
    """
    with no_collection():
        found = {thread: _chain(frame) for thread, frame in sys._current_frames().items()}
    asking = threading.get_ident()
    found[asking] = list(dropwhile(is_ours, found[asking]))
    return found


def is_ours(frame: FrameType) -> bool:
    """Whether it is of a function of Stepscope's."""
    return frame.f_code.co_filename.startswith(OURS)


def _chain(innermost: FrameType) -> list[FrameType]:
    frames = []
    frame: FrameType | None = innermost
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    return frames
