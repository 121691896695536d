"""A Lightning callback that records some steps of ``Trainer.fit``.

trainer = Trainer(callbacks=[stepscope.lightning.Callback("logs")])
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
    """Lightning's class of callbacks under either of its names; ``object`` without Lightning."""
    for module in ("lightning.pytorch", "pytorch_lightning"):
        try:
            return import_module(module).Callback
        except (ImportError, AttributeError):
            continue
    return object


class Callback(_base()):  # type: ignore[misc]  # Lightning is optional, so Any here
    """Records a few steps and prints what came of them when training ends.

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
        self._is_training = False

    @property
    def captures(self) -> list[Capture]:
        """What was recorded, complete once training has ended."""
        return self._loop.captures

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Learn how long the training is."""
        self._is_training = True
        total = getattr(trainer, "max_steps", None)
        self._loop.begin(total if isinstance(total, int) else None)

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """The first step of an epoch begins."""
        self._loop.begin()

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """A step has ended; fetching the next batch is part of the next one."""
        self._loop.step()

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """What Lightning does between epochs is no step."""
        self._loop.pause()

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """A validation is no step of training."""
        self._loop.pause()

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Training goes on; before it, Lightning tries the validation out."""
        if self._is_training:
            self._loop.begin()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Write what there is."""
        self._loop.finish()

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Wait for the export and print the summary."""
        self._loop.finish()
