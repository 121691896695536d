"""The base of the callbacks for trainers of any framework."""

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


def framework_class(name: str, *modules: str) -> Any:
    """The class of this name in the first of the modules that has it; ``object`` where none has.

    A framework's callbacks must be of its class, and Stepscope must import without the framework.
    """
    for module in modules:
        try:
            return getattr(import_module(module), name)
        except (ImportError, AttributeError):
            continue
    return object


class LoopCallback:
    """The recorder of a loop, which a callback informs about steps.

    Among the bases of a callback it comes before the framework's class, and initialises it.
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
        """Record some steps of the training.

        Args:
            logdir: Where to write; every process of a run writes its own file there.
            steps: First and last step from 1 (``"10,15"``), a ``stepscope.torch.schedule``, or by
                default ``count`` steps once their times have become steady.
            count: How many steady steps.
            options: What to record.
            verbose: Whether to print the summary.

        Raises:
            UsageError: ``steps`` is not a valid choice of steps.
        """
        super().__init__()
        self._loop = LoopRecorder(logdir, plan(steps, count), options, verbose=verbose)

    @property
    def captures(self) -> list[Capture]:
        """What was recorded, complete once training has ended."""
        return self._loop.captures
