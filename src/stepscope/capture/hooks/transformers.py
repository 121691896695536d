"""A callback for Hugging Face's ``Trainer`` that records some of its steps.

trainer = Trainer(..., callbacks=[stepscope.transformers.Callback("logs")])
"""

from __future__ import annotations

from typing import Any

from stepscope.capture.hooks.callback import LoopCallback, framework_class

_Framework: Any = framework_class("TrainerCallback", "transformers")


class Callback(LoopCallback, _Framework):  # type: ignore[misc]  # Any: transformers is optional
    """Records a few optimizer steps and prints a summary when training ends."""

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
        """The time between epochs is not part of a step."""
        self._loop.pause()

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """An evaluation has ended; it is not part of a step."""
        self._loop.pause()
        self._loop.begin()

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """As for an evaluation."""
        self._loop.pause()
        self._loop.begin()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Wait for the export and print the summary."""
        self._loop.finish()
