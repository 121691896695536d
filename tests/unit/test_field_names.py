"""Fields in words, the same for the terminal, documents and pages."""

from __future__ import annotations

import pytest

from stepscope.field_names import label_of, unit_of


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("self_time_us", "Self time"),
        ("host_tf_op_frac", "Host TF op"),
        ("peak_hbm_bw_gibps", "Peak HBM bandwidth"),
        ("p95", "95th percentile"),
        ("collective_table", "Collective"),
        ("step_table", "Steps"),
        ("_ms", "Ms"),
    ],
)
def test_the_unit_is_no_part_of_the_label(name: str, label: str) -> None:
    assert label_of(name) == label


def test_units_are_read_from_the_longest_suffix() -> None:
    assert (unit_of("rate_gflops"), unit_of("time_ms"), unit_of("name")) == ("GFLOP/s", "ms", "")
