"""Numbers of 64 bits stay exact, whichever of int64, uint64 and double they were recorded as."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.columns.space import KIND_DOUBLE, KIND_INT64, KIND_UINT64
from stepscope.tables.core.exact_numbers import Readings, Span, as_column, joined

Number: TypeAlias = int | float
SIGNED = st.tuples(st.just(KIND_INT64), st.integers(-(2**63), 2**63 - 1))
UNSIGNED = st.tuples(st.just(KIND_UINT64), st.integers(0, 2**64 - 1))
DOUBLE = st.tuples(st.just(KIND_DOUBLE), st.floats(-1e300, 1e300))
DTYPES = {KIND_INT64: np.int64, KIND_UINT64: np.uint64, KIND_DOUBLE: np.float64}


def readings(*values: tuple[int, Number]) -> Readings:
    return joined(
        [
            Readings(
                np.asarray([kind], np.uint8), np.asarray([value], DTYPES[kind]).view(np.uint64)
            )
            for kind, value in values
        ]
    )


def signed(*values: int) -> Readings:
    return readings(*((KIND_INT64, value) for value in values))


def unsigned(*values: int) -> Readings:
    return readings(*((KIND_UINT64, value) for value in values))


@given(st.lists(SIGNED | UNSIGNED, min_size=1))
def test_integers_add_up_exactly(values: list[tuple[int, int]]) -> None:
    numbers = [value for _kind, value in values]
    wanted = Span(min(numbers), sum(numbers) / len(numbers), max(numbers), sum(numbers))
    assert readings(*values).span() == wanted


@given(st.lists(SIGNED | UNSIGNED | DOUBLE))
def test_a_column_gives_every_reading_back(values: list[tuple[int, Number]]) -> None:
    found = readings(*values)
    column = found.column()
    listed = column.tolist() if isinstance(column, np.ndarray) else column
    assert listed == [value for _kind, value in values]
    assert [found.at(place) for place in range(len(found))] == listed
    assert found.floats.tolist() == [float(value) for value in listed]


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (signed(-1, 2**63 - 1), np.int64),
        (unsigned(1, 2**63 - 1), np.int64),
        (unsigned(1, 2**63), np.uint64),
        (readings((KIND_DOUBLE, 1.5), (KIND_DOUBLE, 2.0)), np.float64),
    ],
)
def test_one_array_holds_all_where_it_can(values: Readings, dtype: type) -> None:
    column = values.column()
    assert isinstance(column, np.ndarray) and column.dtype == dtype


def test_digits_are_said_where_a_double_rounds() -> None:
    edge = 2**53
    assert signed(edge, edge + 1, -edge, -edge - 1, 7).digits() == [
        "",
        "9007199254740993",
        "",
        "-9007199254740993",
        "",
    ]
    # As int64 its bits are a small negative number, as uint64 the largest there is.
    assert unsigned(2**64 - 1, 5).digits() == ["18446744073709551615", ""]
    assert readings((KIND_DOUBLE, 1e300)).digits() == [""]


def test_what_is_no_number_counts_for_nothing() -> None:
    nan = (KIND_DOUBLE, math.nan)
    assert readings(nan).span() == Span() and readings(nan).at(0) is None
    assert readings(nan, (KIND_INT64, 4), (KIND_INT64, 6)).span() == Span(4, 5.0, 6, 10)
    assert joined([]).span() == Span()


def test_infinite_readings_do_not_stop_the_sum() -> None:
    both = readings((KIND_DOUBLE, math.inf), (KIND_DOUBLE, -math.inf)).span()
    assert (both.least, both.most) == (-math.inf, math.inf)
    assert both.total is not None and math.isnan(both.total)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [([1, -2], np.int64), ([0, 2**64 - 1], np.uint64), ([0.5, None], np.float64)],
)
def test_numbers_of_one_kind_become_an_array(values: list[Number | None], dtype: type) -> None:
    column = as_column(values)
    assert isinstance(column, np.ndarray) and column.dtype == dtype


@pytest.mark.parametrize("values", [[1, 0.5], [2**64], [-1, 2**63], [3, None]])
def test_others_stay_as_they_are(values: list[Number | None]) -> None:
    assert as_column(values) == values
