"""Records some steps of a training loop that reports the end of each step.

The callbacks of all frameworks use it. Nothing here raises into the loop: the first error ends the
recording and is logged.
"""

from __future__ import annotations

import logging
import os
import time
from typing import Any, Final, Protocol

from stepscope.capture import control, tracing
from stepscope.capture.hooks.isolation import harmless
from stepscope.capture.hooks.schedule import OFF, StepPhase
from stepscope.capture.options import ProfilerOptions
from stepscope.capture.recording import Recording
from stepscope.capture.result import Capture
from stepscope.capture.summary import print_summary

_log: Final = logging.getLogger("stepscope")


class StepPlan(Protocol):
    """Decides what happens to the next step; ``StepWindow`` and ``Schedule`` are plans."""

    total: int | None

    @property
    def done(self) -> int:
        """Steps that have ended."""
        ...

    @property
    def phase(self) -> StepPhase:
        """What the next step is for."""
        ...

    def step_done(self, steps: int = 1) -> None:
        """A step has ended."""
        ...

    def pause(self) -> None:
        """Something other than steps ran."""
        ...


class LoopRecorder:
    """Begins and ends recordings as a plan says, and marks the steps.

    A step lasts from the end of the one before it, so that fetching its batch is part of it; the
    first one after a pause lasts from the pause's end.

    Args:
        logdir: Where to write.
        plan: Which steps to record.
        options: What to record.
        verbose: Whether to print a summary of each recording at the end.
        name: What steps are called.

    Attributes:
        captures: The results, once they are written.
        is_off: Whether an error has switched it off.
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        plan: StepPlan,
        options: ProfilerOptions | None = None,
        *,
        verbose: bool = True,
        name: str = "train",
    ) -> None:
        self.captures: list[Capture] = []
        self.is_off = False
        self.plan = plan
        self._logdir = logdir
        self._options = options
        self._verbose = verbose
        self._name = name
        self._phase = OFF
        self._running: Recording | None = None
        self._ending: Recording | None = None
        self._begin_ns: int | None = None

    @harmless
    def begin(self, total: int | None = None) -> None:
        """The loop begins, or goes on after a pause.

        Args:
            total: How many steps it will have, where that is known.
        """
        if total is not None and total > 0:
            self.plan.total = total
        self._follow()
        self._begin_ns = time.time_ns()

    @harmless
    def step(self, steps: int = 1) -> None:
        """A step has ended (or a call that did several), and the next one begins."""
        self._mark()
        self.plan.step_done(steps)
        self._follow()
        self._begin_ns = time.time_ns()

    @harmless
    def pause(self) -> None:
        """The loop does something else, such as a validation; the current step does not count."""
        self._begin_ns = None
        self.plan.pause()

    @harmless
    def finish(self) -> None:
        """The loop has ended: wait for the export and print summaries."""
        self._begin_ns = None
        was_running = self._running is not None and self._phase.is_kept
        self._leave()
        self._await()
        if not self.captures and self._verbose and not was_running:
            done = self.plan.done
            _log.warning("stepscope: nothing was recorded: the loop ended after %d steps", done)
        if self._verbose:
            for capture in self.captures:
                print_summary(capture)

    def _mark(self) -> None:
        begin_ns, tell = self._begin_ns, getattr(tracing.emitter(), "step", None)
        if begin_ns is not None and tell is not None:
            tell(self._name, self.plan.done, begin_ns, time.time_ns())

    def _follow(self) -> None:
        """Go into the phase of the next step."""
        phase = self.plan.phase
        if phase == self._phase:
            return
        self._leave()
        self._phase = phase
        if phase.is_recording:
            self._await()
            self._running = control.start(self._logdir, self._options)

    def _leave(self) -> None:
        """End the recording; if it is kept, it is written in the background."""
        running, self._running = self._running, None
        if running is None:
            return
        if self._phase.is_kept:
            running.finish("stop", wait=False)
            self._ending = running
        else:
            control.end(running, save=False)
        self._phase = OFF

    def _await(self) -> None:
        ending, self._ending = self._ending, None
        if ending is not None:
            self.captures.append(control.end(ending))

    # Trainers copy and pickle their callbacks; threads and locks can be neither.
    def __deepcopy__(self, memo: dict[int, Any]) -> LoopRecorder:
        return self
