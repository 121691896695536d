"""Steps of Keras programs that mark none: each call of the train, test or predict function.

Keras 3 marks no step that a viewer could find. Its list of callbacks learns of the begin and end
of every batch, for every backend; there the step is marked, innermost, so that callbacks are not
counted as training.
"""

from __future__ import annotations

import functools
import threading
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any, Final

from stepscope.capture.tracing import Trace
from stepscope.schema import names

_KINDS: Final = ("train", "test", "predict")


class _Steps(threading.local):
    """The step that is open on a thread, and how many of each kind there were."""

    def __init__(self) -> None:
        self.marker: AbstractContextManager[object] | None = None
        self.count = dict.fromkeys(_KINDS, 0)

    def begin(self, kind: str) -> None:
        self.end()
        number = self.count[kind]
        self.marker = Trace(kind, number, 1, **{names.MARKED_BY: names.MARKED_BATCH})
        self.count[kind] += 1
        self.marker.__enter__()

    def end(self) -> None:
        marker, self.marker = self.marker, None
        if marker is not None:
            marker.__exit__(None, None, None)


_steps: Final = _Steps()


def mark_steps(keras: ModuleType) -> None:
    """Have Keras's list of callbacks mark steps; raises ``AttributeError`` where it has none."""
    callbacks = keras.callbacks.CallbackList
    for kind in _KINDS:
        _wrap(callbacks, kind)


def _wrap(callbacks: Any, kind: str) -> None:
    begin, end = f"on_{kind}_batch_begin", f"on_{kind}_batch_end"
    at_begin, at_end = getattr(callbacks, begin), getattr(callbacks, end)

    @functools.wraps(at_begin)
    def begins(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = at_begin(self, *args, **kwargs)
        _steps.begin(kind)
        return result

    @functools.wraps(at_end)
    def ends(self: Any, *args: Any, **kwargs: Any) -> Any:
        _steps.end()
        return at_end(self, *args, **kwargs)

    setattr(callbacks, begin, begins)
    setattr(callbacks, end, ends)
