"""What comes several times in a row in a sequence: the turns of a loop, without its line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.columns.space import I64

# So many comparisons take a blink.
_MOST_COMPARED: Final = 20_000_000
# A sequence that repeats itself in more ways has no structure worth a word.
_MOST_FOUND: Final = 500


@dataclass(frozen=True, slots=True)
class InARow:
    """A stretch of a sequence that consists of the same again and again.

    Attributes:
        begin: Where it begins.
        period: Length of what repeats.
        times: How often it comes, whole.
    """

    begin: int
    period: int
    times: int

    @property
    def end(self) -> int:
        """One past the last of its whole turns."""
        return self.begin + self.period * self.times


def in_a_row(sequence: I64, least: int) -> list[InARow]:
    """All stretches in which the same comes ``least`` times or more, the shortest periods first.

    What repeats a shorter repetition is not listed again. Of a long sequence, periods that would
    take too long to look for are left out.
    """
    count = len(sequence)
    longest = min(count // least, _MOST_COMPARED // max(count, 1))
    found: list[InARow] = []
    for period in range(1, longest + 1):
        same = np.concatenate([[False], sequence[period:] == sequence[:-period], [False]])
        edges = np.flatnonzero(same[1:] != same[:-1])
        length = edges[1::2] - edges[::2]
        long = np.flatnonzero(length >= (least - 1) * period)
        for begin, run in zip(edges[::2][long].tolist(), length[long].tolist(), strict=True):
            if not _is_within(found, period, begin, begin + run + period):
                found.append(InARow(begin, period, run // period + 1))
        if len(found) >= _MOST_FOUND:
            break
    return found


def _is_within(found: list[InARow], period: int, begin: int, end: int) -> bool:
    """Whether a shorter period explains a stretch."""
    return any(
        period % one.period == 0 and one.begin <= begin and end < one.end + one.period
        for one in found
    )
