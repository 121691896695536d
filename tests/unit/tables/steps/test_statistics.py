"""Which steps count, intervals of their means, and what is called a change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import stepscope
from bench.step_statistics import KINDS, cell, is_good, report
from stepscope.tables.steps import statistics
from stepscope.tables.steps.session import session_steps
from stepscope.tables.steps.statistics import (
    F64,
    StepSample,
    block_length,
    choose_steps,
    difference,
    student_quantile,
    tail_difference,
)

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


def sample(*times: float) -> StepSample:
    return StepSample.of(np.asarray(times, dtype=np.float64))


def rows(mask: np.ndarray) -> list[int]:
    return np.flatnonzero(mask).tolist()


def chosen(*times: float) -> tuple[list[int], list[int]]:
    """Steps left out as warm-up, and as outliers."""
    found = choose_steps(np.asarray(times), np.ones(len(times), dtype=bool))
    assert (found.kept ^ found.is_warm_up ^ found.is_outlier).all()
    return rows(found.is_warm_up), rows(found.is_outlier)


def test_first_steps_far_beyond_the_rest_are_warm_up() -> None:
    assert chosen(498, 160, 158) == ([0], [])
    assert chosen(90, 30, *[10] * 8) == ([0, 1], [])
    assert chosen(14, 10, 10) == ([], [])
    assert chosen(30, 10) == ([], [])  # one step shows nothing to be far from
    assert chosen(50, 10, 40, 20, 30) == ([], [])  # so uneven are the others
    assert chosen(16, 2, 12, 2, 11, 2) == ([], [])  # each second step is long
    # As many as a quarter warm up; more are how the program runs.
    assert chosen(50, 50, 50, *[10] * 6) == ([], [])


def test_few_steps_far_beyond_all_others_are_outliers() -> None:
    assert chosen(*[10] * 6, 90, *[10] * 5) == ([], [6])
    assert chosen(*[10] * 5, 14, *[10] * 6) == ([], [])
    # One of nine, and two of twelve, are more than a tenth.
    assert chosen(*[10] * 5, 90, *[10] * 3) == ([], [])
    assert chosen(*[10] * 5, 90, 90, *[10] * 5) == ([], [])
    # The end of a tail is not apart from it.
    assert chosen(*[10] * 6, 14.5, *[10] * 6, 16, *[10] * 6) == ([], [])


def test_steps_cut_off_neither_count_nor_decide() -> None:
    times = np.asarray([400.0, 30, *[10.0] * 8, 2])
    whole = np.asarray([False, *[True] * 9, False])
    found = choose_steps(times, whole)
    assert (rows(found.is_warm_up), rows(found.kept)) == ([1], list(range(2, 10)))


def test_simulated_runs_raise_few_false_alarms_and_intervals_hold() -> None:
    """A small part of what ``bench/step_statistics.py`` prints."""
    cells = [cell(kind, steps, 40) for kind in KINDS for steps in (3, 6, 12, 50, 100)]
    assert is_good(cells), report(cells)
    seen = {(one.kind, one.steps): one.seen[-0.5] / one.pairs for one in cells}
    assert seen["recorded", 3] == 0
    assert seen["recorded", 12] > 0.7
    assert min(seen[kind, 100] for kind in KINDS) > 0.9


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("steps", [10, 30, 200])
def test_equal_programs_show_no_change(spread: str, steps: int) -> None:
    make = SPREADS[spread]
    outcomes = [
        difference(StepSample.of(make(steps)), StepSample.of(make(steps))).outcome
        for _ in range(100)
    ]
    assert outcomes.count("slower") + outcomes.count("faster") <= 3


@pytest.mark.parametrize("spread", ["normal", "autocorrelated"])
def test_a_change_of_six_per_cent_is_found(spread: str) -> None:
    make = SPREADS[spread]
    found = [
        difference(StepSample.of(make(100)), StepSample.of(1.06 * make(100))) for _ in range(50)
    ]
    assert sum(one.outcome == "slower" for one in found) >= 48
    assert sum(one.low <= 6 <= one.high for one in found) >= 48


def test_equal_is_told_apart_from_unknown() -> None:
    even, uneven = 100 + CHANCE.normal(size=(2, 50)), 100 + 20 * CHANCE.normal(size=(2, 50))
    assert difference(*map(StepSample.of, even)).outcome == "equal"
    assert difference(*map(StepSample.of, uneven)).outcome == "unknown"


def test_a_change_below_one_per_cent_is_none_however_certain() -> None:
    before, after = 100 + CHANCE.normal(size=(2, 2000)) / 10
    found = difference(StepSample.of(before), StepSample.of(after + 0.5))
    assert found.low > 0
    assert (found.outcome, found.significant) == ("equal", False)


def test_one_straggling_step_of_twelve_hides_no_change() -> None:
    slow = 22 + CHANCE.normal(size=12)
    slow[5] = 143
    fast = 5 + CHANCE.normal(size=12) / 5
    found = difference(StepSample.of(slow), StepSample.of(fast))
    assert found.outcome == "faster"
    assert found.delta == pytest.approx(-17, abs=1)
    assert -found.baseline <= found.low < found.delta < found.high < 0


def test_each_tenth_step_slower_changes_the_tail_only() -> None:
    before, after = 10 + CHANCE.normal(size=(2, 100)) / 10
    after[5::10] *= 3
    one, other = StepSample.of(before), StepSample.of(after)
    assert difference(one, other).outcome == "equal"
    tail = tail_difference(one, other)
    assert tail.outcome == "slower"
    assert tail.delta == pytest.approx(2, abs=0.2)
    assert other.p95 > 25 > 11 > one.p95


def test_a_slow_mode_that_only_one_run_leaves_out_is_no_change() -> None:
    """Nine and eleven of a hundred slow steps differ by chance."""
    runs = 10 + CHANCE.normal(size=(2, 100)) / 10
    runs[0, 5:95:10] *= 3
    runs[1, 5::10] *= 3
    runs[1, 50] *= 3
    before, after = map(StepSample.of, runs)
    assert (before.is_outlier.sum(), after.is_outlier.sum()) == (9, 0)
    found = difference(before, after)
    assert found.outcome == "unknown"
    assert found.low < 0 < found.delta < found.high


def test_fewer_than_six_steps_are_not_tested() -> None:
    for before, after, outcome in (
        ((1.0, 2.0, 1.5), (5.0, 6.0, 7.0), "separated"),
        ((5.0, 6.0, 7.0), (1.0, 2.0), "separated"),
        ((1.0, 6.0, 2.0), (5.0, 6.0, 7.0), "unknown"),
        ((1.0,), (5.0,), "unknown"),
    ):
        found = difference(sample(*before), sample(*after))
        assert (found.outcome, found.interval, found.significant) == (outcome, None, None)
    assert np.isnan(sample(1.0).interval).all()


def test_intervals_contain_the_mean_and_stay_above_zero() -> None:
    for _ in range(50):
        times = StepSample.of(np.exp(2 * CHANCE.normal(size=7)))
        assert 0 < times.interval[0] <= times.mean <= times.interval[1]


def test_two_parts_of_one_real_recording_are_no_change(real_profiles: Path) -> None:
    """Stretches of one long recording stand for recordings of one program: 100 pairs."""
    session = stepscope.open(real_profiles / "tf-cpu-python-tracer")
    found = session_steps(session.profile)
    assert found is not None
    times = found.duration_ps[found.kept] / 1e9
    chance = np.random.default_rng(11)
    # Blocks of twenty steps, drawn with replacement, keep what neighbouring steps share.
    outcomes = []
    for _ in range(100):
        pair = []
        for _side in range(2):
            begin = chance.integers(len(times) - 20, size=10)
            pair.append(StepSample.of(np.concatenate([times[at : at + 20] for at in begin])))
        outcomes.append(difference(*pair).outcome)
    assert outcomes.count("slower") + outcomes.count("faster") <= 3


def test_blocks_are_longer_where_steps_depend_on_each_other() -> None:
    lone = [block_length(SPREADS["normal"](500)) for _ in range(20)]
    joint = [block_length(autocorrelated(500, 0.9)) for _ in range(20)]
    assert np.median(joint) > 2 * np.median(lone)


def test_steps_that_never_vary_are_certain() -> None:
    found = difference(sample(*[10.0] * 20), sample(*[11.0] * 20))
    assert [found.low, found.high] == pytest.approx([1.0, 1.0])
    assert found.outcome == "slower"
    assert difference(sample(*[10.0] * 20), sample(*[10.0] * 20)).outcome == "equal"


def test_how_sums_are_rounded_is_no_difference() -> None:
    """0.1 + 0.2 is not 0.3: equal steps have an interval of 0, not of 1e-16 ms."""
    for times in (np.full(10, 1.0021), np.asarray([0.1 + 0.2, 0.3] * 5)):
        found = difference(StepSample.of(times), StepSample.of(times[::-1] + 1e-16))
        assert (found.delta, found.low, found.high) == (0.0, 0.0, 0.0)
        assert found.outcome == "equal"


def test_the_answer_is_the_same_each_time() -> None:
    times = SPREADS["skewed"](40), SPREADS["skewed"](40)
    first, second = (difference(*map(StepSample.of, times)) for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    # Tables of Student's t, two-sided.
    ("freedom", "confidence", "quantile"),
    [
        (1, 0.99, 63.657),
        (2, 0.99, 9.925),
        (3, 0.99, 5.841),
        (5, 0.99, 4.032),
        (10, 0.99, 3.169),
        (30, 0.99, 2.750),
        (3, 0.999, 12.924),
        (10, 0.999, 4.587),
        (5, 0.95, 2.571),
        (1, 0.95, 12.706),
    ],
)
def test_quantiles_of_student(freedom: int, confidence: float, quantile: float) -> None:
    assert student_quantile(freedom, confidence) == pytest.approx(quantile, rel=1e-3)


def test_a_long_warm_up_is_looked_for_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of a quarter of the steps was once tried, and each try looks at all steps."""
    tries = 0
    fence = statistics._fence

    def counted(times: F64) -> float:
        nonlocal tries
        tries += 1
        return fence(times)

    monkeypatch.setattr(statistics, "_fence", counted)
    times = np.full(4_000, 10.0)
    whole = np.ones(len(times), bool)
    assert not choose_steps(times, whole).is_warm_up.any()
    assert tries <= 2
    times[:500] = np.linspace(1000, 11, 500)
    choose_steps(times, whole)
    assert tries < 200
    times[:3] = 1e6
    times[3:500] = 10
    assert choose_steps(times, whole).is_warm_up.sum() == 3
