"""Nothing is lost on the recordings of any framework: random views against every event."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from stepscope.timeline import LaneRange, Timeline, tile, timeline
from tests.oracle.recorded import PROFILES, recording

WIDTH_PX = 1200
VIEWS = 40
BIG = 1 << 20


def _views(found: Timeline) -> list[tuple[int, int]]:
    """The whole trace, and views at random places at all zooms."""
    dice = Random(11)
    begin, end = found.span()
    views = [(begin, end + 1)]
    while len(views) < VIEWS:
        length = int((end - begin) * 10 ** -dice.uniform(0, 7)) + 1
        left = begin + int(dice.random() * (end - begin - length + 1))
        views.append((left, left + length))
    return views


@pytest.mark.parametrize("name", PROFILES)
def test_slices_sum_to_the_count_and_the_busy_time_of_what_touches_the_view(name: str) -> None:
    found = timeline(recording(name))
    tracks = [track for track in found.tracks if track.counter is None]
    for begin, end in _views(found):
        made = tile(found, [LaneRange(track.id) for track in tracks], begin, end, WIDTH_PX)
        count = busy = told = 0
        for track in tracks:
            shift = found.axis.shift_ps[track.host]
            chosen = slice(None) if track.select is None else track.select
            start = track.start_ps[chosen] + shift
            length = np.maximum(track.duration_ps[chosen], 0)
            inside = (start < end) & ((start + length > begin) | (start >= begin))
            count += int(inside.sum())
            busy += int(length[inside].sum())
            pyramid = found.pyramid(track)
            lanes = range(pyramid.lanes)
            cells = pyramid.cells(begin - shift, end - shift, made.bucket_ps, lanes, BIG)
            assert cells is not None
            told += int(cells.busy_ps.sum())
        assert int(made.count.sum()) == count
        assert told == busy


@pytest.mark.parametrize("name", PROFILES)
def test_every_event_of_a_stretch_is_reached_by_zooming(name: str) -> None:
    found = timeline(recording(name))
    tracks = [track for track in found.tracks if track.counter is None]
    begin, end = found.span()
    middle = begin + (end - begin) // 3
    length = end - begin + 1
    while _touching(found, middle, middle + length) > 4_000:
        length //= 2
    wanted = [LaneRange(track.id) for track in tracks]
    reached: set[int] = set()
    views = [(middle, middle + length)]
    while views:
        first, last = views.pop()
        made = tile(found, wanted, first, last, WIDTH_PX)
        reached.update(made.event[made.count == 1].tolist())
        if np.any(made.count > 1):
            half = (first + last) // 2
            views += [(first, half), (half, last)]
    assert len(reached) == _touching(found, middle, middle + length)


def _touching(found: Timeline, begin: int, end: int) -> int:
    count = 0
    for track in found.tracks:
        if track.counter is None:
            shift = found.axis.shift_ps[track.host]
            low, high = found.pyramid(track).touching(begin - shift, end - shift)
            count += int((high - low).sum())
    return count
