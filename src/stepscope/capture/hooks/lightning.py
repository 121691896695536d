"""A Lightning callback that records some steps of ``Trainer.fit``.

trainer = Trainer(callbacks=[stepscope.lightning.Callback("logs")])
"""

from __future__ import annotations

from typing import Any

from stepscope.capture.hooks.callback import LoopCallback, framework_class

_Framework: Any = framework_class("Callback", "lightning.pytorch", "pytorch_lightning")


class Callback(LoopCallback, _Framework):  # type: ignore[misc]  # Any: Lightning is optional
    """Records a few steps and prints a summary when training ends."""

    _is_training = False

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Learn how long the training is."""
        self._is_training = True
        self._loop.begin(batches_of(trainer))

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """The first step of an epoch begins."""
        self._loop.begin()

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """A step has ended; fetching the next batch is part of the next one."""
        self._loop.step()

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """The time between epochs is not part of a step."""
        self._loop.pause()

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """A validation is not a training step."""
        self._loop.pause()

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Training goes on; before it, Lightning tries the validation out."""
        if self._is_training:
            self._loop.begin()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Write what was recorded."""
        self._loop.finish()

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Wait for the export and print the summary."""
        self._loop.finish()


def batches_of(trainer: Any) -> int | None:
    """How many batches a training will have; None where nothing limits it, or it is unknown.

    Args:
        trainer: With ``max_steps`` of the optimizer (-1: no limit), or ``max_epochs`` of
            ``num_training_batches``, or both.
    """
    limits = []
    steps, each = getattr(trainer, "max_steps", -1), getattr(trainer, "accumulate_grad_batches", 1)
    if isinstance(steps, int) and steps > 0:
        limits.append(steps * (each if isinstance(each, int) and each > 0 else 1))
    epochs = getattr(trainer, "max_epochs", None)
    batches = getattr(trainer, "num_training_batches", None)  # infinity where unknown
    if isinstance(epochs, int) and epochs > 0 and isinstance(batches, int) and batches > 0:
        limits.append(epochs * batches)
    return min(limits, default=None)
