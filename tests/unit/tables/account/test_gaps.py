"""Which gaps between dispatched ops are their hand-over."""

from __future__ import annotations

import numpy as np

from stepscope.tables.account.waits import between_ops


def found(lengths: list[int], before: list[int], steps: int = 1) -> list[bool]:
    start = np.arange(len(lengths), dtype=np.int64) * 1_000_000
    labels = np.asarray(before, dtype=np.int64)
    end = start + np.asarray(lengths, dtype=np.int64)
    return list(map(bool, between_ops(start, end, labels, labels, steps)))


def test_close_ones_are_and_what_lasts_is_the_programs() -> None:
    assert found([4] * 30 + [500], [0] * 30 + [1]) == [True] * 30 + [False]


def test_one_of_a_pair_that_usually_follows_closely_was_torn_apart_by_chance() -> None:
    assert found([4] * 30 + [500], [0] * 31) == [True] * 31


def test_a_pair_that_python_works_between_is_not_however_often_it_comes() -> None:
    assert found([4] * 40 + [500] * 10, [0] * 40 + [1] * 10) == [True] * 40 + [False] * 10


def test_what_counts_is_the_scale_of_the_machine() -> None:
    lengths = [4] * 30 + [500, 30]
    slow = [7 * one for one in lengths]
    assert found(slow, list(range(32))) == found(lengths, list(range(32)))


def test_few_ops_in_a_step_have_no_usual_gap() -> None:
    assert not any(found([4] * 30, [0] * 30, steps=2))
    assert found([], []) == []


def test_a_pair_that_python_works_between_every_other_time_is_not_a_hand_over() -> None:
    """``errors += distance(…); total += len(…)``: two ops of a name, Python before one."""
    pair = [4] + [4, 500] * 12
    assert found([4] * 30 + pair, [*range(1, 31), *[0] * 25])[30:] == [one < 500 for one in pair]
