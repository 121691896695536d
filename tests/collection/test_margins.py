"""Margins are chosen on other programs than those that they are tried on."""

from __future__ import annotations

import pytest

from tests.collection.margins import (
    NOISE_FRAC,
    Case,
    held_out,
    high_quantile,
    low_quantile,
    margins,
    report,
    scatter,
)


def case(program: str, truth: float, typical: float = 0.5, most: float = 0.6) -> Case:
    return Case(program, "removed", truth, typical, most, error=0.1)


def test_quantiles_err_to_the_safe_side() -> None:
    values = [float(value) for value in range(1, 20)]
    assert (low_quantile(values, 0.1), high_quantile(values, 0.1)) == (2.0, 18.0)
    # Of too few values the outermost are not far enough out; there are no others.
    assert (low_quantile([3.0, 4.0], 0.05), high_quantile([3.0, 4.0], 0.05)) == (3.0, 4.0)


def test_margins_are_those_that_just_cover() -> None:
    low, high = case("low", 0.35), case("high", 0.71)
    assert low.least_share * low.typical - NOISE_FRAC == pytest.approx(0.35)
    assert high.reached(high.errors) + NOISE_FRAC == pytest.approx(0.71)
    # 0.6 are 66 % of a step whose rest is 0.309 and not 0.4, shorter by 2.27 errors of a tenth.
    assert margins([low, high], 0.05) == pytest.approx((0.8, 2.27), rel=1e-2)


def test_what_is_left_can_go_but_once() -> None:
    assert case("a", 0.9).reached(100.0) == 1.0


def test_nothing_goes_beyond_where_nothing_has_to() -> None:
    assert margins([case("a", 0.55), case("b", 0.5)], 0.05) == (1.0, 0.0)


def test_what_only_one_program_does_is_not_learnt_from_itself() -> None:
    usual = [case(f"usual{at}", 0.55) for at in range(8)]
    odd = [case("odd", 0.85), case("odd", 0.85)]
    assert held_out([*usual, *odd], 0.05)[0] == len(usual)
    # Another that does the same teaches it.
    assert held_out([*usual, *odd, case("as odd", 0.85)], 0.05)[0] == len(usual) + 3


def test_scatter_is_between_recordings_of_one_program() -> None:
    found = [case("a", 0.5), case("a", 0.75), case("b", 0.1)]
    assert scatter(found) == [0.25]
    assert "median 25%" in report(found)
