"""Ids by a column of codes that repeat."""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.formats.kineto.slices import coded_ids


@pytest.mark.parametrize("count", [1, 126, 127, 128])
def test_codes_as_narrow_as_their_number_allows_have_their_ids(count: int) -> None:
    code = np.concatenate((np.arange(count), [-1])).astype(np.int8)
    rows = np.arange(len(code))
    ids = coded_ids(code, rows, lambda number: number + 1000)
    assert ids.of(rows).tolist() == [*range(1000, 1000 + count), 999]
