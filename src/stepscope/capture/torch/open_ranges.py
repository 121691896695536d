"""Where a PyTorch program is: inside a range that its profiler times, or at a quiet place.

A range is an op, a ``record_function``, an annotation of ours: whatever PyTorch's profiler gives a
begin and an end. PyTorch does not report which are open; Python's frames do. Ranges are opened by
PyTorch's Python code (its frames are on the stack meanwhile), by C++ code that calls Python from
within (the same, but for a few methods of the program's), and by the program's ``with
record_function(…)``, whose object lives as long as the range. What C++ opens by itself is over
when its caller's next instruction runs.

``open_at_stop`` says why it matters.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import Final

from stepscope.capture.runtime.instances import instances
from stepscope.capture.runtime.main_thread import on_main_thread
from stepscope.capture.runtime.thread_frames import is_ours, stacks
from stepscope.errors import CaptureError

#: Annotations of ours that PyTorch has seen begin and not yet end.
open_annotations: Final[set[object]] = set()

_STANDARD: Final = f"{Path(threading.__file__).parent}/"
#: Where a thread of Python's library waits for something, and calls nothing of PyTorch's.
_WAITING: Final = (
    "threading.py:",
    "queue.py:",
    "selectors.py:",
    "socket.py:",
    "ssl.py:",
    "subprocess.py:",
    "multiprocessing/",
    "asyncio/",
    "concurrent/futures/thread.py:_worker",
)
#: PyTorch's Python code that opens no range, though it calls the program's.
_PLAIN: Final = tuple(
    f"torch/{file}"
    for file in (
        "nn/modules/",
        "nn/functional.py:",
        "utils/_contextlib.py:",
        "amp/autocast_mode.py:",
        "multiprocessing/spawn.py:",
        "distributed/elastic/",
        "distributed/launcher/",
        "distributed/run.py:",
    )
)
#: That which opens none itself but calls C++ code that does, and calls Python: it is outside of
#: them only while it calls nobody.
_PLAIN_AT_TOP: Final = (
    "torch/_tensor.py:",
    "torch/autograd/__init__.py:",
    "torch/autograd/graph.py:",
)
#: Methods of the program's that C++ code calls in the middle of an op.
_WITHIN_OPS: Final = frozenset({"__torch_dispatch__", "__torch_function__"})
_AGAIN_SECONDS: Final = 0.001


class NoQuietPlace(Exception):
    """The program was at none in time; its text is what it was inside of."""


def at_quiet_place(call: Callable[[], object], *, everywhere: bool, seconds: float) -> None:
    """Run a call on the main thread where no range is open.

    Args:
        call: What to run; short.
        everywhere: None of any thread; else none of the main thread.
        seconds: How long to look for such a place; once at least.

    Raises:
        NoQuietPlace: There was none in time; the call was not made.
    """
    found: list[str | None] = []

    def attempt() -> None:
        found.append(_open_anywhere(everywhere=everywhere))
        if found[-1] is None:
            call()

    deadline = time.monotonic() + seconds
    while True:
        patience = max(deadline - time.monotonic(), _AGAIN_SECONDS)
        try:
            on_main_thread(attempt, seconds=patience)
        except CaptureError:
            raise NoQuietPlace("an instruction of the main thread that takes long") from None
        inside = found.pop()
        if inside is None:
            return
        if time.monotonic() >= deadline:
            raise NoQuietPlace(inside)
        time.sleep(_AGAIN_SECONDS)


def _open_anywhere(*, everywhere: bool) -> str | None:
    main = threading.main_thread().ident
    for thread, frames in stacks().items():
        if thread == main or (everywhere and not waits(frames[0])):
            for holder in holders(frames):
                return place(holder)
            if thread != main:
                return f"{place(frames[0])} on another thread"
    if open_annotations:
        return "an annotation"
    return "a record_function" if open_objects() else None


def open_objects() -> list[object]:
    """The ``record_function`` objects that live."""
    return instances(sys.modules["torch"].autograd.profiler.record_function)


def holders(frames: Iterable[FrameType]) -> list[FrameType]:
    """Those frames of a thread, innermost first, that may hold a range open.

    An op that the innermost frame has called directly is not seen. On the main thread there is
    none, if this is called between two of its instructions.
    """
    found = []
    is_top = True
    for frame in frames:
        where = place(frame)
        if where.startswith("torch/"):
            at_top = where.startswith(_PLAIN_AT_TOP)
            if not where.startswith(_PLAIN) and not (is_top and at_top):
                found.append(frame)
            is_top = is_top and at_top
        elif frame.f_code.co_name in _WITHIN_OPS:
            found.append(frame)
        elif not is_ours(frame):
            is_top = False
    return found


def waits(frame: FrameType) -> bool:
    """Whether a thread waits for something, by its innermost frame, rather than run an op."""
    return place(frame).startswith(_WAITING)


def place(frame: FrameType) -> str:
    """File and function; files of Python's and of PyTorch's by their path within these."""
    file, name = frame.f_code.co_filename, frame.f_code.co_name
    torch = str(Path(str(sys.modules["torch"].__file__)).parent.parent)
    if file.startswith(f"{torch}/torch/"):
        file = file[len(torch) + 1 :]
    return f"{file.removeprefix(_STANDARD)}:{name}"
