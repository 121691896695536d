"""What a change saves: at least, as expected and at most.

The account of the step has been played again without each of its parts (``step_account.parts``):
what is left of a part's time when only the part goes, in the mean and in the typical step, and
when all goes with it that can.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stepscope.analysis.step_account import PartRow, StepAccount

# A part that fewer steps have is not in the typical one.
_TYPICAL_FRAC = 0.5


@dataclass(frozen=True, slots=True)
class Saving:
    """A range, in ms per mean step.

    Attributes:
        low_ms: Where the least goes that a change of its kind takes away, and nothing with it.
        expected_ms: Between the two.
        high_ms: Where the part goes, and with it what surrounds it.
    """

    low_ms: float
    expected_ms: float
    high_ms: float


def saving_of(part: PartRow, least: float, expected: float) -> Saving:
    """What a change to a part saves.

    Args:
        part: Of the account.
        least: Share of it that goes at least.
        expected: Share that is expected to go.
    """
    alone, typical, most = _played(part)
    low = least * min(alone, typical)
    return Saving(low, max(expected * alone, low), max(most, expected * alone))


def _played(part: PartRow) -> tuple[float, float, float]:
    """What it saves alone, in a typical step and at most; small parts were not played again."""
    if not part.alone_ms >= 0:
        return part.time_ms, part.time_ms, part.time_ms
    is_typical = part.typical_ms > 0 and not part.steps_frac < _TYPICAL_FRAC
    return part.alone_ms, part.typical_ms if is_typical else part.alone_ms, part.most_ms


def widened(account: StepAccount, kinds: Collection[str], high_ms: float) -> float:
    """What a change saves at most that takes so much from a part of one of these kinds.

    The part is the one of that size: what goes with it goes with the change in proportion.
    """
    parts = [part for part in account.parts.records() if part.kind in kinds and part.time_ms > 0]
    nearest = min(parts, key=lambda part: abs(part.time_ms - high_ms), default=None)
    if nearest is None:
        return high_ms
    extra = max(_played(nearest)[2] - nearest.time_ms, 0.0)
    return min(high_ms + extra * min(high_ms / nearest.time_ms, 1.0), account.step_time_ms)
