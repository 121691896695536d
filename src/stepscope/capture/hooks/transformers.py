"""A callback for Hugging Face's ``Trainer`` that records some of its steps.

trainer = Trainer(..., callbacks=[stepscope.transformers.Callback("logs")])
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from stepscope.capture.hooks.loop import LoopRecorder
from stepscope.capture.hooks.schedule import Schedule
from stepscope.capture.hooks.torch import plan
from stepscope.capture.hooks.window import DEFAULT_STEPS, StepsLike
from stepscope.capture.options import ProfilerOptions
from stepscope.capture.result import Capture


def _base() -> Any:
    """The trainer's class of callbacks; ``object`` where transformers is not installed."""
    try:
        return import_module("transformers").TrainerCallback
    except (ImportError, AttributeError):
        return object


class Callback(_base()):  # type: ignore[misc]  # transformers is optional, so Any here
    """Records a few steps (of the optimizer) and prints what came of them when training ends.

    Args:
        logdir: Where to write; every process of a run writes its own file there.
        steps: First and last step from 1 (``"10,15"``), a ``stepscope.torch.schedule``, or by
            default ``count`` steps once their times have become steady.
        count: How many steady steps.
        options: What to record.
        verbose: Whether to print the summary.
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        steps: StepsLike | Schedule = None,
        *,
        count: int = DEFAULT_STEPS,
        options: ProfilerOptions | None = None,
        verbose: bool = True,
    ) -> None:
        super().__init__()
        self._loop = LoopRecorder(logdir, plan(steps, count), options, verbose=verbose)

    @property
    def captures(self) -> list[Capture]:
        """What was recorded, complete once training has ended."""
        return self._loop.captures

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Learn how long the training is."""
        total = getattr(state, "max_steps", None)
        self._loop.begin(total if isinstance(total, int) else None)

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """The first step of an epoch begins."""
        self._loop.begin()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """A step has ended; fetching the next batch is part of the next one."""
        self._loop.step()

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """What the trainer does between epochs is no step."""
        self._loop.pause()

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """An evaluation has ended: the time since the last step is none."""
        self._loop.pause()
        self._loop.begin()

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """As for an evaluation."""
        self._loop.pause()
        self._loop.begin()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Wait for the export and print the summary."""
        self._loop.finish()
