"""Answers of queries as tracks of the timeline."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from stepscope.errors import UsageError
from stepscope.sql.lanes import has_times, lanes_of


def test_rows_are_stretches_in_the_order_of_their_begins() -> None:
    frame = pl.DataFrame(
        {
            "name": ["late", "early"],
            "start_us": [3.0, 1.0],
            "duration_us": [0.5, 1.0],
            "event": [7, 9],
        }
    )
    found = lanes_of(frame)
    assert found.name == ["early", "late"]
    assert found.begin_ps.tolist() == [1_000_000, 3_000_000]
    assert found.end_ps.tolist() == [2_000_000, 3_500_000]
    assert found.event.tolist() == [9, 7]
    assert (found.lane.tolist(), found.lanes) == ([0, 0], 1)


def test_rows_that_overlap_are_on_lanes_of_their_own() -> None:
    """What contains is above what it contains; what overlaps in part is beside it."""
    frame = pl.DataFrame({"begin_ms": [0.0, 1.0, 2.0, 5.0], "end_ms": [4.0, 3.0, 6.0, 7.0]})
    found = lanes_of(frame)
    for one in range(found.lanes):
        rows = np.flatnonzero(found.lane == one)
        assert (found.end_ps[rows][:-1] <= found.begin_ps[rows][1:]).all()
    assert found.lane[0] == 0
    assert found.lanes == 3
    assert found.name == [""] * 4


@pytest.mark.parametrize(
    ("columns", "ps"),
    [
        ({"ts": [2], "dur": [3]}, (2_000, 5_000)),
        ({"start_s": [2], "end_ms": [2_500]}, (2_000_000_000_000, 2_500_000_000_000)),
        ({"start_ps": [2], "length_ns": [3]}, (2, 3_002)),
        # A length below 0 is none.
        ({"start_us": [2], "duration_us": [-1]}, (2_000_000, 2_000_000)),
    ],
)
def test_names_say_units(columns: dict[str, list[int]], ps: tuple[int, int]) -> None:
    found = lanes_of(pl.DataFrame(columns))
    assert (found.begin_ps[0], found.end_ps[0]) == ps


def test_rows_without_times_are_left_out() -> None:
    frame = pl.DataFrame(
        {
            "name": ["a", None, "c", "d"],
            "start_us": [1.0, None, float("inf"), 1e300],
            "duration_us": [1.0, 1.0, 1.0, 1.0],
        }
    )
    assert lanes_of(frame).name == ["a"]
    assert lanes_of(frame.head(0)).lanes == 0


@pytest.mark.parametrize("columns", [["name"], ["start_us"], ["duration_us", "end_us"], ["end"]])
def test_an_answer_without_times_is_no_track(columns: list[str]) -> None:
    assert not has_times(columns)
    with pytest.raises(UsageError, match="no times"):
        lanes_of(pl.DataFrame({name: [1] for name in columns}))
