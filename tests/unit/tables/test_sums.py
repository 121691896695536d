"""Sums by key are exact, however large."""

import numpy as np
import pytest

from stepscope.tables.sums import sum_by_key


@pytest.mark.parametrize("scale", [1, 2**40, 2**53, 2**60])
def test_sums_are_those_of_python(scale: int) -> None:
    key = np.asarray([0, 2, 0, 2, 2], dtype=np.int64)
    value = np.asarray([1, 3, -scale, scale, 1], dtype=np.int64)
    assert sum_by_key(key, value, 4).tolist() == [1 - scale, 0, scale + 4, 0]


def test_nothing_sums_to_nothing() -> None:
    empty = np.zeros(0, dtype=np.int64)
    assert sum_by_key(empty, empty, 2).tolist() == [0, 0]
