"""Changes of the step time found while a run goes on: a CUSUM of block medians, in both directions.

Steps are put together into blocks of ten, whose median no single slow step moves. A block counts by
its distance from the reference, in units of the spread of earlier blocks.
Page, "Continuous inspection schemes", Biometrika 41 (1954).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from math import exp, log, sqrt
from statistics import median
from typing import Final

from stepscope.records import dataclass, field

_BLOCK_STEPS: Final = 10
# Blocks before the first alarm, and as many as the reference remembers.
_FEWEST_BLOCKS, _MOST_BLOCKS = 15, 100
# The newest blocks may belong to a change already: they wait before they enter the reference.
_WAITING_BLOCKS: Final = 6
# Half of the smallest shift to be found, and the smallest distance that counts at all.
_HALF_SHIFT, _LEAST_DISTANCE = 0.01, 1.0
# No block counts for more than this beyond the distance, so that an alarm needs three.
_MOST_GAIN: Final = 3.5
_LIMIT: Final = 6.0
# The clock's and the log's own resolution.
_LEAST_SPREAD: Final = 0.002
_MAD: Final = 1.4826
# A run that has changed this often wanders: only shifts beyond the usual ones are changes.
_FEW_CHANGES: Final = 3
# Smaller shifts are not worth a word.
_LEAST_SHIFT: Final = 0.01


@dataclass(frozen=True, slots=True)
class StepTimeChange:
    """A lasting change of the step time.

    Attributes:
        step: Number of steps before it.
        seen: Number of steps when it was found.
        before, after: Median step times, in the unit of the steps.
    """

    step: int
    seen: int
    before: float
    after: float


@dataclass(slots=True)
class ChangeDetector:
    """Finds changes in step times that come one by one.

    Attributes:
        steps: Steps so far.
    """

    steps: int = 0
    _block: list[float] = field(default_factory=list)
    _reference: deque[float] = field(default_factory=lambda: deque(maxlen=_MOST_BLOCKS))
    _recent: list[tuple[int, float]] = field(default_factory=list)
    _shifts: deque[float] = field(default_factory=lambda: deque(maxlen=2 * _FEW_CHANGES))
    # Sum and first step of the rise that is being summed, by direction.
    _sums: dict[int, tuple[float, int]] = field(default_factory=lambda: {1: (0.0, 0), -1: (0.0, 0)})

    def add(self, length: float) -> StepTimeChange | None:
        """Add a step; the change that it completes, or None."""
        self.steps += 1
        if length > 0:
            self._block.append(length)
        if len(self._block) < _BLOCK_STEPS:
            return None
        level = log(median(self._block))
        self._block.clear()
        begin = self.steps - _BLOCK_STEPS
        self._recent.append((begin, level))
        if len(self._recent) > _WAITING_BLOCKS and not any(one[0] for one in self._sums.values()):
            self._reference.append(self._recent.pop(0)[1])
        if len(self._reference) < _FEWEST_BLOCKS:
            if len(self._recent) > _WAITING_BLOCKS:
                self._reference.append(self._recent.pop(0)[1])
            return None
        return self._judged(begin, level)

    def _judged(self, begin: int, level: float) -> StepTimeChange | None:
        centre = median(self._reference)
        spread = _MAD * median(abs(one - centre) for one in self._reference)
        # Few blocks know their own centre and spread badly.
        spread = max(spread, _LEAST_SPREAD) * (1 + 3 / sqrt(len(self._reference)))
        if len(self._shifts) >= _FEW_CHANGES:
            spread = max(spread, max(self._shifts))
        least = max(_LEAST_DISTANCE, _HALF_SHIFT / spread)
        for sign, (total, since) in self._sums.items():
            gain = min(sign * (level - centre) / spread - least, _MOST_GAIN)
            grown = max(total + gain, 0.0)
            self._sums[sign] = grown, since if total > 0 else begin
            if grown > _LIMIT:
                return self._alarm(self._sums[sign][1], centre)
        if len(self._recent) > _MOST_BLOCKS:
            self._reference.append(self._recent.pop(0)[1])
        return None

    def _alarm(self, since: int, centre: float) -> StepTimeChange | None:
        after = [one for begin, one in self._recent if begin >= since]
        level = median(after)
        self._sums = {1: (0.0, 0), -1: (0.0, 0)}
        if abs(level - centre) < _LEAST_SHIFT:
            return None
        self._shifts.append(abs(level - centre))
        self._reference.clear()
        self._recent = [one for one in self._recent if one[0] >= since]
        return StepTimeChange(since, self.steps, exp(centre), exp(level))


def changes(lengths: Iterable[float]) -> list[StepTimeChange]:
    """All changes of a series of step times."""
    detector = ChangeDetector()
    return [found for length in lengths if (found := detector.add(length)) is not None]
