"""The recording session of this process, entered from outside."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from stepscope.capture import control, tracing
from stepscope.capture.options import ProfilerOptions
from stepscope.capture.recording import Recording
from stepscope.capture.result import Capture
from stepscope.schema import names

#: Module and class with which a program marks steps for a framework's own profiler.
_MARKERS: Final = (
    ("tensorflow.python.profiler.trace", "Trace"),
    ("jax._src.profiler", "StepTraceAnnotation"),
)
_ALWAYS_A_STEP: Final = "StepTraceAnnotation"  # others are steps by what they are given


class SessionDoor:
    """``capture.session`` as owner "remote": a person's own recording goes before it."""

    def __init__(self) -> None:
        self._recording: Recording | None = None
        self._counter: StepCounter | None = None

    def start(self, logdir: str, options: ProfilerOptions, steps: int | None = None) -> None:
        """Begin; raises ``CaptureError`` (``capture-busy``) when this process is recorded.

        Args:
            logdir: Where to write.
            options: What to record.
            steps: Recording ends with the step that is this many.
        """
        counter = None if steps is None else StepCounter(steps, self._end_recording)
        around = None if counter is None else counter.around
        self._recording = control.start(logdir, options, owner="remote", around=around)
        self._counter = counter
        if counter is not None:
            counter.hook_frameworks()

    def _end_recording(self) -> None:
        """End all recorders, on the thread whose step has ended; writing is left to ``stop``."""
        recording = self._recording
        if recording is not None:
            recording.finish("stop", wait=False)

    def stop(self, *, save: bool) -> Capture:
        """End what ``start`` began."""
        if self._counter is not None:
            self._counter.unhook_frameworks()
        self._recording = self._counter = None
        return control.stop(save, owner="remote")

    def recording(self) -> bool:
        """Whether what ``start`` began still records."""
        return self._recording is not None and not self._recording.finished

    def owner(self) -> str:
        """Who records now; "" for nobody, and for the launcher, which steps aside."""
        running = control.active()
        if running is None or running.finished or running.owner in control.SET_ASIDE:
            return ""
        return running.owner

    @contextmanager
    def counting(self) -> Iterator[StepCounter]:
        """Count the steps that are marked with Stepscope's, TensorFlow's and JAX's annotations."""
        if self._counter is not None:
            yield self._counter
            return
        counter = StepCounter()
        counter.hook()
        try:
            yield counter
        finally:
            counter.unhook()


class StepCounter:
    """Listens to the step markers of this process, alongside any recording.

    Those of TensorFlow and JAX do nothing unless their own profiler records, so their classes are
    changed while somebody counts.

    Args:
        limit: Steps after which ``reached`` is called.
        reached: Called on the program's thread, before it begins another step.
    """

    def __init__(self, limit: int | None = None, reached: Callable[[], None] | None = None) -> None:
        self._limit, self._reached = limit, reached
        self._count = 0
        self._listens = False
        self._inner: tracing.Emitter | None = None
        self._restore: list[Callable[[], None]] = []

    @property
    def count(self) -> int:
        """Steps that have ended since counting began."""
        if self._listens:
            self.hook()
        return self._count

    def hook(self) -> None:
        """Listen; again if a new chunk of the recording has installed another listener."""
        self._listens = True
        current = tracing.emitter()
        if current != self._emit:
            self._inner = current
            tracing.switch(self._emit)
        if not self._restore:
            self.hook_frameworks()

    def unhook(self) -> None:
        """Let the others listen as before."""
        self._listens = False
        self.unhook_frameworks()
        if tracing.emitter() == self._emit:
            tracing.switch(self._inner)

    def around(self, emit: tracing.Emitter) -> tracing.Emitter:
        """An emitter that also counts."""
        return functools.partial(self._emit_to, emit)

    def _emit(self, name: str, metadata: Mapping[str, Any]) -> Callable[[], object]:
        return self._emit_to(self._inner, name, metadata)

    def _emit_to(
        self, emit: tracing.Emitter | None, name: str, metadata: Mapping[str, Any]
    ) -> Callable[[], object]:
        end = emit(name, metadata) if emit is not None else None
        is_step = metadata.get(names.ROOT_LEVEL) == 1 or names.STEP_NUM in metadata

        def ended() -> None:
            if end is not None:
                end()
            if is_step:
                self._step_ended()

        return ended

    def _step_ended(self) -> None:
        self._count += 1  # two threads at once may lose one: no lock in the training step
        if self._count == self._limit and self._reached is not None:
            self._reached()

    def hook_frameworks(self) -> None:
        """Listen to the markers of the frameworks that the program has imported."""
        for module, name in _MARKERS:
            kind = getattr(sys.modules.get(module), name, None)
            if kind is not None:
                self._restore.append(_listen(kind, self._step_ended))

    def unhook_frameworks(self) -> None:
        """Leave the frameworks' classes as they were."""
        while self._restore:
            self._restore.pop()()


def _listen(kind: Any, ended: Callable[[], None]) -> Callable[[], None]:
    """Call ``ended`` after each step that a class marks; returns what restores the class."""
    own = {name: vars(kind).get(name) for name in ("__init__", "__exit__")}
    begin, leave = kind.__init__, kind.__exit__

    @functools.wraps(begin)
    def begins(marker: Any, name: str, **metadata: Any) -> None:
        begin(marker, name, **metadata)
        marker._stepscope_is_step = (
            kind.__name__ == _ALWAYS_A_STEP
            or names.STEP_NUM in metadata
            or metadata.get(names.ROOT_LEVEL) == 1
        )

    @functools.wraps(leave)
    def leaves(marker: Any, *error: Any) -> Any:
        result = leave(marker, *error)
        if getattr(marker, "_stepscope_is_step", False):
            ended()
        return result

    def restore() -> None:
        for name, method in own.items():
            if method is None:
                delattr(kind, name)
            else:
                setattr(kind, name, method)

    kind.__init__, kind.__exit__ = begins, leaves
    return restore
