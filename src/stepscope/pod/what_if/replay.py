"""A schedule run again with other durations: which step would have resulted.

A schedule says what each operation waits for and which operations end together. It is that of one
pipeline in one step; all steps and all data-parallel replicas, its *lanes*, follow the same one, so
a replay is a handful of array operations for each operation of the schedule, however many lanes.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from stepscope.records import dataclass

F64 = NDArray[np.float64]
Bool = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, slots=True)
class ReplaySchedule:
    """Operations of one lane, and what they wait for.

    Attributes:
        before: By operation: those that must have ended before it begins.
        meetings: Operations that end when the last of them has begun and the transfer is done;
            in the order in which a replay can visit them. One that meets nobody is alone.
        is_transfer: By operation: whether it waits for its partners, so that its duration is that
            of the transfer alone.
        is_global: By operation: whether its partners are those of all replicas, too.
    """

    before: tuple[tuple[int, ...], ...]
    meetings: tuple[tuple[int, ...], ...]
    is_transfer: Bool
    is_global: Bool

    def __len__(self) -> int:
        return len(self.before)


def in_order(
    before: list[set[int]], meetings: list[tuple[int, ...]]
) -> tuple[tuple[int, ...], ...] | None:
    """The meetings, each after all that its operations wait for; None if they wait in a circle."""
    meeting_of = {one: place for place, members in enumerate(meetings) for one in members}
    needs = [
        {meeting_of[other] for one in members for other in before[one]} for members in meetings
    ]
    after: list[list[int]] = [[] for _ in meetings]
    for place, wanted in enumerate(needs):
        for one in wanted:
            after[one].append(place)
    missing = [len(wanted) for wanted in needs]
    ready = deque(place for place, count in enumerate(missing) if count == 0)
    found = []
    while ready:
        place = ready.popleft()
        found.append(meetings[place])
        for one in after[place]:
            missing[one] -= 1
            if missing[one] == 0:
                ready.append(one)
    return tuple(found) if len(found) == len(meetings) else None


def replay(schedule: ReplaySchedule, duration: F64) -> F64:
    """When each operation ends, if all begin as soon as what they wait for has ended.

    Args:
        schedule: What waits for what.
        duration: float64[operations, steps, replicas]: of a transfer without the waiting.

    Returns:
        float64[operations, steps, replicas], counted from the step's begin, in the unit given.
    """
    begin = np.zeros_like(duration)
    end = np.zeros_like(duration)
    for members in schedule.meetings:
        for one in members:
            for other in schedule.before[one]:
                np.maximum(begin[one], end[other], out=begin[one])
        if not schedule.is_transfer[members[0]]:
            np.add(begin[members[0]], duration[members[0]], out=end[members[0]])
            continue
        met = begin[list(members)].max(axis=0)
        if schedule.is_global[members[0]]:
            met = np.broadcast_to(met.max(axis=-1, keepdims=True), met.shape)
        for one in members:
            np.add(met, duration[one], out=end[one])
    return end


def transfers(schedule: ReplaySchedule, start: F64, end: F64) -> F64:
    """What a replay takes as durations: recorded ones, those of transfers without the waiting.

    Args:
        schedule: What meets.
        start: float64[operations, steps, replicas], recorded, on one clock.
        end: Of its end, as above.
    """
    found = end - start
    for members in schedule.meetings:
        if not schedule.is_transfer[members[0]]:
            continue
        met = start[list(members)].max(axis=0)
        if schedule.is_global[members[0]]:
            met = np.broadcast_to(met.max(axis=-1, keepdims=True), met.shape)
        for one in members:
            found[one] = end[one] - met
    return found
