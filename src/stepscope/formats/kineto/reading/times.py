"""When events of a trace begin and how long they last, in ns and what a ns leaves of ps."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.formats.kineto.reading.scan import DURATION_IN_PS, HAS_START, START_IN_PS
from stepscope.records import dataclass

I64 = NDArray[np.int64]
Bool = NDArray[np.bool_]

# A time of exactly 0 where all others are hours away was never taken.
_HOURS_NS: Final = 3_600_000_000_000
_NO_REST: Final = np.zeros(1, np.int16)


@dataclass(slots=True, eq=False)
class EventTimes:
    """The times of all events of a file, in its order.

    Attributes:
        start, length: In whole ns, begins since 1970.
        start_rest, length_rest: What those leave, in ps. They cannot be written where the file
            has none.
        has_start: Which events say when they begin.
        untimed: Events whose time the recorder did not take; ``has_start`` leaves them out.
    """

    start: I64
    length: I64
    start_rest: NDArray[np.int16]
    length_rest: NDArray[np.int16]
    has_start: Bool
    untimed: int = 0

    def drop_zeros(self, can_be_zero: Bool) -> None:
        """Times of exactly 0 are unknown where no other is near.

        Args:
            can_be_zero: Events to which that does not apply.
        """
        is_zero = self.has_start & (self.start == 0) & ~can_be_zero
        if not is_zero.any():
            return
        others = self.start[self.has_start & (self.start != 0)]
        if len(others) and abs(int(np.median(others))) > _HOURS_NS:
            self.has_start &= ~is_zero
            self.untimed = int(is_zero.sum())

    def end_at(self, begin: I64, end: I64) -> None:
        """Let some events last until the begins of as many others."""
        self.length[begin] = self.start[end] - self.start[begin]
        rest = self.start_rest[end] - self.start_rest[begin]
        if (rest != self.length_rest[begin]).any():
            self.length_rest = self.length_rest.copy()
            self.length_rest[begin] = rest

    def take_lengths(self, rows: NDArray[np.integer[Any]]) -> I64:
        """The lengths of some events; those of all are given up."""
        found: I64 = self.length[rows]
        self.length = self.length[:0].copy()
        return found

    def take_starts(self, rows: NDArray[np.integer[Any]]) -> I64:
        """The begins of some events; those of all are given up."""
        found: I64 = self.start[rows]
        self.start = self.start[:0].copy()
        return found

    def rests(self, rows: NDArray[np.integer[Any]]) -> dict[str, NDArray[np.int16]]:
        """What the ns of some events leave of ps, as columns of slices."""
        return {
            f"{name}_rest_ps": rest[rows] if rest.flags.writeable else rest[: len(rows)]
            for name, rest in (("start", self.start_rest), ("duration", self.length_rest))
        }


def event_times(columns: dict[str, NDArray[Any]]) -> EventTimes:
    """The times of a scan; its columns ``start`` and ``duration`` are given up."""
    flags = columns["flags"]
    start, start_rest = _to_ns(columns.pop("start"), (flags & START_IN_PS) > 0)
    length, length_rest = _to_ns(columns.pop("duration"), (flags & DURATION_IN_PS) > 0)
    return EventTimes(start, length, start_rest, length_rest, (flags & HAS_START) > 0)


def _to_ns(time: NDArray[Any], is_ps: Bool) -> tuple[I64, NDArray[np.int16]]:
    """Times as the nearest ns, and what is left of those that are known to the ps."""
    time = time.astype(np.int64, copy=False)
    rows = np.flatnonzero(is_ps)
    # Hardly a file has any: then all are the same zero, which cannot be written.
    rest = np.zeros(len(time), np.int16) if len(rows) else np.broadcast_to(_NO_REST, len(time))
    if len(rows):
        exact = time[rows]
        time[rows] = exact // 1000 + (exact % 1000 >= 500)
        rest[rows] = exact - time[rows] * 1000
    return time, rest
