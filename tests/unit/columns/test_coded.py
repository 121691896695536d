"""Codes of values are those that sorting all of them would give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from stepscope.columns import coded, coded_rows

WHOLE = st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-3, 3)


@given(arrays(np.int64, st.integers(0, 60), elements=WHOLE))
def test_values_close_far_and_in_runs(values: np.ndarray) -> None:
    for some in (values, np.repeat(values, 3), np.sort(values)):
        used, code = coded(some)
        wanted, inverse = np.unique(some, return_inverse=True)
        assert used.tolist() == wanted.tolist()
        assert code.tolist() == inverse.ravel().tolist()


@pytest.mark.parametrize("apart", [1, 1 << 20, 1 << 40])
def test_many_values(apart: int) -> None:
    values = np.random.default_rng(1).integers(0, 1000, 100_000) * apart
    used, code = coded(values)
    assert (used[code] == values).all() and (np.diff(used) > 0).all()


@given(arrays(np.int64, st.tuples(st.just(3), st.integers(0, 40)), elements=WHOLE))
def test_rows_of_columns(columns: np.ndarray) -> None:
    found, code = coded_rows(*columns)
    wanted, inverse = np.unique(columns, axis=1, return_inverse=True)
    assert np.stack(found).tolist() == wanted.tolist()
    assert code.tolist() == inverse.ravel().tolist()
