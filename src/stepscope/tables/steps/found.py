"""What a finder of steps returns: spans of one host, and how far they can be believed."""

from __future__ import annotations

from typing import Literal

import numpy as np

from stepscope.columns.space import I64
from stepscope.records import dataclass, field

Certainty = Literal["certain", "likely", "uncertain"]
# The recording as a whole in place of steps, where none are found.
WINDOW = "window"


@dataclass(frozen=True, eq=False, slots=True)
class Markers:
    """Step spans of one host, ascending and disjoint.

    Attributes:
        source: "markers", "device_steps", "framework", "inferred", or "window": no steps, but the
            recording as a whole.
        confidence: 0–1.
        explanation: What the steps are, for a person.
        num: Step numbers as recorded, or the order.
        name: Name of each step.
        start_ps, end_ps: Half-open spans. Where time between the marks belongs to the loop, a
            step lasts to the start of the next.
        line: Row of the line the markers are on (-1: a device, or several threads).
        mark_end_ps: Where each mark itself ends; equal to ``end_ps`` where it is the step.
        certainty: The confidence in a word.
        reason: Why it is that sure, as a clause.
        is_start_to_start: Whether steps last to the start of the next.
        is_first_open, is_last_open: Whether nothing recorded tells where the first step begins,
            and where the last one ends.
        is_last_cut: Whether the recording ended within the last step.
        thread: Row of the line of the thread that runs the loop, -1 unknown; equal to ``line``
            where the markers are on it.
        between: What runs between two marks, as words to follow "most of it"; "" unknown.
        others_ps: When steps of another kind began, which are not these: an evaluation's between
            those of the training. Ascending.
    """

    source: str
    confidence: float
    explanation: str
    num: I64
    name: list[str]
    start_ps: I64
    end_ps: I64
    line: int
    mark_end_ps: I64
    certainty: Certainty
    reason: str
    is_start_to_start: bool = False
    is_first_open: bool = False
    is_last_open: bool = False
    is_last_cut: bool = False
    thread: int = -1
    between: str = ""
    others_ps: I64 = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.num)

    @property
    def is_window(self) -> bool:
        """Whether this is the recording as a whole, for want of steps."""
        return self.source == WINDOW
