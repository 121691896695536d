"""Order statistics against NumPy's own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from stepscope.columns import distinct, median, quantile

_SMALL = st.integers(-5, 5)
_SIZES = st.integers(0, 30)


@given(arrays(np.int64, _SIZES, elements=_SMALL))
def test_distinct_values_are_those_of_numpy(values: np.typing.NDArray[np.int64]) -> None:
    assert distinct(values).tolist() == np.unique(values).tolist()


def test_distinct_values_of_a_table_are_one_row() -> None:
    assert distinct(np.array([[3, 1], [1, 3]])).tolist() == [1, 3]


@given(arrays(np.int64, st.integers(1, 30), elements=_SMALL))
def test_the_median_is_that_of_numpy(values: np.typing.NDArray[np.int64]) -> None:
    assert median(values) == np.median(values)


@given(arrays(np.float64, st.integers(1, 30), elements=st.floats(-1e6, 1e6)), st.floats(0, 1))
def test_a_quantile_is_that_of_numpy(values: np.typing.NDArray[np.float64], frac: float) -> None:
    assert quantile(values, frac) == pytest.approx(np.quantile(values, frac), abs=1e-6)


def test_the_median_of_nothing_and_of_a_nan_is_not_a_number() -> None:
    assert np.isnan(median([]))
    assert np.isnan(median([1.0, np.nan, 2.0]))
