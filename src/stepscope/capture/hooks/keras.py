"""A Keras callback that records some steps of ``fit``, ``evaluate`` or ``predict``.

model.fit(data, callbacks=[stepscope.keras.Callback("logs")])                    # steady steps
model.fit(data, callbacks=[stepscope.keras.Callback("logs", profile_batch="10,15")])
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import keras

from stepscope.capture import control
from stepscope.capture.hooks.isolation import harmless
from stepscope.capture.hooks.window import DEFAULT_STEPS, StepsLike, StepWindow, parse_steps
from stepscope.capture.options import ProfilerOptions
from stepscope.capture.recording import Recording
from stepscope.capture.result import Capture
from stepscope.capture.summary import print_summary
from stepscope.capture.tracing import step

_log = logging.getLogger("stepscope")


class Callback(keras.callbacks.Callback):  # type: ignore[misc]  # Keras is optional, so Any here
    """Records a few steps and prints a summary when training ends.

    Args:
        logdir: Where to write.
        profile_batch: First and last batch to record, from 1 (``"10,15"``), or one batch. By
            default ``steps`` batches once their times have become steady.
        steps: How many steady batches to record.
        options: What to record.
        verbose: Whether to print the summary.

    Attributes:
        capture: The result, once the recording is written.
        is_off: Whether an error has switched it off.
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        profile_batch: StepsLike = None,
        *,
        steps: int = DEFAULT_STEPS,
        options: ProfilerOptions | None = None,
        verbose: bool = True,
    ) -> None:
        super().__init__()
        self.capture: Capture | None = None
        self._logdir = logdir
        self._options = options
        self._verbose = verbose
        self._window = StepWindow(parse_steps(profile_batch), steps)
        self._recording: Recording | None = None
        self._marker: AbstractContextManager[object] | None = None
        self.is_off = False
        self._first_of_call = 0

    # --- Keras calls these --------------------------------------------------------------------

    @harmless
    def on_train_begin(self, logs: Mapping[str, Any] | None = None) -> None:
        """Learn how long the training is."""
        epochs, steps = self.params.get("epochs"), self.params.get("steps")
        if epochs and steps:
            self._window.total = epochs * steps

    @harmless
    def on_train_batch_begin(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Begin the recording before its first step, and mark the step."""
        self._open("train", batch)

    @harmless
    def on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        """End the step, and the recording after its last one."""
        self._close(batch)

    @harmless
    def on_test_batch_begin(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Mark a step of a validation; it is recorded only if training is just then."""
        self._mark("test", batch)

    @harmless
    def on_test_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        """End the step of the validation."""
        self._unmark()
        self._window.pause()

    @harmless
    def on_predict_batch_begin(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        """As for training."""
        self._open("predict", batch)

    @harmless
    def on_predict_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        """As for training."""
        self._close(batch)

    @harmless
    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        """The time between epochs is not part of a step."""
        self._window.pause()

    @harmless
    def on_train_end(self, logs: Mapping[str, Any] | None = None) -> None:
        """Wait for the export and print the summary."""
        self._finish()

    @harmless
    def on_predict_end(self, logs: Mapping[str, Any] | None = None) -> None:
        """As for training."""
        self._finish()

    # --- what they do ---------------------------------------------------------------------------

    def _open(self, name: str, batch: int) -> None:
        if self._recording is None and self.capture is None and self._window.begins():
            self._recording = control.start(self._logdir, self._options)
        self._first_of_call = batch
        self._mark(name, self._window.done)

    def _close(self, batch: int) -> None:
        self._unmark()
        # With steps_per_execution one call does several batches.
        self._window.step_done(max(1, batch - self._first_of_call + 1))
        if self._recording is not None and self._window.ends():
            # The export runs in the background; on_train_end waits for it.
            self._recording.finish("stop", wait=False)

    def _mark(self, name: str, number: int) -> None:
        self._unmark()
        self._marker = step(number, name)
        self._marker.__enter__()

    def _unmark(self) -> None:
        marker, self._marker = self._marker, None
        if marker is not None:
            marker.__exit__(None, None, None)

    def _finish(self) -> None:
        self._unmark()
        recording, self._recording = self._recording, None
        if recording is None:
            if self.capture is None and self._verbose:
                done = self._window.done
                _log.warning("stepscope: nothing was recorded: training ended after %d steps", done)
            return
        self.capture = control.end(recording)
        if self._verbose:
            print_summary(self.capture)
