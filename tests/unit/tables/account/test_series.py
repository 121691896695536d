"""Trends and bursts over steps."""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest

from stepscope.tables.account.series import Series, series


def of(*times: int) -> Series:
    return series(np.asarray(times, dtype=np.int64))


def test_an_even_part_has_no_trend_and_no_burst() -> None:
    found = of(10, 10, 10, 10, 10, 10)
    assert found.steps_frac == 1.0
    assert isnan(found.growth)
    assert isnan(found.every)


def test_what_every_third_step_has_comes_in_bursts() -> None:
    found = of(0, 0, 60, 0, 0, 60, 0, 0, 60)
    assert (found.every, found.burst_ps) == (3.0, 60.0)


def test_what_grows_from_step_to_step_is_told_by_its_thirds() -> None:
    assert of(10, 20, 30, 40, 50, 60).growth == pytest.approx(55 / 15)


def test_of_few_steps_neither_is_told() -> None:
    found = of(1, 9, 1)
    assert isnan(found.growth)
    assert isnan(found.every)


def test_a_part_without_time_is_in_no_step() -> None:
    assert of(0, 0, 0).steps_frac == 0.0
