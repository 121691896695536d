"""Any training loop over batches, JAX's above all: ``for batch in steps(batches, logdir)``.

Each turn of the loop is a step, from the request for its batch to the next request.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterable, Iterator, Sized
from contextlib import AbstractContextManager
from typing import Final, TypeVar

from stepscope.capture import control, step_clock
from stepscope.capture.hooks.window import DEFAULT_STEPS, StepsLike, StepWindow, parse_steps
from stepscope.capture.options import ProfilerOptions
from stepscope.capture.recording import Recording
from stepscope.capture.summary import print_summary
from stepscope.capture.tracing import step

_log: Final = logging.getLogger("stepscope")
_T = TypeVar("_T")


def steps(
    batches: Iterable[_T],
    logdir: str | os.PathLike[str] | None = None,
    profile_steps: StepsLike = None,
    *,
    count: int = DEFAULT_STEPS,
    options: ProfilerOptions | None = None,
    name: str = "train",
    verbose: bool = True,
) -> Iterator[_T]:
    """The batches, each turn of the loop over them marked as a step, and some steps recorded.

    Errors of the recording are logged and never raised into the loop. The recording is written in
    the background; when the loop ends, also by ``break``, a summary is printed.

    Args:
        batches: What to loop over.
        logdir: Where to write; None: only mark the steps, for a recording by other means.
        profile_steps: First and last step to record, from 1 (``"10,15"``); by default ``count``
            steps once their times are steady.
        count: How many steady steps.
        options: What to record.
        name: What a step is called.
        verbose: Whether to print the summary.

    Raises:
        UsageError: ``profile_steps`` is not a valid choice of steps.
    """
    window = StepWindow(parse_steps(profile_steps), count)
    if isinstance(batches, Sized):
        window.total = len(batches)
    return _Recorder(logdir, window, options, name, verbose).turns(iter(batches))


class _Recorder:
    """The state of one loop."""

    def __init__(
        self,
        logdir: str | os.PathLike[str] | None,
        window: StepWindow,
        options: ProfilerOptions | None,
        name: str,
        verbose: bool,
    ) -> None:
        self._logdir = logdir
        self._window = window
        self._options = options
        self._name = name
        self._verbose = verbose
        self._recording: Recording | None = None
        self._is_asked = False

    def turns(self, batches: Iterator[_T]) -> Iterator[_T]:
        """See ``steps``."""
        marker: AbstractContextManager[object] | None = None
        try:
            while True:
                self._begin()
                # Asking for a batch that is not there is no step, where that is known before.
                if self._window.total is None or self._window.done < self._window.total:
                    marker = step(self._window.done, self._name)
                    marker.__enter__()
                begin_ns = time.perf_counter_ns()
                try:
                    batch = next(batches)
                except StopIteration:
                    return
                step_clock.waited_for_input(begin_ns)
                yield batch
                if marker is not None:
                    marker.__exit__(None, None, None)
                    marker = None
                self._end()
        finally:
            if marker is not None:
                marker.__exit__(None, None, None)
            self._finish()

    def _begin(self) -> None:
        if self._logdir is None or self._is_asked or not self._window.begins():
            return
        self._is_asked = True
        try:
            self._recording = control.start(self._logdir, self._options)
        except Exception as error:  # training goes on, whatever a recording does
            _log.warning("stepscope: this loop is not recorded: %s", error)

    def _end(self) -> None:
        self._window.step_done()
        if self._recording is not None and self._window.ends():
            self._recording.finish("stop", wait=False)

    def _finish(self) -> None:
        recording, self._recording = self._recording, None
        if recording is None:
            self._say_none()
            return
        try:
            capture = control.end(recording)
            if self._verbose:
                print_summary(capture)
        except Exception as error:  # as in _begin
            _log.warning("stepscope: this loop's recording failed: %s", error)

    def _say_none(self) -> None:
        """A loop that was too short, or never steady, leaves no file: say so, and what to do."""
        if self._logdir is not None and not self._is_asked and self._verbose:
            _log.warning(
                "stepscope: nothing was recorded: the loop ended after %d steps, before their "
                'times were steady; choose steps, as in profile_steps="5,14"',
                self._window.done,
            )
