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
