"""The recording session of this process, entered from outside."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from stepscope.capture import control, tracing
from stepscope.capture.options import ProfilerOptions
from stepscope.capture.recording import Recording
from stepscope.capture.result import Capture
from stepscope.schema import names


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

    def _end_recording(self) -> None:
        """End all recorders, on the thread whose step has ended; writing is left to ``stop``."""
        recording = self._recording
        if recording is not None:
            recording.finish("stop", wait=False)

    def stop(self, *, save: bool) -> Capture:
        """End what ``start`` began."""
        self._recording = self._counter = None
        return control.stop(save, owner="remote")

    def recording(self) -> bool:
        """Whether what ``start`` began still records."""
        return self._recording is not None and not self._recording.finished

    def owner(self) -> str:
        """Who records now; "" for nobody, and for the launcher, which steps aside."""
        running = control.active()
        if running is None or running.finished or running.owner == "launcher":
            return ""
        return running.owner

    @contextmanager
    def counting(self) -> Iterator[StepCounter]:
        """Count the steps that are marked with ``stepscope.Trace`` and ``stepscope.step``."""
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
    """Listens to the annotations of this process, alongside any recording.

    Args:
        limit: Steps after which ``reached`` is called.
        reached: Called on the program's thread, before it begins another step.
    """

    def __init__(self, limit: int | None = None, reached: Callable[[], None] | None = None) -> None:
        self._limit, self._reached = limit, reached
        self._count = 0
        self._listens = False
        self._inner: tracing.Emitter | None = None

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

    def unhook(self) -> None:
        """Let the others listen as before."""
        self._listens = False
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
                self._count += 1  # two threads at once may lose one: no lock in the training step
                if self._count == self._limit and self._reached is not None:
                    self._reached()

        return ended
