"""The noise model: it finds a change where there is one, and none elsewhere."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import stepscope
from stepscope.comparison import noise
from stepscope.comparison.noise import (
    F64,
    block_length,
    block_noise,
    difference,
    mean_interval,
    student_quantile,
)
from stepscope.tables.steps.session import session_steps

CHANCE = np.random.default_rng(7)


@pytest.fixture(autouse=True)
def same_chance_for_every_test() -> None:
    """Start every test at the same place, whichever tests are run with it."""
    CHANCE.bit_generator.state = np.random.default_rng(7).bit_generator.state


def autocorrelated(count: int, rho: float) -> F64:
    """An AR(1) process of unit innovations around 100."""
    moved = CHANCE.normal(size=count + 50)
    for step in range(1, len(moved)):
        moved[step] += rho * moved[step - 1]
    return 100 + moved[50:]


# Times of equal programs, by how their steps vary.
SPREADS: dict[str, Callable[[int], F64]] = {
    "normal": lambda count: 100 + CHANCE.normal(size=count),
    "skewed": lambda count: 100 * np.exp(CHANCE.normal(size=count) / 3),
    "autocorrelated": lambda count: autocorrelated(count, 0.5),
    "spikes": lambda count: 100 + CHANCE.normal(size=count) + 80 * (CHANCE.random(count) < 0.03),
}


@pytest.mark.parametrize(
    # Ten steps cannot show that they depend on each other.
    ("spread", "steps"),
    [
        (spread, steps)
        for spread in SPREADS
        for steps in (10, 30, 200)
        if (spread, steps) != ("autocorrelated", 10)
    ],
)
def test_equal_programs_show_no_significant_change(
    spread: str, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The floor on small effects would hide what the interval does; it is off here.
    monkeypatch.setattr(noise, "MIN_EFFECT_FRAC", 0.0)
    make = SPREADS[spread]
    wrong = sum(bool(difference(make(steps), make(steps)).significant) for _ in range(100))
    assert wrong <= 5


@pytest.mark.parametrize("spread", ["normal", "autocorrelated"])
def test_a_change_of_six_per_cent_is_found(spread: str) -> None:
    make = SPREADS[spread]
    found = [difference(make(100), 1.06 * make(100)) for _ in range(50)]
    assert sum(bool(one.significant) for one in found) >= 48
    covered = sum(one.low <= 6.2 and one.high >= 5.8 for one in found)
    assert covered >= 45


def test_a_change_below_one_per_cent_is_none_however_certain() -> None:
    found = difference(100 + CHANCE.normal(size=2000) / 10, 100.5 + CHANCE.normal(size=2000) / 10)
    assert found.low > 0
    assert found.significant is False


def test_two_parts_of_one_real_recording_are_no_change(real_profiles: Path) -> None:
    """Stretches of one long recording stand for recordings of one program: 100 pairs."""
    session = stepscope.open(real_profiles / "tf-cpu-python-tracer")
    found = session_steps(session.profile)
    assert found is not None
    times = found.duration_ps[found.kept] / 1e9
    chance = np.random.default_rng(11)
    # Blocks of twenty steps, drawn with replacement, keep what neighbouring steps share.
    wrong = 0
    for _ in range(100):
        pair = []
        for _side in range(2):
            begin = chance.integers(len(times) - 20, size=10)
            pair.append(np.concatenate([times[at : at + 20] for at in begin]))
        wrong += bool(difference(*pair).significant)
    assert wrong <= 5


def test_blocks_are_longer_where_steps_depend_on_each_other() -> None:
    lone = [block_length(SPREADS["normal"](500)) for _ in range(20)]
    joint = [block_length(autocorrelated(500, 0.9)) for _ in range(20)]
    assert np.median(joint) > 2 * np.median(lone)


def test_few_steps_have_no_interval() -> None:
    found = difference(np.asarray([1.0, 2.0]), np.asarray([5.0, 6.0, 7.0]))
    assert found.delta == pytest.approx(4.5)
    assert np.isnan(found.low)
    assert found.significant is None
    assert np.isnan(mean_interval(np.asarray([1.0]))).all()


def test_steps_that_never_vary_are_certain() -> None:
    found = difference(np.full(20, 10.0), np.full(20, 11.0))
    assert [found.low, found.high] == pytest.approx([1.0, 1.0])
    assert found.significant is True
    assert difference(np.full(20, 10.0), np.full(20, 10.0)).significant is False


def test_how_sums_are_rounded_is_no_difference() -> None:
    """0.1 + 0.2 is not 0.3: equal steps have an interval of 0, not of 1e-16 ms."""
    steps = np.full(10, 1.0021)
    wobbly = np.asarray([0.1 + 0.2, 0.3] * 5)
    for times in (steps, wobbly):
        found = difference(times, times[::-1] + 1e-16)
        assert (found.delta, found.low, found.high) == (0.0, 0.0, 0.0)
        assert found.significant is False


def test_the_answer_is_the_same_each_time() -> None:
    times = SPREADS["skewed"](40), SPREADS["skewed"](40)
    assert difference(*times) == difference(*times)


@pytest.mark.parametrize(
    # Tables of Student's t, 99.5 %.
    ("freedom", "quantile"),
    [(1, 63.657), (2, 9.925), (3, 5.841), (5, 4.032), (10, 3.169), (30, 2.750)],
)
def test_quantiles_of_student(freedom: int, quantile: float) -> None:
    assert student_quantile(freedom) == pytest.approx(quantile, rel=0.01)


def test_noise_of_a_part_is_students_interval_over_blocks() -> None:
    # Means 1, 2, 3: standard deviation 1, of the mean 1/√3, times 9.925 at two degrees.
    assert block_noise(np.asarray([[1.0, 2.0, 3.0]]))[0] == pytest.approx(9.925 / 3**0.5, rel=1e-3)
    assert np.isnan(block_noise(np.ones((1, 2)))).all()


def test_unknown_is_null_in_json() -> None:
    assert json.dumps(difference(np.ones(2), np.ones(2)).significant) == "null"
