"""Ids by a column of codes that repeat."""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.formats.kineto.slices import coded_ids


@pytest.mark.parametrize("times", [1, 1024])
@pytest.mark.parametrize("count", [1, 126, 127, 128])
def test_codes_as_narrow_as_their_number_allows_have_their_ids(count: int, times: int) -> None:
    code = np.concatenate((np.arange(count), [-1])).astype(np.int8)
    rows = np.arange(len(code))
    ids = coded_ids(code, np.tile(rows, times), lambda number: number + 1000)
    assert ids.of(rows).tolist() == [*range(1000, 1000 + count), 999]


def test_few_rows_cost_no_table_of_all_codes() -> None:
    """A device of one kernel among a million names has one id, and that of none."""
    ids = coded_ids(np.asarray([999_999, -1]), np.asarray([0]), lambda number: number)
    assert len(ids.ids) == 2
    assert ids.of(np.asarray([0, 1])).tolist() == [999_999, 0]
