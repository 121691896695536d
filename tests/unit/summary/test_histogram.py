from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.summary.histogram import ALPHA, bucket_of, merged, quantile_ps

DURATIONS = st.lists(st.integers(1, 10**15), min_size=1, max_size=60)


def table(durations: list[int]) -> pl.DataFrame:
    rows = pl.DataFrame({"bucket": bucket_of(np.asarray(durations))})
    return rows.group_by("bucket").len("count").with_columns(op=pl.lit("a")).sort("bucket")


@given(DURATIONS, st.floats(0, 1))
def test_a_quantile_is_within_its_relative_error(durations: list[int], share: float) -> None:
    one = table(durations)
    found = quantile_ps(one["bucket"].to_numpy(), one["count"].to_numpy(), share)
    rank = max(int(np.ceil(share * len(durations))), 1)
    assert found == pytest.approx(sorted(durations)[rank - 1], rel=ALPHA * 1.001)


@given(DURATIONS, DURATIONS, DURATIONS)
def test_merging_is_counting_all_in_any_order(a: list[int], b: list[int], c: list[int]) -> None:
    whole = table(a + b + c).select("op", "bucket", "count")
    one, two, three = (table(part).select("op", "bucket", "count") for part in (a, b, c))
    assert merged([one, two, three], ["op"]).equals(whole)
    assert merged([three, merged([two, one], ["op"])], ["op"]).equals(whole)


def test_no_durations_have_no_quantile() -> None:
    nothing = np.zeros(0, dtype=np.int64)
    assert np.isnan(quantile_ps(nothing, nothing, 0.5))
