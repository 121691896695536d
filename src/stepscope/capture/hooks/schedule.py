"""Which steps to record, in the terms of ``torch.profiler.schedule``."""

from __future__ import annotations

from typing import Final, NamedTuple

from stepscope.errors import UsageError


class StepPhase(NamedTuple):
    """What a step is for.

    Attributes:
        is_recording: Whether anything records.
        is_kept: Whether what is recorded is kept (else it only warms the profilers up).
        cycle: Which repetition it belongs to.
    """

    is_recording: bool
    is_kept: bool
    cycle: int


OFF: Final = StepPhase(False, False, 0)


class Schedule:
    """Skip some steps, then again and again: wait, warm up, record.

    Args:
        skip_first: Steps before the first cycle.
        wait: Steps of each cycle that are not recorded.
        warmup: Steps of each cycle that are recorded and forgotten.
        active: Steps of each cycle that are kept, as one recording.
        repeat: How many cycles; 0: to the end of the loop.

    Raises:
        UsageError: A number below 0, or no step to record.
    """

    def __init__(
        self, *, wait: int = 0, warmup: int = 0, active: int, repeat: int = 1, skip_first: int = 0
    ) -> None:
        given = {
            "wait": wait,
            "warmup": warmup,
            "active": active,
            "repeat": repeat,
            "skip_first": skip_first,
        }
        for name, value in given.items():
            least = 1 if name == "active" else 0
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise UsageError(
                    f"The schedule's {name} cannot be {value!r}.",
                    why=f"It must be a number of steps from {least}.",
                    hint="For instance schedule(wait=1, warmup=1, active=3, repeat=2).",
                    slug="capture-option",
                )
        self._wait, self._warmup, self._active = wait, warmup, active
        self._repeat, self._skip_first = repeat, skip_first
        self.done = 0
        #: How many steps the loop has; a schedule does not need it.
        self.total: int | None = None

    @property
    def phase(self) -> StepPhase:
        """What the next step is for."""
        at = self.done - self._skip_first
        length = self._wait + self._warmup + self._active
        cycle, place = divmod(at, length)
        if at < 0 or (self._repeat and cycle >= self._repeat) or place < self._wait:
            return OFF
        return StepPhase(True, place >= self._wait + self._warmup, cycle)

    def step_done(self, steps: int = 1) -> None:
        """Steps have ended."""
        self.done += steps

    def pause(self) -> None:
        """A schedule counts steps alone."""
