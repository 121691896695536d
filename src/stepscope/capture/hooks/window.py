"""Which steps of a training to record: named ones, or the first that run steadily."""

from __future__ import annotations

import time
from collections import deque
from itertools import pairwise
from typing import Final

from stepscope.capture.hooks.schedule import StepPhase
from stepscope.errors import UsageError

DEFAULT_STEPS: Final = 10
# Steady: of this many steps in a row the slowest takes at most this much longer than the fastest.
_STEADY_STEPS: Final = 5
_STEADY_SPREAD: Final = 1.25
# Compilation, autotuning and caches are over by then, or never will be.
_PATIENCE_STEPS: Final = 50
# A training known to be short is recorded from its third step on: the first two compile.
_SHORT_SKIP: Final = 2

StepsLike = int | str | tuple[int, int] | list[int] | None


def parse_steps(given: StepsLike) -> tuple[int, int] | None:
    """First and last step (from 1) of ``"10,15"``, ``(10, 15)`` or ``12``; None for steady ones.

    Raises:
        UsageError: It is none of these, or ends before it begins.
    """
    if given is None:
        return None
    try:
        parts = given.split(",") if isinstance(given, str) else given
        numbers = [int(parts)] if isinstance(parts, int) else [int(part) for part in parts]
        first, last = numbers[0], numbers[-1]
        if len(numbers) > 2 or not 1 <= first <= last:
            raise ValueError
    except (ValueError, TypeError, IndexError) as error:
        raise UsageError(
            f"{given!r} is not a valid choice of steps.",
            why='Give a step ("12"), the first and the last ("10,15"), or None for steady ones.',
            hint="Count steps from 1.",
            slug="capture-option",
        ) from error
    return first, last


class StepWindow:
    """Decides when to begin and end recording, from the ends of steps.

    Args:
        steps: First and last step from 1; None: ``count`` steps once they run steadily.
        count: How many steady steps.
    """

    def __init__(self, steps: tuple[int, int] | None = None, count: int = DEFAULT_STEPS) -> None:
        self._steps = steps
        self._count = count
        self._done = 0
        self._times: deque[float] = deque(maxlen=_STEADY_STEPS + 1)
        self._begin_after: int | None = None if steps is None else steps[0] - 1
        #: How many steps the whole training has, if that is known.
        self.total: int | None = None

    @property
    def done(self) -> int:
        """Steps that have ended."""
        return self._done

    def step_done(self, steps: int = 1) -> None:
        """A step has ended, or a call that did several."""
        self._done += steps
        if self._begin_after is None:
            self._times.append(time.perf_counter())
            if self._is_steady() or self._done >= self._latest():
                self._begin_after = self._done

    def begins(self) -> bool:
        """Whether recording should begin before the next step."""
        return self._begin_after is not None and self._done >= self._begin_after

    def ends(self) -> bool:
        """Whether the last step to record has ended."""
        if self._begin_after is None:
            return False
        last = self._begin_after + self._count if self._steps is None else self._steps[1]
        return self._done >= last

    @property
    def phase(self) -> StepPhase:
        """What the next step is for."""
        is_in = self.begins() and not self.ends()
        return StepPhase(is_in, is_in, 0)

    def pause(self) -> None:
        """Something other than steps ran, such as a validation; ignore the time across it."""
        self._times.clear()

    def _is_steady(self) -> bool:
        if len(self._times) <= _STEADY_STEPS:
            return False
        took = [after - before for before, after in pairwise(self._times)]
        return max(took) <= _STEADY_SPREAD * min(took)

    def _latest(self) -> int:
        if self.total is None:
            return _PATIENCE_STEPS
        return min(_PATIENCE_STEPS, max(self.total - self._count, min(_SHORT_SKIP, self.total - 1)))
