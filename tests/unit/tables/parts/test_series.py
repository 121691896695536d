"""Trends and bursts over steps."""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest

from stepscope.tables.parts.series import Series, series


def of(*times: int) -> Series:
    return series(np.asarray(times, dtype=np.int64))


def test_a_burst_that_came_once_has_no_rhythm() -> None:
    assert of(0, 0, 60, 0, 0, 0).every == 0.0


def test_two_bursts_are_no_rhythm() -> None:
    """Any two are so many steps apart."""
    assert of(60, 0, 0, 0, 0, 60, 0).every == 0.0
    assert of(60, 0, 0, 60, 0, 0, 60).every == 3.0


def test_bursts_at_any_time_have_no_rhythm() -> None:
    assert of(*(60 if at in (1, 2, 9, 21) else 0 for at in range(30))).every == 0.0
    # One that another program makes between those of the loop's own takes it from none of them.
    steps = (0, 8, 16, 19, 24, 32, 40, 48, 56, 64, 72)
    assert of(*(60 if at in steps else 0 for at in range(80))).every == 8.0


def test_what_grows_from_step_to_step_is_told_by_its_thirds() -> None:
    assert of(10, 20, 30, 40, 50, 60).growth == pytest.approx(55 / 15)


def test_what_grows_as_the_rest_of_the_step_does_is_the_machine() -> None:
    part, rest = np.asarray([10, 20, 30, 40, 50, 60]), np.asarray([30, 55, 95, 115, 160, 170])
    assert isnan(series(part, part + rest).growth)
    # A machine that is twice as slow makes Python six times as slow between its ops.
    assert isnan(series(part, part + np.asarray([50, 52, 60, 70, 95, 100])).growth)
    assert series(part, part + rest[::-1]).growth == pytest.approx(55 / 15)
    assert series(part, part + 100).growth == pytest.approx(55 / 15)
    # Beside next to nothing there is nobody to compare with.
    assert series(part, part + rest // 40).growth == pytest.approx(55 / 15)


def test_where_the_rest_grows_as_well_it_is_the_machine_in_blocks_too() -> None:
    time = np.linspace(100, 220, 80)
    time[[7, 19, 33]] = 900
    part = time.astype(np.int64)
    assert isnan(series(part, 2 * part).growth)


def test_a_part_without_time_is_in_no_step() -> None:
    assert of(0, 0, 0).steps_frac == 0.0
