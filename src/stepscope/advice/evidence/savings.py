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
# A fix changes several things at once: where a part and what goes with it take a share of the step,
# this share of that share of the rest may go, too. Chosen by ``tests/collection/margins.py``.
_BEYOND = 0.5
# A part of which less delays the step is bounded by what runs beside it, which stays.
_DELAYS_FRAC = 0.8


@dataclass(frozen=True, slots=True)
class Saving:
    """A range, in ms per mean step.

    Attributes:
        low_ms: Where the least goes that a change of its kind takes away, and nothing with it.
        expected_ms: Between the two.
        high_ms: Where the part goes, with it what surrounds it, and some of the rest.
    """

    low_ms: float
    expected_ms: float
    high_ms: float


def saving_of(account: StepAccount, part: PartRow, least: float, expected: float) -> Saving:
    """What a change to a part saves.

    Args:
        account: Of the step.
        part: One of its parts.
        least: Share of it that goes at least.
        expected: Share that is expected to go.
    """
    alone, typical, most = played(part)
    low = least * typical
    high = max(beyond(account, part, most), expected * alone)
    return Saving(min(low, high), max(expected * alone, min(low, high)), high)


def beyond(account: StepAccount, part: PartRow, most_ms: float) -> float:
    """The most that goes, from what is seen to go with a part, and the rest in proportion.

    Beside a device nothing is known of that.
    """
    step = account.step_time_ms
    if account.has_device or is_hidden(part) or not 0 < most_ms < step:
        return most_ms
    return most_ms + _BEYOND * most_ms * (1 - most_ms / step)


def is_hidden(part: PartRow) -> bool:
    """Whether much of it runs beside what the step would wait for without it."""
    return not part.alone_ms >= _DELAYS_FRAC * part.time_ms


def played(part: PartRow) -> tuple[float, float, float]:
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
    extra = max(played(nearest)[2] - nearest.time_ms, 0.0)
    most = high_ms + extra * min(high_ms / nearest.time_ms, 1.0)
    return min(beyond(account, nearest, most), account.step_time_ms)
