"""Where the use of a memory changes, and which of its events are shown."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.columns.space import I64
from stepscope.tables.memory.course import changing, shown

MS = 10**9


def course(*points: tuple[int, int]) -> tuple[I64, I64]:
    """Times in ms and bytes in use."""
    time, use = zip(*points, strict=True)
    return np.asarray(time, np.int64) * MS, np.asarray(use, np.int64)


def test_what_is_flat_before_and_behind_the_changes_is_left_out() -> None:
    time, use = course((0, 100), (500, 100), (900, 150), (920, 300), (940, 200), (1000, 200))
    # 900 to 940 ms, and 1 % of the second on both sides.
    assert changing(time, use) == (890 * MS, 950 * MS)


def test_use_that_changes_for_half_of_the_time_is_shown_whole() -> None:
    time, use = course((0, 100), (300, 200), (900, 150), (1000, 150))
    assert changing(time, use) == (0, 1000 * MS)
    flat = course((0, 100), (1000, 100))
    assert changing(*flat) == (0, 1000 * MS)


def test_the_peak_is_in_sight_though_it_lies_before_all_changes() -> None:
    time, use = course((0, 300), (900, 100), (910, 200), (1000, 200))
    assert changing(time, use) == (0, 1000 * MS)


def test_most_points_are_where_the_use_changes_and_the_rest_is_not_lost() -> None:
    quiet = np.arange(900, dtype=np.int64)
    busy = 900 + np.arange(1000, dtype=np.int64) // 20
    time = np.concatenate([quiet, busy]) * MS
    use = np.concatenate([np.full(900, 5), np.arange(1000) % 97 + 5])
    begin, end = changing(time, use)
    kept, count = shown(time, use, None, None, 100)
    inside = (time[kept] >= begin) & (time[kept] <= end)
    assert count == 1900 and len(kept) <= 100
    assert inside.sum() >= 40 and (~inside).any()
    asked, within = shown(time, use, 0.0, 899.0, 100)
    assert within == 900 and (time[asked] <= 899 * MS).all()
    assert len(shown(time, use, None, None, 0)[0]) == 1900


@given(st.lists(st.tuples(st.integers(0, 999), st.integers(0, 9)), min_size=1, max_size=60))
def test_the_peak_is_always_among_the_points(points: list[tuple[int, int]]) -> None:
    time, use = course(*sorted(points, key=lambda point: point[0]))
    begin, end = changing(time, use)
    assert time[0] <= begin <= end <= time[-1]
    last_peak = len(use) - 1 - int(use[::-1].argmax())
    assert begin <= time[last_peak] <= end
    kept, count = shown(time, use, None, None, 20)
    assert use[kept].max() == use.max() and count == len(use)
    assert (np.diff(kept) > 0).all()
