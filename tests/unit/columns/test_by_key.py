"""Picking, counting, summing and looking up by key, held against plain dictionaries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.columns import (
    count_of,
    distinct_keys,
    look_up,
    rows_by_key,
    rows_of,
    sum_by_key,
    sum_labels,
)

KEYS = st.lists(st.integers(0, 9), max_size=40)
TIMES = st.integers(0, 2**40)


@given(KEYS)
def test_rows_by_key(keys: list[int]) -> None:
    rows = {key: [row for row, one in enumerate(keys) if one == key] for key in sorted(set(keys))}
    found = rows_by_key(np.asarray(keys, np.int32))
    assert {key: mine.tolist() for key, mine in found.items()} == rows
    assert list(found) == list(rows)


@given(KEYS, st.lists(st.booleans(), max_size=12))
def test_rows_of_wanted_keys(keys: list[int], wanted: list[bool]) -> None:
    key, flags = np.asarray(keys, np.int32), np.asarray(wanted, bool)
    rows = [row for row, one in enumerate(keys) if one < len(wanted) and wanted[one]]
    assert rows_of(key, flags).tolist() == rows
    assert count_of(key, flags) == len(rows)


@given(st.lists(st.one_of(st.integers(0, 9), st.integers(0, 2**62)), max_size=40))
def test_distinct_keys_stand_in_order_with_their_first_places(keys: list[int]) -> None:
    first, code = distinct_keys(np.asarray(keys, np.int64))
    assert [keys[at] for at in first.tolist()] == sorted(set(keys))
    assert first.tolist() == [keys.index(one) for one in sorted(set(keys))]
    assert [keys[first[one]] for one in code.tolist()] == keys


@pytest.mark.parametrize("scale", [1, 2**40, 2**53, 2**60])
def test_sums_are_those_of_python(scale: int) -> None:
    key = np.asarray([0, 2, 0, 2, 2], dtype=np.int64)
    value = np.asarray([1, 3, -scale, scale, 1], dtype=np.int64)
    assert sum_by_key(key, value, 4).tolist() == [1 - scale, 0, scale + 4, 0]


def test_nothing_sums_to_nothing() -> None:
    empty = np.zeros(0, dtype=np.int64)
    assert sum_by_key(empty, empty, 2).tolist() == [0, 0]


@pytest.mark.parametrize("key", [-1, 2, 2**31 - 1])
def test_a_key_without_a_place_is_an_error(key: int) -> None:
    one, value = np.asarray([0, key], np.int32), np.ones(2, np.int64)
    with pytest.raises(IndexError, match=r"0\.\.1"):
        sum_by_key(one, value, 2)
    with pytest.raises(IndexError, match=r"0\.\.1"):
        sum_labels(one, value, value, 2)


@pytest.mark.parametrize("largest", [3, 2**40])
def test_a_negative_key_is_an_error(largest: int) -> None:
    with pytest.raises(IndexError, match="negative"):
        distinct_keys(np.asarray([largest, -1], np.int64))


def test_columns_of_different_lengths_are_an_error() -> None:
    two, three = np.zeros(2, np.int64), np.zeros(3, np.int64)
    with pytest.raises(ValueError, match="lengths"):
        sum_by_key(three, two, 1)
    with pytest.raises(ValueError, match="lengths"):
        sum_labels(three.astype(np.int32), three, two, 1)
    with pytest.raises(ValueError, match="lengths"):
        look_up(three, two, three, 0)


@given(st.lists(st.tuples(st.integers(0, 5), TIMES, TIMES), max_size=40))
def test_label_sums(events: list[tuple[int, int, int]]) -> None:
    label = np.asarray([one for one, _, _ in events], np.int32)
    total, own = (np.asarray([event[i] for event in events], np.int64) for i in (1, 2))
    found = sum_labels(label, total, own, 6)
    for one in range(6):
        mine = [row for row, event in enumerate(events) if event[0] == one]
        assert found.count[one] == len(mine)
        assert found.total_ps[one] == sum(events[row][1] for row in mine)
        assert found.self_ps[one] == sum(events[row][2] for row in mine)
        longest = max(mine, key=lambda row: (events[row][1], -row), default=-1)
        assert found.longest[one] == longest


@given(
    st.lists(st.tuples(st.integers(-5, 60), st.integers()), max_size=30),
    st.lists(st.integers(-8, 70), max_size=60),
    st.booleans(),
)
def test_looking_up_is_a_dictionary(
    pairs: list[tuple[int, int]], wanted: list[int], ascending: bool
) -> None:
    pairs = sorted(pairs, key=lambda pair: pair[0])
    wanted = sorted(wanted) if ascending else wanted
    first_of: dict[int, int] = {}
    for row, value in pairs:
        first_of.setdefault(row, value % 1000)
    rows = np.asarray([row for row, _ in pairs], np.int64)
    values = np.asarray([value % 1000 for _, value in pairs], np.int64)
    found = look_up(rows, values, np.asarray(wanted, np.int64), -1)
    assert found.tolist() == [first_of.get(row, -1) for row in wanted]
