"""What comes several times in a row, against a search that tries all stretches."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.tables.core.in_a_row import InARow, in_a_row


def found(text: str, least: int = 3) -> list[tuple[str, int, int]]:
    """What repeats, how often, and where it begins."""
    codes = np.asarray([ord(one) for one in text], np.int64)
    return [
        (text[one.begin : one.begin + one.period], one.times, one.begin)
        for one in in_a_row(codes, least)
    ]


def test_turns_are_found_between_what_comes_once() -> None:
    assert found("xabcabcabcabcyz") == [("abc", 4, 1)]
    assert InARow(1, 3, 4).end == 13


def test_a_loop_of_loops_is_both() -> None:
    """In aab aab aab no two of a make a loop of three, and three turns of aab do."""
    assert found("aabaabaab") == [("aab", 3, 0)]
    assert found("aaabaaabaaab") == [("a", 3, 0), ("a", 3, 4), ("a", 3, 8), ("aaab", 3, 0)]


def test_what_repeats_a_shorter_turn_is_not_listed_again() -> None:
    assert found("abababababab") == [("ab", 6, 0)]
    assert found("abab") == []
    assert found("") == []


@given(st.text("abc", max_size=24), st.integers(2, 4))
def test_every_stretch_of_turns_is_within_one_that_is_found(text: str, least: int) -> None:
    told = in_a_row(np.asarray([ord(one) for one in text], np.int64), least)
    for one in told:
        body = text[one.begin : one.begin + one.period]
        assert text[one.begin : one.end] == body * one.times
        assert one.times >= least
    for begin in range(len(text)):
        for period in range(1, (len(text) - begin) // least + 1):
            if text[begin : begin + period * least] == text[begin : begin + period] * least:
                assert any(
                    period % one.period == 0
                    and one.begin <= begin
                    and begin + period * least <= one.end + one.period - 1
                    for one in told
                )


@pytest.mark.parametrize("kinds", [1, 2, 5_000])
def test_eight_thousand_of_any_kind_cost_a_bounded_number_of_comparisons(kinds: int) -> None:
    """A long search would compare each with each: 32 million times, and look for each turn."""
    codes = np.random.default_rng(0).integers(0, kinds, 8_000)
    begin = time.process_time()
    in_a_row(codes, 3)
    one_pass = time.process_time()
    for _ in range(2_700):
        (codes[1:] == codes[:-1]).sum()
    assert one_pass - begin < 20 * (time.process_time() - one_pass) + 1
