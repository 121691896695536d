"""Recording some steps of a PyTorch loop, which reports them itself or through its optimizer.

with stepscope.torch.profile("logs", schedule=stepscope.torch.schedule(wait=1, active=3)) as p:
    for batch in loader:
        train(batch)
        p.step()

stepscope.torch.watch("logs")    # no change to the loop: its optimizer's steps are counted
"""

from __future__ import annotations

import atexit
import os
from types import TracebackType
from typing import Any

from stepscope.capture.hooks.loop import LoopRecorder, StepPlan
from stepscope.capture.hooks.schedule import Schedule
from stepscope.capture.hooks.window import DEFAULT_STEPS, StepsLike, StepWindow, parse_steps
from stepscope.capture.options import ProfilerOptions
from stepscope.capture.result import Capture

schedule = Schedule


def plan(profile_steps: StepsLike | Schedule, steps: int) -> StepPlan:
    """Which steps: a schedule, named ones, or ``steps`` once they run steadily."""
    if isinstance(profile_steps, Schedule):
        return profile_steps
    return StepWindow(parse_steps(profile_steps), steps)


class profile:
    """``with profile(logdir) as p:`` around a loop that calls ``p.step()`` after each step.

    Args:
        logdir: Where to write.
        schedule: Which steps: ``schedule(…)``, first and last (``"10,15"``), or by default
            ``steps`` of them once their times have become steady.
        steps: How many steady steps.
        options: What to record.
        verbose: Whether to print a summary at the end.
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        schedule: StepsLike | Schedule = None,
        *,
        steps: int = DEFAULT_STEPS,
        options: ProfilerOptions | None = None,
        verbose: bool = True,
    ) -> None:
        self._loop = LoopRecorder(logdir, plan(schedule, steps), options, verbose=verbose)
        self._hook: Any = None  # what tells of the steps, where the loop does not

    @property
    def captures(self) -> list[Capture]:
        """The results, one per cycle of the schedule; complete once the block has ended."""
        return self._loop.captures

    def step(self) -> None:
        """A step has ended; never raises."""
        self._loop.step()

    def pause(self) -> None:
        """What follows is not part of a step (a validation, a checkpoint), until ``resume``."""
        self._loop.pause()

    def resume(self) -> None:
        """Steps follow again."""
        self._loop.begin()

    def __enter__(self) -> profile:
        self._loop.begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._hook is not None:
            self._hook.remove()
        self._loop.finish()


def watch(
    logdir: str | os.PathLike[str],
    steps: StepsLike | Schedule = None,
    *,
    count: int = DEFAULT_STEPS,
    options: ProfilerOptions | None = None,
    verbose: bool = True,
) -> profile:
    """Record some steps of any training in this process, counted by its optimizer's steps.

    With several optimizers, the first one to step counts. A recording that is running when the
    process exits is written then.

    Args:
        logdir: Where to write.
        steps: Which steps; by default ``count`` steady ones.
        count: How many steady steps.
        options: What to record.
        verbose: Whether to print a summary at the end.
    """
    from torch.optim.optimizer import register_optimizer_step_post_hook

    watched = profile(logdir, steps, steps=count, options=options, verbose=verbose)
    watched.__enter__()
    first: list[int] = []

    def stepped(optimizer: Any, *_: Any) -> None:
        if not first:
            first.append(id(optimizer))
        if id(optimizer) == first[0]:
            watched.step()

    watched._hook = register_optimizer_step_post_hook(stepped)
    atexit.register(watched.__exit__, None, None, None)
    return watched
