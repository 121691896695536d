"""Changes of the step time: those that last are found soon, and chance is none."""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.tables.steps.change_points import changes


def noisy(mean: float, spread: float, count: int, seed: int = 1) -> list[float]:
    random = np.random.default_rng(seed)
    lengths: list[float] = (mean * (1 + spread * random.standard_normal(count))).tolist()
    return lengths


@pytest.mark.parametrize("factor", [1.02, 0.98, 1.5, 0.5])
def test_a_lasting_shift_is_found_within_fifty_steps(factor: float) -> None:
    (found,) = changes(noisy(100, 0.005, 1_000) + noisy(100 * factor, 0.005, 500, 2))
    assert 990 <= found.step <= 1_010
    assert found.seen <= 1_050
    assert found.before == pytest.approx(100, rel=0.005)
    assert found.after == pytest.approx(100 * factor, rel=0.01)


@pytest.mark.parametrize("seed", range(3))
def test_noise_is_no_change(seed: int) -> None:
    assert changes(noisy(100, 0.03, 30_000, seed)) == []


def test_single_slow_steps_are_no_change() -> None:
    series = noisy(100, 0.005, 5_000)
    series[::20] = [1_000.0] * 250
    assert changes(series) == []


def test_a_second_shift_is_found_after_the_first() -> None:
    series = [length for level in (100, 110, 100) for length in noisy(level, 0.005, 600, level)]
    assert [round(one.step, -1) for one in changes(series)] == [600, 1_200]


def test_a_run_that_wanders_has_few_changes() -> None:
    random = np.random.default_rng(3)
    levels = 100 * np.exp(0.2 * random.standard_normal(400))
    series = [length for level in levels for length in noisy(level, 0.01, 50, int(level))]
    assert len(changes(series)) <= 4


def test_shifts_below_a_percent_are_no_change() -> None:
    assert changes(noisy(100, 0.001, 1_000) + noisy(100.6, 0.001, 1_000, 2)) == []


def test_steps_of_no_length_are_left_out() -> None:
    assert changes([0.0] * 500 + [100.0] * 500) == []
